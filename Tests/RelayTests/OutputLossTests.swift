import Codec
import Container
import Endpoint
import Measure
import Media
import Packets
import Schedule
import Settings
import Synchronization
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// An SRT output that has no room for the rest of a picture, or is another one when the picture is ready.
@Suite(.serialized, .timeLimit(.minutes(3))) struct OutputLossTests {
    /// A network that is too slow, until libsrt's buffer has no room for the rest of a picture.
    @Test func aPictureThatGoesOutInPartIsCountedAndTheNextIsAKeyframe() throws {
        let emitting = try Emitting()
        var settings = ImpairmentSettings()
        settings.rate = 4e6
        settings.queue = .seconds(60)
        let proxy = try ImpairmentProxy(
            to: UDPEndpoint(host: "127.0.0.1", port: emitting.sink.localPort), settings: settings)
        let receiver = try Receiver(port: proxy.localPort, reads: false)
        emitting.awaitReceivers(1)
        #expect(emitting.emit(.still) == .emitted && emitting.watch.wasKeyframe)
        #expect(emitting.emit(.still) == .emitted && !emitting.watch.wasKeyframe)
        try emitting.overfill(with: [8000])
        #expect(!emitting.watch.wasKeyframe)
        // libsrt says 0 where it has no time to look.
        emitting.wait { (1..<8000).contains(emitting.sink.statistics().packetsBuffered) }
        #expect(emitting.emit(.still) == .emitted && emitting.watch.wasKeyframe)
        #expect(emitting.emit(.still) == .emitted && !emitting.watch.wasKeyframe)
        receiver.hangUp()
        emitting.end()
        expectBooks(emitting.stream, emitted: 4, lost: 1)
    }

    /// A receiver that does not read, until there is no room in libsrt's buffers, its own and ours, and then hangs up.
    @Test func aReceiverThatComesAfterAPictureThatWentOutInPartBeginsWithTablesAndAKeyframe() throws {
        let emitting = try Emitting()
        let first = try Receiver(port: emitting.sink.localPort, reads: false)
        emitting.awaitReceivers(1)
        #expect(emitting.emit(.still) == .emitted)
        try emitting.overfill(with: [7900, 8100])
        first.hangUp()
        emitting.wait { !emitting.sink.isConnected }
        #expect(emitting.emit(.still) == .dropped(.outputDown))
        let second = try Receiver(port: emitting.sink.localPort)
        emitting.awaitReceivers(2)
        for _ in 0..<2 { #expect(emitting.emit(.still) == .emitted) }
        emitting.flush()
        emitting.end()

        expectBeginning(of: second, frames: 3...4)
        expectBooks(emitting.stream, emitted: 3, lost: 2)
    }

    /// While a picture is encoded, its receiver goes and the next one comes, which can do nothing with it.
    @Test func aReceiverThatComesWhileAPictureIsEncodedBeginsWithTheNext() throws {
        let emitting = try Emitting(halting: 1)
        let first = try Receiver(port: emitting.sink.localPort)
        emitting.awaitReceivers(1)
        #expect(emitting.emit(.still) == .emitted)
        emitting.hand(.still)
        emitting.watch.halt.await()
        first.hangUp()
        emitting.wait { !emitting.sink.isConnected }
        let second = try Receiver(port: emitting.sink.localPort)
        emitting.wait { emitting.sink.isConnected }
        emitting.watch.halt.goOn()
        #expect(emitting.fate() == .dropped(.outputDown))
        for _ in 0..<2 { #expect(emitting.emit(.still) == .emitted) }
        emitting.flush()
        emitting.end()

        expectBeginning(of: second, frames: 2...3)
        expectBooks(emitting.stream, emitted: 3, lost: 1)
    }

    /// What a receiver got begins with the tables and a keyframe, and holds these frames.
    private func expectBeginning(of receiver: Receiver, frames: ClosedRange<Int>) {
        let bytes = receiver.finish()
        let packets = stride(from: 0, to: bytes.count, by: 188).map { TestMultiplex.pid(in: bytes, at: $0) }
        let layout = TransportStreamLayout()
        #expect(packets.prefix(3) == [0, layout.mapPID, layout.videoPID])
        let units = TestStream.units(in: bytes)
        #expect(units.map(\.presentation) == frames.map { Emitting.time(of: $0) })
        #expect(units.map(\.isKeyframe) == frames.map { $0 == frames.lowerBound })
    }

    private func expectBooks(_ stream: StreamChannels, emitted: Int, lost: UInt64) {
        let books = stream.books.ledger.books
        #expect(books.balance && books.inFlight == 0, "\(books)")
        #expect(books.emitted == UInt64(emitted) && books.dropped == lost && books[.outputDown] == lost, "\(books)")
    }
}

/// The encode and send stages, which are handed pictures one by one, and their output, an SRT listener.
private final class Emitting {
    /// A picture that takes few bytes, or one that takes as many as it can and has nothing in common with others.
    enum Look { case still, noise }

    let sink: Sink
    let stream: StreamChannels
    let watch: Watch
    /// How many have been handed over.
    private(set) var frames = 0
    private let pool = PicturePool(size: PictureSize(width: 1280, height: 720), count: 2)
    private var random = SplitMix64(seed: 7)
    private let finished = BoundedQueue<FinishedFrame>(capacity: 1)
    private let thread: StageThread
    /// How far the ledger's records have been read.
    private var cursor: UInt64 = 0

    /// - Parameter frame: what the encoder stops before.
    init(halting frame: Int64? = nil) throws {
        let watch = Watch(halting: frame)
        // A window in which nothing becomes too late to be sent.
        var configuration = RelayConfiguration(
            input: .standardStream, output: try StreamURL("srt://127.0.0.1:0?mode=listener&latency=30000"))
        configuration.options.preset = .ultrafast
        configuration.makeEncoder = { (configuration) throws(CodecError) in try WatchedEncoder(configuration, watch) }
        let (stream, sink) = (StreamChannels(configuration), try Sink(configuration.outputs[0]))
        (self.stream, self.sink, self.watch) = (stream, sink, watch)
        thread = StageThread(name: "output") { [finished] in runOutput(finished, sink: sink, stream) }
    }

    static func time(of frame: Int) -> MediaTime { Timeline.start + Int64(frame) * 3_000 }

    func hand(_ look: Look) {
        guard let picture = pool.lease() else { return }
        paint(picture.picture.mutableView, look)
        let ticket = stream.books.ledger.open(.original, presentation: Self.time(of: frames))
        frames += 1
        _ = finished.push(
            FinishedFrame(
                ticket: ticket, picture: picture, color: ColorDescription(), interval: .milliseconds(33), turn: .now(),
                original: nil))
    }

    /// Waits for what becomes of the frame that was handed over.
    func fate() -> FrameFate? {
        wait { stream.books.ledger.inFlight == 0 }
        var last: FrameFate?
        _ = stream.books.ledger.read(since: &cursor) { _, fate in last = fate }
        return last
    }

    func emit(_ look: Look) -> FrameFate? {
        hand(look)
        return fate()
    }

    /// Waits until the send stage has been told of so many connections.
    func awaitReceivers(_ count: UInt64) { wait { stream.books.counters[.outputConnections] == count } }

    func wait(until isSo: () -> Bool) {
        while !isSo() { (MonotonicTime.now() + .milliseconds(1)).sleep() }
    }

    /// Sends a picture for which libsrt's buffers, of 8192 packets each, have not room enough.
    /// - Parameter counts: how many messages of stuffing are in the receiver's, or have left it, when the next are sent.
    func overfill(with counts: [Int]) throws {
        let packet = [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)
        let message = [[UInt8]](repeating: packet, count: 7).flatMap { $0 }
        for count in counts {
            flush()
            // The stages send nothing meanwhile.
            for _ in 0..<count { try #require(message.withUnsafeBytes { sink.send($0) } == .sent) }
        }
        #expect(emit(.noise) == .dropped(.outputDown))
        let refused = Int(stream.books.counters[.outputMessagesRefused])
        #expect(refused > 0 && refused * message.count < watch.unitSize, "not in the middle")
    }

    func flush() { sink.flush(until: .now() + .seconds(60)) }

    func end() {
        finished.close()
        thread.join()
    }

    private func paint(_ view: MutablePictureView, _ look: Look) {
        for plane in [view.y, view.u, view.v] {
            for y in 0..<plane.height {
                for x in stride(from: 0, to: plane.width, by: 8) {
                    let bits = look == .noise ? random.next() : 0x8080_8080_8080_8080
                    UnsafeMutableRawPointer(plane.row(y) + x).storeBytes(of: bits, as: UInt64.self)
                }
            }
        }
    }
}

/// Where a test steps into an encoder's work, and what it sees of it.
private final class Watch: Sendable {
    let halt = Halt()
    let frame: Int64?
    private let newest = Lock<(unitSize: Int, isKeyframe: Bool)>((0, false))

    init(halting frame: Int64?) { self.frame = frame }

    func record(_ unit: borrowing EncodedUnit) {
        let (size, isKeyframe) = (unit.bytes.count, unit.isKeyframe)
        newest.withLock { $0 = (size, isKeyframe) }
    }

    /// Of the newest picture, coded.
    var unitSize: Int { newest.withLock { $0.unitSize } }
    var wasKeyframe: Bool { newest.withLock { $0.isKeyframe } }
}

/// libx264 with next to no loss, so that noise stays large.
private final class WatchedEncoder: PictureEncoder {
    private let encoder: VideoEncoder
    private let watch: Watch

    init(_ configuration: VideoEncoderConfiguration, _ watch: Watch) throws(CodecError) {
        var configuration = configuration
        configuration.rateControl = .quality(1, maximumRate: nil, bufferFrames: 2)
        encoder = try VideoEncoder(configuration)
        self.watch = watch
    }

    var configuration: VideoEncoderConfiguration { encoder.configuration }

    func encode(
        _ picture: PictureView, id: Int64, at time: MediaTime, asKeyframe: Bool, carrying userData: PictureUserData?,
        emit: (borrowing EncodedUnit) -> Void
    ) throws(CodecError) {
        if id == watch.frame { watch.halt.pass() }
        try encoder.encode(picture, id: id, at: time, asKeyframe: asKeyframe, carrying: userData) { unit in
            watch.record(unit)
            emit(unit)
        }
    }

    func change(_ rateControl: VideoEncoderConfiguration.RateControl, at frameRate: Rational) -> Bool { false }
}

/// Reads an output, on a thread of its own.
private final class Receiver: Sendable {
    private enum Order: Int {
        /// Stay connected, and read nothing.
        case wait
        case read
        /// Read what is there, and hang up.
        case finish
        case hangUp
    }

    private let thread: StageThread
    private let state = State()

    private final class State: Sendable {
        let order = Atomic<Int>(Order.read.rawValue)
        let bytes = Lock<[UInt8]>([])

        func give(_ order: Order) { self.order.store(order.rawValue, ordering: .releasing) }
        var present: Order { Order(rawValue: order.load(ordering: .acquiring)) ?? .hangUp }
    }

    init(port: UInt16, reads: Bool = true) throws {
        if !reads { state.give(.wait) }
        let url = try StreamURL("srt://127.0.0.1:\(port)?latency=30000&ingest=early")
        thread = StageThread(name: "receiver") { [state] in
            guard let source = try? Source(url) else { return }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
            defer { buffer.deallocate() }
            while true {
                let order = state.present
                if order == .hangUp { return }
                if order == .wait {
                    (MonotonicTime.now() + .milliseconds(1)).sleep()
                    continue
                }
                switch source.receive(into: buffer, until: .now() + .milliseconds(10)) {
                case .message(let message): state.bytes.withLock { $0 += buffer[..<message.byteCount] }
                case .idle where order == .finish: return
                default: break
                }
            }
        }
    }

    /// Hangs up when it has read what is there.
    func finish() -> [UInt8] {
        state.give(.finish)
        thread.join()
        return state.bytes.withLock { $0 }
    }

    func hangUp() {
        state.give(.hangUp)
        thread.join()
    }
}
