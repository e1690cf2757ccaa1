import Endpoint
import Foundation
import Glibc
import Media
import Testing
@testable import Packets
@testable import Transport

/// Not a test but a measurement: how long a message that is read early takes from the kernel's stamp of its packet to the
/// reader, over loopback, and what the process spends on it. `BURNISH_WIRE_TO_READER=<seconds>` runs it.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["BURNISH_WIRE_TO_READER"] != nil))
struct WireToReader {
    static let messagesPerSecond = 200

    @Test func measure() throws {
        let seconds = ProcessInfo.processInfo.environment["BURNISH_WIRE_TO_READER"].flatMap(Int.init) ?? 10
        let source = try Source(StreamURL("srt://127.0.0.1:0?mode=listener&latency=120&ingest=early"))
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(source.localPort)?latency=120"))
        try sink.awaitConnection(until: .now() + .seconds(10))
        let count = seconds * Self.messagesPerSecond
        let sender = StageThread(name: "sender") {
            let message = UnsafeMutableRawBufferPointer.allocate(byteCount: 1316, alignment: 16)
            let start = MonotonicTime.now()
            for i in 0..<count {
                (start + .milliseconds(Double(i) * 1_000 / Double(Self.messagesPerSecond))).sleep()
                _ = sink.nextEvent()
                _ = sink.send(UnsafeRawBufferPointer(message), sourceTime: .now())
            }
            message.deallocate()
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        var times: [Double] = []
        var lastMessage = MonotonicTime.now()
        let before = clock()
        while times.count < count, MonotonicTime.now() - lastMessage < .seconds(3) {
            guard case .message(let message) = source.receive(into: buffer, until: .now() + .seconds(1)) else { continue }
            lastMessage = .now()
            times.append((lastMessage - message.arrival).seconds * 1e6)
        }
        sender.join()
        let load = Double(clock() - before) / 1e6 / Double(seconds) * 100
        times.sort()
        func quantile(_ share: Double) -> Double { times.isEmpty ? .nan : times[Int(Double(times.count - 1) * share)] }
        print(
            String(
                format: "wire to reader: %d of %d messages, p50 %.0f p95 %.0f p99 %.0f us, %.2f %% of a core", times.count,
                count, quantile(0.5), quantile(0.95), quantile(0.99), load))
        fflush(nil)
        #expect(times.count > count / 2)
    }
}
