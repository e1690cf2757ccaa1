import Codec
import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// The queue between encoder and output. The send stage's own thread does not run here unless a test says so: what leaves
/// was sent by the encode thread.
@Suite(.timeLimit(.minutes(10))) struct SendStageTests {
    private let scratch: Scratch
    private let channels: StreamChannels
    private let passing = PassingStreams()
    private let sink: Sink
    private let output: SendStage
    private let pool = PicturePool(size: PictureSize(width: 160, height: 96), count: 80)

    init() throws { try self.init(.paced) }

    private init(_ pacing: StreamSettings.Pacing) throws {
        scratch = try Scratch()
        var configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        configuration.settings.pacing = pacing
        channels = StreamChannels(configuration)
        sink = try Sink(configuration.outputs[0])
        output = SendStage(sinks: [sink], passing: passing, channels: channels)
        channels.connection.isConnected = true
    }

    /// Encodes pictures on this thread.
    /// - Parameter turns: when each should leave.
    /// - Parameter deadlines: none for those that it is too short for.
    private func encode(_ turns: [MonotonicTime], deadlines: [MonotonicTime?] = []) {
        let finished = BoundedQueue<FinishedFrame>(capacity: 1)
        let encode = StageThread(name: "encode") { [output, channels] in
            EncodeStage(finished: finished, output: output, channels: channels).run()
        }
        for (index, turn) in turns.enumerated() {
            guard let picture = pool.lease() else { break }
            var ticket = channels.books.ledger.open(.original, presentation: Timeline.start + Int64(index) * 3_000)
            ticket.record.deadline = index < deadlines.count ? deadlines[index] : nil
            _ = finished.push(
                FinishedFrame(
                    ticket: ticket, picture: picture, color: ColorDescription(), interval: .milliseconds(33),
                    turn: turn, original: nil))
        }
        finished.close()
        encode.join()
    }

    private func expect(sent: UInt64, queued: UInt64, dropped: UInt64 = 0) {
        let books = output.outputBooks[0]
        #expect(books.sent == sent && books.queued == queued && books.dropped == dropped && books.balance, "\(books)")
    }

    /// Units that wait keep their turns. Those after the change wait for them only.
    @Test func pacingChangesBetweenTwoUnits() throws {
        let later = MonotonicTime.now() + .seconds(3600)
        encode([later, later], deadlines: [])
        expect(sent: 0, queued: 2)
        var settings = channels.settings.current
        settings.pacing = .eager
        channels.settings.change(to: settings)
        encode([later])
        expect(sent: 0, queued: 3)
        let eager = try SendStageTests(.eager)
        eager.encode([later])
        eager.expect(sent: 1, queued: 0)
        settings.pacing = .paced
        eager.channels.settings.change(to: settings)
        eager.encode([later])
        eager.expect(sent: 1, queued: 1)
    }

    /// A receiver that comes while units wait costs one keyframe. The units before it are not sent.
    @Test func aNewReceiverCostsOneKeyframe() {
        let later = MonotonicTime.now() + .seconds(3600)
        encode((0..<65).map { later + .milliseconds(33) * $0 })
        expect(sent: 1, queued: 64)
        output.beginReceiver()
        // The queue is full, so each unit that comes lets the oldest go.
        encode((65..<70).map { later + .milliseconds(33) * $0 })
        expect(sent: 1, queued: 64, dropped: 5)
        // Each encoder begins with one, and that is all.
        #expect(channels.books.counters[.keyframesForced] == 2)
        #expect(channels.books.ledger.books[.outputDown] == 5)
    }

    /// Source times do not go back, although a passing unit is stamped after pictures that still wait.
    @Test func aPassingUnitIsStampedBetweenThePicturesAroundIt() {
        var clock = CadenceClock()
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        var stamps: [MonotonicTime] = []
        for frame in 0..<4 {
            let source = start + .milliseconds(33) * Int64(frame)
            stamps.append(clock.stamp(source: source, now: source + .milliseconds(15)))
        }
        // The first picture has been sent, the others wait.
        #expect(clock.stamp(passing: start, after: stamps[0]) < stamps[1])
        #expect(clock.stamp(passing: start - .milliseconds(100), after: stamps[0]) == stamps[0])
    }

    /// The encoder goes on while units wait for their turn.
    @Test func aPacedUnitWaitsBehindTheEncoder() {
        let later = MonotonicTime.now() + .seconds(3600)
        encode([later, later + .milliseconds(33), later + .milliseconds(66)])
        expect(sent: 0, queued: 3)
        #expect(channels.books.ledger.inFlight == 3)
    }

    /// No unit waits beyond its deadline.
    @Test func theQueueIsBoundedInTime() {
        let now = MonotonicTime.now()
        encode([now + .seconds(3600)], deadlines: [now])
        expect(sent: 1, queued: 0)
    }

    /// A queue that is full lets the oldest unit go at once; the encoder never waits.
    @Test func theQueueIsBoundedInUnits() {
        let later = MonotonicTime.now() + .seconds(3600)
        encode((0..<70).map { later + .milliseconds(33) * $0 })
        expect(sent: 6, queued: 64)
        #expect(channels.books.ledger.books.emitted == 6)
    }

    /// A unit that is due goes straight through, but never before one that waits.
    @Test func unitsKeepTheirOrder() {
        let now = MonotonicTime.now()
        encode([now, now + .seconds(3600), now], deadlines: [now, nil, now])
        expect(sent: 1, queued: 2)
    }

    /// In eager mode no unit waits and none is copied.
    @Test func anEagerUnitGoesStraightThrough() throws {
        let eager = try SendStageTests(.eager)
        let later = MonotonicTime.now() + .seconds(3600)
        eager.encode([later, later + .milliseconds(33)])
        eager.expect(sent: 2, queued: 0)
    }

    /// What waits is sent by the stage's own thread when its time comes, and the books balance at the end.
    @Test func everythingLeavesInTheEnd() {
        let now = MonotonicTime.now()
        let send = StageThread(name: "send") { [output] in output.run() }
        encode((1...6).map { now + .milliseconds(5) * Int64($0) })
        send.join()
        expect(sent: 6, queued: 0)
        let books = channels.books.ledger.books
        #expect(books.emitted == 6 && books.balance, "\(books)")
        #expect(TestStream.units(in: (try? scratch.read("out.ts")) ?? []).count == 6)
    }

    private func bypass(
        _ number: Int64, _ video: TransportStreamLayout.Video, _ ticket: consuming FrameTicket, beginsAnywhere: Bool = false
    ) {
        let time = Timeline.start + number * 3_000
        let unit = CodedUnit(
            presentation: time, decode: time, isKeyframe: number == 0, beginsAnywhere: beginsAnywhere, video: video,
            fate: .bypassed)
        var pending: FrameTicket? = consume ticket
        [UInt8](repeating: 7, count: 100).withUnsafeBytes { bytes in
            output.deliver(bytes.bytes, unit, pending.take()!, encoded: .now(), .turn(.now()))
        }
    }

    private func ticket(_ number: Int64) -> FrameTicket {
        channels.books.ledger.open(.original, presentation: Timeline.start + number * 3_000)
    }

    /// Descriptors of the source's that no program map can hold are left out, and one map serves all units.
    @Test(arguments: [900, 1000, 4000]) func descriptorsThatDoNotFitAreLeftOut(count: Int) throws {
        try SendStageTests(.eager).leaveOutDescriptors(count)
    }

    private func leaveOutDescriptors(_ count: Int) throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        passing.layout = layout
        let descriptors = Array(repeatElement([0x80, 98] + [UInt8](repeating: 1, count: 98), count: count / 100).joined())
        for number in 0..<3 {
            try output.prepare()
            bypass(Int64(number), .init(streamType: 0x24, descriptors: descriptors), ticket(Int64(number)))
        }
        #expect(channels.books.ledger.books.bypassed == 3)
        sink.flush(until: .now() + .seconds(1))
        var programs: [ProgramDescription] = []
        var demuxer = TransportStreamDemuxer()
        try scratch.read("out.ts").withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil) {
                if case .program(let program) = $0 { programs.append(program) }
            }
        }
        try #require(programs.count == 1)
        #expect(programs[0].mainVideo?.streamType == 0x24 && programs[0].streams.count == 2)
        #expect(programs[0].mainVideo?.descriptors.count == (count == 900 ? 900 : 0))
    }

    /// A layout that no program map can hold is tried once, and refused for each picture. The next one is tried again.
    @Test func aLayoutThatDoesNotFitIsRefused() throws {
        try SendStageTests(.eager).refuseALayout()
    }

    private func refuseALayout() throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = Array(repeating: .aac, count: 300)
        passing.layout = layout
        for _ in 0..<3 { #expect(throws: ContainerError.self) { try output.prepare() } }

        layout.passedStreams = [.aac]
        passing.layout = layout
        try output.prepare()
        bypass(1, .h264, ticket(1))
        #expect(channels.books.ledger.books.bypassed == 1)
    }

    /// A receiver waits for an entry point, but not where the stream has none.
    @Test func aStreamWithoutEntryPointsBeginsAnywhere() throws {
        try SendStageTests(.eager).beginAnywhere()
    }

    private func beginAnywhere() throws {
        try output.prepare()
        output.beginReceiver()
        bypass(1, .h264, ticket(1))
        #expect(channels.books.ledger.books[.outputDown] == 1)
        bypass(2, .h264, ticket(2), beginsAnywhere: true)
        bypass(3, .h264, ticket(3))
        #expect(channels.books.ledger.books.bypassed == 2)
        var (with, without) = (EntryPoints(), EntryPoints())
        for second in 0..<20 {
            let time = Timeline.start + Int64(second) * MediaTime.ticksPerSecond
            let areMissing = (with.areMissing(upTo: time, isEntry: second == 4), without.areMissing(upTo: time, isEntry: false))
            #expect(areMissing == (false, second >= 5))
        }
        for second in 20..<40 {
            let isMissing = with.areMissing(upTo: Timeline.start + Int64(second) * MediaTime.ticksPerSecond, isEntry: false)
            #expect(isMissing == (second >= 24))
        }
        without.restart()
        let areMissing = without.areMissing(upTo: Timeline.start + 30 * MediaTime.ticksPerSecond, isEntry: false)
        #expect(!areMissing)
    }

    /// A source that can wait waits for room with a picture in its hands, which is in flight and not held.
    @Test func aFullHoldOpensBesideThePictureInHand() {
        let line = BypassLine(output: output, channels)
        try? output.prepare()
        line.hold()
        let before = ticket(0)
        for number in 1...256 {
            let time = Timeline.start + Int64(number) * 3_000
            let unit = CodedUnit(presentation: time, decode: time, isKeyframe: number == 1, fate: .bypassed)
            var pending: FrameTicket? = ticket(Int64(number))
            [UInt8](repeating: 7, count: 100).withUnsafeBytes { line.deliver($0, unit, pending.take()!, source: .now()) }
        }
        let own = ticket(257)
        line.open(besides: 1)
        #expect(line.isHolding && !line.hasRoom)
        channels.books.ledger.close(before, as: .emitted)
        channels.path.beginMaking()
        line.open(besides: 1)
        #expect(line.isHolding, "a frame without a ticket is being made")
        channels.path.endMaking()
        line.open(besides: 1)
        #expect(!line.isHolding && line.count == 0)
        channels.books.drop(own, .shutdown)
        #expect(channels.books.ledger.books.balance && channels.books.ledger.books[.overload] == 0)
    }

    /// A passing unit wakes the send stage. It does not wait for a picture or for the stage's next poll.
    @Test func aPassingUnitWakesTheStage() {
        let isAccepted = [UInt8](repeating: 7, count: 20).withUnsafeBytes {
            passing.offer(
                $0, stream: 0, presentation: nil, arrival: .now(), sourceTime: nil, emitBy: .now() + .seconds(3600))
        }
        #expect(isAccepted)
        passing.wake.wait(until: .now() + .seconds(3600))
    }
}
