import Endpoint
import Media
import Packets
import Synchronization
import Testing
@testable import Transport

/// The counters of a leg while its connections come and go, on loopback.
@Suite(.serialized) struct ConnectionCounterTests {
    /// Readers leave one after the other, and each message that was sent stays counted, whenever somebody asks.
    @Test(arguments: [1, 4]) func countersOfAListenerNeverFall(readers: Int) throws {
        let sink = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"), readers: readers)
        let poller = StatisticsPoller(sink)
        for _ in 0..<6 {
            let all = try (0..<readers).map { _ in try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20") }
            for reader in all {
                #expect(reader.awaitConnection() != nil)
                #expect(sink.awaitPeer())
            }
            for place in 0..<sink.places {
                let connection = try #require(sink.connection(at: place))
                for number in 0..<20 {
                    let sent = numbered(number).withUnsafeBytes { sink.send($0, to: connection) }
                    #expect(sent == .sent)
                }
            }
            sink.flush(until: .now() + Reader.timeout)
            for reader in all { reader.source.close() }
            let limit = MonotonicTime.now() + Reader.timeout
            while sink.isConnected, .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }
        #expect(poller.stop() == 0)
        let figures = sink.statistics()
        #expect(figures.packetsSent == Int64(6 * readers * 20) && figures.connections == Int64(6 * readers))
    }

    /// Reads the counters without a pause.
    private final class StatisticsPoller: Sendable {
        private final class State: Sendable {
            let isOver = Atomic<Bool>(false)
            let falls = Atomic<Int>(0)
        }

        private let state = State()
        private let thread: StageThread

        init(_ sink: Sink) {
            thread = StageThread(name: "poller") { [state] in
                var (packets, bytes) = (Int64(0), Int64(0))
                while !state.isOver.load(ordering: .acquiring) {
                    let now = sink.statistics()
                    if now.packetsSent < packets || now.bytesSent < bytes { state.falls.add(1, ordering: .relaxed) }
                    (packets, bytes) = (now.packetsSent, now.bytesSent)
                }
            }
        }

        /// - Returns: how often a counter fell.
        func stop() -> Int {
            state.isOver.store(true, ordering: .releasing)
            thread.join()
            return state.falls.load(ordering: .relaxed)
        }
    }
}
