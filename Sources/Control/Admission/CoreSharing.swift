import Media
import Schedule

/// Divides the machine's processor cores among the streams (``CoreDeal``, ``OptionalPool``). A value, asked once a second.
struct CoreSharing: Sendable {
    /// What a stream needs, in cores.
    struct Demand: Hashable, Sendable {
        /// For all originals on the cheapest rung; 0 before the first picture.
        var least: Double
        /// With what it would synthesise.
        var synthesising: Double
        var isFlowing: Bool
        /// Originals that were dropped for want of time so far.
        var lost: UInt64 = 0
        /// Its source is there, and no picture is enhanced although it may: the first has not come, or the machine had no time.
        var isComing = false
    }

    /// What a stream may count on, in cores.
    struct Share: Hashable, Sendable {
        /// For all originals.
        var dealt: Double
        /// For optional work, on average.
        var optional: Double
        /// For all originals, when its output becomes larger.
        var room: Double

        init(_ cores: Cores) {
            dealt = cores.dealt
            optional = cores.optional.isFinite ? cores.optional : 0
            room = cores.room
        }
    }

    /// What the machine shows of the last second, in cores.
    struct Machine: Hashable, Sendable {
        /// What the service may use.
        var cores: Double
        /// What programs other than the service and its workers kept busy.
        var usedByOthers: Double
        /// What the service could have used beyond what it did; nil where that is not known.
        var idle: Double?

        /// - Parameters:
        ///   - cores: what the service may use. A control group may allow less than there are processors.
        ///   - ours: what it and its workers used.
        ///   - idle: what was idle of the processors that it may use, or went to work that gives way to all else; nil where that is
        ///     not known.
        init(cores: Double, ours: Double, idle: Double?) {
            self.cores = cores
            usedByOthers = idle.map { max(0, cores - min($0, cores) - ours) } ?? 0
            self.idle = idle.map { max(0, min($0, cores - ours)) }
        }
    }

    /// What is known of a stream that flows.
    private struct Record {
        /// For how long.
        var time = Nanoseconds.zero
        var lost: UInt64

        var isSettled: Bool { time >= OptionalPool.settlingTime }
    }

    private var pool = OptionalPool()
    private var records: [String: Record] = [:]

    /// The cores for optional work of all streams; nil while nothing is dealt.
    var optional: Double? { pool.size }

    /// What a stream may count on before its needs are known, where there are others: nothing for optional work.
    /// It chooses its output by an even share, since the others may begin at the same time.
    static func first(on cores: Double, streams: Int) -> Share {
        Share(Cores(dealt: cores, spare: cores, optional: 0, room: cores / Double(max(1, streams))))
    }

    /// - Parameter seconds: since the last call.
    /// - Returns: the shares that streams are to be told. A single stream that flows is told nothing: it measures what is left, as
    ///   `burnish relay` does.
    mutating func shares(of demands: [String: Demand], on machine: Machine, seconds: Double) -> [String: Share] {
        let flowing = demands.filter { $0.value.isFlowing && $0.value.least > 0 }.sorted { $0.key < $1.key }
        let streams = observe(flowing, seconds: seconds)
        let deal = CoreDeal(cores: machine.cores)
        let claims = flowing.map {
            CoreDeal.Claim(least: $0.value.least, optional: records[$0.key]?.isSettled == true ? .infinity : 0)
        }
        var shares: [String: Share] = [:]
        if demands.count > 1 {
            // Before a stream enhances pictures it chooses the size of its output, by what the others leave.
            let share = deal.dealForNewcomer(
                beside: claims, newcomers: demands.values.count(where: \.isComing), usedByOthers: machine.usedByOthers)
            for name in demands.keys where records[name] == nil { shares[name] = Share(share) }
        }
        guard flowing.count > 1 else {
            pool = OptionalPool()
            return shares
        }
        let size = pool.update(
            idle: machine.idle, cores: machine.cores,
            estimate: deal.leftover(claims, usedByOthers: machine.usedByOthers), seconds: seconds, streams: streams)
        let parts = deal.deal(claims, usedByOthers: machine.usedByOthers, pool: size)
        for (stream, cores) in zip(flowing, parts) { shares[stream.key] = Share(cores) }
        return shares
    }

    private mutating func observe(_ flowing: [(key: String, value: Demand)], seconds: Double) -> OptionalPool.Streams {
        var streams = OptionalPool.Streams()
        var new: [String: Record] = [:]
        for (name, demand) in flowing {
            var record = records[name] ?? Record(lost: demand.lost)
            if records[name] == nil { streams.joined += demand.least } else { record.time = record.time + .seconds(seconds) }
            if demand.lost > record.lost { streams.haveLost = true }
            record.lost = demand.lost
            if !record.isSettled { streams.areSettling = true }
            new[name] = record
        }
        streams.areNew = new.values.allSatisfy { !$0.isSettled }
        records = new
        return streams
    }
}
