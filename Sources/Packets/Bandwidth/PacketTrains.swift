/// What the packets of pictures say of a link's capacity. The packets of a picture leave at once, and a link spaces them by the time that
/// each one takes (Dovrolis, Ramanathan, Moore: "What do packet dispersion techniques measure?", 2001). So pictures find out how much a
/// link carries, and nothing has to be sent for that.
///
/// A pure value. Times are nanoseconds of the receiver's clock.
struct PacketTrains: Sendable {
    private struct Train: BitwiseCopyable {
        var number: UInt32 = 0
        var first: Int64 = 0
        var last: Int64 = 0
        /// Behind the first packet.
        var bytes = 0
        var gaps = 0
    }

    private static let kept = 8
    /// Fewer gaps together say nothing: receivers tell times in steps of 250 µs.
    private static let fewestGaps = 6
    /// One train that has so many gaps says something alone.
    private static let longGaps = 3
    /// A gap counts as so long at least.
    private static let shortestGap: Int64 = 50_000
    /// What is so much older than the newest packet says nothing of now.
    private static let memory: Int64 = 3_000_000_000

    private var trains: [8 of Train] = .init(repeating: Train())
    private var count = 0
    private var newestTime = Int64.min

    /// A packet of a train has come. Trains come in their order, and what comes of an earlier one is left out.
    /// - Returns: whether the train begins with it.
    mutating func arrived(_ number: UInt32, bytes: Int, at time: Int64) -> Bool {
        let newest = max(0, count - 1) % Self.kept
        newestTime = max(newestTime, time)
        guard count > 0, trains[newest].number == number else {
            guard count == 0 || Int32(bitPattern: number &- trains[newest].number) > 0 else { return false }
            // One packet alone has said nothing.
            if count > 0, trains[newest].gaps == 0 { count -= 1 }
            trains[count % Self.kept] = Train(number: number, first: time, last: time)
            count += 1
            return true
        }
        trains[newest].first = min(trains[newest].first, time)
        trains[newest].last = max(trains[newest].last, time)
        trains[newest].bytes += bytes
        trains[newest].gaps += 1
        return false
    }

    /// Bits a second, over the newest trains; nil while too little is known.
    var bitRate: Double? {
        var (bytes, gaps, time): (Int, Int, Int64) = (0, 0, 0)
        for place in 0..<min(count, Self.kept) where newestTime - trains[place].last < Self.memory {
            bytes += trains[place].bytes
            gaps += trains[place].gaps
            time += duration(of: trains[place])
        }
        return gaps >= Self.fewestGaps ? Self.rate(bytes, time) : nil
    }

    /// The same of the newest train alone, where it is long.
    var newest: Double? {
        guard count > 0 else { return nil }
        let train = trains[(count - 1) % Self.kept]
        return train.gaps >= Self.longGaps ? Self.rate(train.bytes, duration(of: train)) : nil
    }

    private func duration(of train: Train) -> Int64 { max(train.last - train.first, Int64(train.gaps) * Self.shortestGap) }

    private static func rate(_ bytes: Int, _ time: Int64) -> Double { Double(bytes) * 8e9 / Double(max(time, 1)) }
}
