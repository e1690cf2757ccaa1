import Media
import Schedule

/// When to measure again what work costs, while pictures pass for want of time: ever more seldom, as each time takes a tenth of a second of
/// a core. A pure value.
struct MeasuringAgain {
    static let firstWait = Nanoseconds.seconds(3)
    static let longestWait = Nanoseconds.seconds(60)
    private var wait = firstWait
    private var due: MonotonicTime?

    /// - Parameter passes: whether pictures pass for want of time.
    mutating func isDue(at now: MonotonicTime, passes: Bool) -> Bool {
        guard passes else {
            self = MeasuringAgain()
            return false
        }
        guard let due else {
            due = now + wait
            return false
        }
        guard now >= due else { return false }
        wait = min(wait * 2, Self.longestWait)
        self.due = now + wait
        return true
    }
}

/// Measures again what work costs here, while pictures pass for want of time. Whoever shared the core at the start may have gone, and a
/// virtual machine does not see who shares its core.
///
/// Used by the observer's thread. The work is done on a thread of its own, which gives way to the others.
struct CostWatch {
    private let codec: OutputCodec
    private var again = MeasuringAgain()
    private let found = Found()

    private final class Found: Sendable {
        let costs = Lock<StartCosts?>(nil)
    }

    init(_ codec: OutputCodec) { self.codec = codec }

    mutating func follow(_ chosen: ChosenOutput, at now: MonotonicTime) {
        if let costs = found.costs.withLock({ $0.take() }) { chosen.learn(costs.costs(of: codec)) }
        guard again.isDue(at: now, passes: chosen.passesForTime) else { return }
        StageThread(name: "costs", niceness: 10) { [found] in
            let costs = StartCosts.measuredAgain()
            found.costs.withLock { $0 = costs }
        }
        .detach()
    }
}
