import Synchronization

/// What became of the datagrams of one output. Counted by the thread that sends, read by any.
struct SentDatagrams: ~Copyable {
    private let sent = Atomic<Int64>(0)
    private let dropped = Atomic<Int64>(0)
    private let sentBytes = Atomic<Int64>(0)

    /// Those that have gone out, and their payload.
    var count: Int64 { sent.load(ordering: .relaxed) }
    var bytes: Int64 { sentBytes.load(ordering: .relaxed) }

    func note(_ outcome: Sent, byteCount: Int) {
        if outcome == .sent {
            sent.add(1, ordering: .relaxed)
            sentBytes.add(Int64(byteCount), ordering: .relaxed)
        } else {
            dropped.add(1, ordering: .relaxed)
        }
    }

    /// A datagram output is connected from the beginning: nobody tells it otherwise.
    func statistics() -> LegStatistics {
        var figures = LegStatistics()
        figures.connected = true
        figures.connections = 1
        figures.packetsSent = count
        figures.packetsDropped = dropped.load(ordering: .relaxed)
        figures.bytesSent = bytes
        return figures
    }
}
