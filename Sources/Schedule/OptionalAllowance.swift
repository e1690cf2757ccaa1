import Media

/// What a stream may spend on optional work where several streams share a machine: core time that comes in at an even rate and
/// is spent frame by frame. So a stream that can afford every third synthesised frame makes every third, not a second of all
/// and then none.
///
/// A value; no call allocates.
struct OptionalAllowance: Sendable, BitwiseCopyable {
    /// Core time that is not spent within this time is lost, so that a stream that had nothing to do does not swamp the
    /// others afterwards.
    static let longestSaving = 250e6

    /// Cores, on average; infinite where nobody divides the machine.
    var rate = Double.infinity
    /// Nanoseconds of core time.
    private var balance = 0.0
    private var last: MonotonicTime?

    /// Adds what has come in since the last call.
    mutating func advance(to now: MonotonicTime) {
        defer { last = now }
        guard rate < .infinity, let last else { return }
        balance = min(balance + rate * Double((now - last).count), rate * Self.longestSaving)
    }

    /// Takes core time for a piece of work when half of it has come in: the rest comes in while the next frames are on their
    /// way, so the balance may fall below zero.
    /// - Returns: whether the work may be done.
    mutating func spend(_ work: Double) -> Bool {
        guard rate < .infinity else { return true }
        // What costs more than can be saved up is done when all that can be saved is there.
        guard balance >= min(work / 2, rate * Self.longestSaving) else { return false }
        balance -= work
        return true
    }
}
