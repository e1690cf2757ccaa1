import Media
import Synchronization

/// Counts the datagrams of one output: the thread that sends writes, any thread reads.
struct SentDatagrams: ~Copyable {
    private let sent = Atomic<Int64>(0)
    private let dropped = Atomic<Int64>(0)
    private let sentBytes = Atomic<Int64>(0)

    /// Those that have gone out, and the bytes of their payload.
    var count: Int64 { sent.load(ordering: .relaxed) }
    var bytes: Int64 { sentBytes.load(ordering: .relaxed) }

    func record(_ outcome: Sent, byteCount: Int) {
        if outcome == .sent {
            sent.add(1, ordering: .relaxed)
            sentBytes.add(Int64(byteCount), ordering: .relaxed)
        } else {
            dropped.add(1, ordering: .relaxed)
        }
    }

    /// A datagram output counts as connected from the beginning, because no peer ever answers.
    func statistics() -> LegFigures {
        var figures = LegFigures()
        figures.isConnected = true
        figures.connections = 1
        figures.packetsSent = count
        figures.packetsDropped = dropped.load(ordering: .relaxed)
        figures.bytesSent = bytes
        return figures
    }
}
