import Endpoint
import Measure
import Media
import Packets
import Synchronization
import TestStreams
import Testing
import Transport
@testable import Relay

/// One encode for several outputs and several readers, on loopback.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SeveralOutputsTests {
    private typealias Running = SRTRelayTests.Running

    /// Receives an output on a thread of its own, and keeps it.
    private final class Reader: Sendable {
        private final class State: Sendable {
            let bytes = Lock<[UInt8]>([])
            let isConnected = Atomic<Bool>(false)
            let isStopped = Atomic<Bool>(false)
        }

        private let thread: StageThread
        private let state = State()

        /// - Parameter reads: false connects and reads nothing, ever.
        init(_ url: String, reads: Bool = true) throws {
            let source = try Source(try StreamURL(url))
            thread = StageThread(name: "reader") { [state] in
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
                defer { buffer.deallocate() }
                while !state.isStopped.load(ordering: .acquiring) {
                    if !reads, state.isConnected.load(ordering: .relaxed) {
                        (MonotonicTime.now() + .milliseconds(2)).sleep()
                        continue
                    }
                    switch source.receive(into: buffer, until: .now() + .milliseconds(10)) {
                    case .message(let message): state.bytes.withLock { $0 += buffer[..<message.byteCount] }
                    case .event(.connected): state.isConnected.store(true, ordering: .releasing)
                    default: break
                    }
                }
            }
        }

        func awaitConnection() {
            while !state.isConnected.load(ordering: .acquiring) { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        }

        var units: [TestStream.Unit] { TestStream.units(in: state.bytes.withLock { $0 }) }

        func stop() {
            state.isStopped.store(true, ordering: .releasing)
            thread.join()
        }
    }

    private func send(frames: Int64, to port: UInt16) throws {
        let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)?latency=20"))
        try sink.awaitConnection(until: .now() + .seconds(20))
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = frames
        configuration.rate = Rational(30)
        _ = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
        sink.flush(until: .now() + .seconds(5))
    }

    private func expectBooks(_ report: RelayReport, frames: UInt64) {
        #expect(report.frames.balance && report.frames.inFlight == 0 && report.frames.emitted == frames)
        for output in report.outputs { #expect(output.units?.balance == true, "\(String(describing: output.units))") }
    }

    /// Six of eight readers of a listener are well. One reads nothing, one loses a tenth of its packets.
    @Test func aReaderThatStallsAndOneThatLosesHarmNobody() throws {
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: "srt://127.0.0.1:0?mode=listener&latency=20")
        let port = running.relay.outputPort
        var impairment = ImpairmentSettings()
        impairment.loss = 0.1
        let proxy = try ImpairmentProxy(to: UDPEndpoint(host: "127.0.0.1", port: port), settings: impairment)
        let well = try (0..<6).map { _ in try Reader("srt://127.0.0.1:\(port)?latency=200") }
        let stalled = try Reader("srt://127.0.0.1:\(port)?latency=20", reads: false)
        let losing = try Reader("srt://127.0.0.1:\(proxy.localPort)?latency=20")
        for reader in well + [stalled, losing] { reader.awaitConnection() }
        running.await { _ in running.relay.outputPeers.count == 8 }
        try send(frames: 90, to: running.relay.inputPort)
        for reader in well { while reader.units.count < 90 { (MonotonicTime.now() + .milliseconds(20)).sleep() } }
        let report = try #require(running.stop())
        for reader in well + [stalled, losing] { reader.stop() }
        for reader in well {
            #expect(reader.units.count == 90 && reader.units.first?.isKeyframe == true)
        }
        expectBooks(report, frames: 90)
        let units = try #require(report.output.units)
        #expect(report.output.connections == 8 && units.offered == 8 * 90 && units.sent >= 6 * 90)
    }

    /// A file, an SRT listener and a datagram output get the same. An output that nobody receives keeps its own books.
    @Test func severalOutputsGetTheSame() throws {
        let scratch = try Scratch()
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: "srt://127.0.0.1:0?mode=listener&latency=20"
        ) {
            $0.outputs += [
                .file(path: scratch.path("a.ts")), .file(path: scratch.path("b.ts")),
                try! StreamURL("srt://127.0.0.1:0?mode=listener"),
            ]
        }
        let reader = try Reader("srt://127.0.0.1:\(running.relay.outputPort)?latency=200")
        reader.awaitConnection()
        running.await { _ in running.relay.outputPeers.count == 1 }
        try send(frames: 30, to: running.relay.inputPort)
        while reader.units.count < 30 { (MonotonicTime.now() + .milliseconds(20)).sleep() }
        let report = try #require(running.stop())
        reader.stop()
        expectBooks(report, frames: 30)
        #expect(report.outputs.map { $0.units?.sent } == [30, 30, 30, 0])
        #expect(report.outputs[3].units?.droppedByReason == ["not_connected": 30])
        let (a, b) = (try scratch.read("a.ts"), try scratch.read("b.ts"))
        #expect(a == b && TestStream.units(in: a).count == 30)
        #expect(report.text.contains("output 2 (") && running.events.contains { $0.hasPrefix("output 1: connected") })
    }

    /// A reader that comes later begins with a keyframe, and the one that was there misses nothing.
    @Test func aReaderThatComesLaterBeginsWithAKeyframe() throws {
        let running = try Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: "srt://127.0.0.1:0?mode=listener&latency=20")
        let port = running.relay.outputPort
        let first = try Reader("srt://127.0.0.1:\(port)?latency=200")
        first.awaitConnection()
        running.await { _ in running.relay.outputPeers.count == 1 }
        let feeder = StageThread(name: "feeder") { try? send(frames: 120, to: running.relay.inputPort) }
        while first.units.count < 20 { (MonotonicTime.now() + .milliseconds(10)).sleep() }
        let second = try Reader("srt://127.0.0.1:\(port)?latency=200")
        feeder.join()
        while first.units.count < 120 { (MonotonicTime.now() + .milliseconds(20)).sleep() }
        let report = try #require(running.stop())
        first.stop()
        second.stop()
        #expect(first.units.count == 120)
        let units = second.units
        #expect(units.count > 20 && units.first?.isKeyframe == true)
        #expect(units.map(\.presentation) == Array(first.units.map(\.presentation).suffix(units.count)))
        expectBooks(report, frames: 120)
    }

    /// The cap holds, and its readers keep their places.
    @Test func oneReaderMoreThanTheCapIsRefused() throws {
        let sink = try Sink(try StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"), readers: 3)
        let readers = try (0..<3).map { _ in try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20") }
        for reader in readers { reader.awaitConnection() }
        let late = try Sink.peersAfterRefusal(of: sink)
        #expect(late == 3)
        for reader in readers { reader.stop() }
        #expect((try? StreamURL("srt://127.0.0.1:9000?maxreaders=2")) == nil)
        #expect((try? StreamURL("srt://:9000?maxreaders=0")) == nil)
        #expect(try StreamURL("srt://:9000?maxreaders=2").readers == 2 && StreamURL("srt://:9000").readers == 16)
    }
}

extension Sink {
    /// Has another reader call, waits until it is refused, and counts the peers.
    fileprivate static func peersAfterRefusal(of sink: Sink) throws -> Int {
        let source = try Source(try StreamURL("srt://127.0.0.1:\(sink.localPort)?latency=20"))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            // A reader that is sent nothing says nothing, and is refused only once it is known that the others are there.
            if case .event(.refused) = source.receive(into: buffer, until: .now() + .milliseconds(10)) { break }
        }
        return sink.peers.count
    }
}
