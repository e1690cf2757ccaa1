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

/// Sound whose pictures do not come: before the first one, after a change of the program, and behind the last one.
@Suite(.timeLimit(.minutes(2))) struct SoundWithoutPicturesTests {
    private let scratch: Scratch
    private let channels: StreamChannels
    private let passing = PassingStreams()
    private let sink: Sink
    private let output: SendStage

    init() throws {
        scratch = try Scratch()
        let configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        channels = StreamChannels(configuration)
        sink = try Sink(configuration.outputs[0])
        output = SendStage(sinks: [sink], passing: passing, channels: channels)
        channels.connection.isConnected = true
    }

    private func setLayout(sounds: Int, hasVideo: Bool = true) {
        var layout = TransportStreamLayout()
        layout.passedStreams = Array(repeating: .aac, count: sounds)
        if !hasVideo { layout.video = nil }
        passing.layout = layout
    }

    /// A unit of each of the present layout's streams.
    /// - Parameter waits: whether it can wait for a picture.
    private func offerSound(at ticks: Int64, waits: Bool = false) {
        for stream in 0..<passing.layout.passedStreams.count {
            let isAccepted = [UInt8](repeating: 7, count: 20).withUnsafeBytes {
                passing.offer(
                    $0, stream: stream, presentation: Timeline.start + ticks, arrival: .now(), sourceTime: nil,
                    emitBy: waits ? .now() + .seconds(3600) : .now())
            }
            #expect(isAccepted)
        }
    }

    private func ticket(_ ticks: Int64) -> FrameTicket {
        channels.books.ledger.open(.original, presentation: Timeline.start + ticks)
    }

    private func send(_ ticks: Int64, _ ticket: consuming FrameTicket, as video: TransportStreamLayout.Video = .h264) throws {
        try output.prepare()
        let time = Timeline.start + ticks
        let unit = CodedUnit(presentation: time, decode: time, isKeyframe: true, video: video, fate: .bypassed)
        var pending: FrameTicket? = consume ticket
        [UInt8](repeating: 7, count: 100).withUnsafeBytes { bytes in
            output.deliver(bytes.bytes, unit, pending.take()!, encoded: .now(), .turn(.now()))
        }
    }

    /// Has the stage send what waits.
    private func settle(_ count: UInt64) {
        let counters = channels.books.counters
        while counters[.passingOut] + counters[.passingDropped] < count {
            (MonotonicTime.now() + .milliseconds(0.2)).sleep()
        }
    }

    /// What came out: the program's maps, as `video+2` or `2`, and units of sound as `s`.
    private func run(_ work: () throws -> Void) throws -> [String] {
        let send = StageThread(name: "send") { [output] in output.run() }
        let result = Result { try work() }
        output.finish()
        send.join()
        try result.get()
        sink.flush(until: .now() + .seconds(1))
        var events: [String] = []
        var demuxer = TransportStreamDemuxer()
        func receive(_ event: ContainerEvent) {
            switch event {
            case .program(let program):
                let video = program.mainVideo.map { $0.streamType == 0x1b ? "video+" : "other+" } ?? ""
                events.append(video + "\(program.streams.count { $0.role == .passing })")
            case .unit: events.append("s")
            default: break
            }
        }
        try scratch.read("out.ts").withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        return events
    }

    @Test func soundDoesNotWaitForTheFirstPicture() throws {
        setLayout(sounds: 1)
        let events = try run {
            for n in 0..<3 { offerSound(at: Int64(n) * 1_920) }
            settle(3)
            try send(3 * 1_920, ticket(3 * 1_920))
        }
        // The picture brings no other map.
        #expect(events == ["video+1", "s", "s", "s"], "\(events)")
        #expect(channels.books.counters[.passingDropped] == 0)
    }

    /// A new map does not wait for a picture either. It describes the video as it was.
    @Test func soundBringsANewMap() throws {
        setLayout(sounds: 1)
        let events = try run {
            try send(0, ticket(0), as: .init(streamType: 0x24))
            setLayout(sounds: 2)
            offerSound(at: 3_000)
            settle(2)
        }
        #expect(events == ["other+1", "other+2", "s", "s"], "\(events)")
        #expect(channels.books.counters[.passingDropped] == 0)
    }

    /// The program has lost its video, and pictures are still on their way: they go out under the map with video, and the sound
    /// under one without.
    @Test func aProgramThatLosesItsVideoLosesItInTheMap() throws {
        setLayout(sounds: 1)
        let events = try run {
            try send(0, ticket(0))
            let late = ticket(3_000)
            setLayout(sounds: 1, hasVideo: false)
            offerSound(at: 3_000, waits: true)
            try send(3_000, late)
            settle(1)
            offerSound(at: 6_000)
            settle(2)
        }
        #expect(events == ["video+1", "1", "s", "s"], "\(events)")
    }

    /// A picture comes after the sound could wait for none any longer. It brings the video back, until the sound has run on.
    @Test func aLatePictureBringsTheVideoBackForAWhile() throws {
        setLayout(sounds: 1)
        let events = try run {
            try send(0, ticket(0))
            let late = ticket(3_000)
            setLayout(sounds: 1, hasVideo: false)
            offerSound(at: 3_000)
            settle(1)
            try send(3_000, late)
            for n in 0..<3 { offerSound(at: 3_000 + Int64(n) * 60_000) }
            settle(4)
        }
        #expect(events == ["video+1", "1", "s", "video+1", "s", "s", "1", "s"], "\(events)")
    }

    /// Nothing of the video can be read or decoded, and it must not pass: the sound comes out whole.
    @Test(arguments: [false, true]) func theSoundOfAnUndecodableStreamComesOut(isScrambled: Bool) throws {
        let scratch = try Scratch()
        var stream = try TestStream.program([.init(frames: 40, audioStreams: 1)])
        let pid = TransportStreamLayout().videoPID
        for at in stride(from: 0, to: stream.count, by: 188) where isScrambled {
            if TestMultiplex.pid(in: stream, at: at) == pid { stream[at + 3] |= 0x80 }
        }
        let failure = #expect(throws: RelayFailure.self) {
            _ = try relay(stream, scratch) {
                $0.options.keepSize = true
                $0.makeDecoder = { (configuration) throws(CodecError) in try BlindDecoder(configuration) { _ in true } }
            }
        }
        #expect(failure?.report?.frames.droppedByReason == (isScrambled ? [:] : ["decode_error": 40]))
        #expect(failure?.report?.counters["passing_units_out"] == 40, "\(failure?.report?.counters ?? [:])")
        let bytes = TestStream.passed(in: try scratch.read("out.ts")).units.map(\.bytes)
        #expect(bytes == TestStream.passed(in: stream).units.map(\.bytes))
    }
}
