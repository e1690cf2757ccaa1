import Media

/// Measures how many bits a second the source's pictures have, by the source's own times.
///
/// Keyframes make one second differ from the next, so the last four seconds count together. A pure value; allocates nothing.
struct InputRate {
    private static let second = MediaTime.ticksPerSecond
    private static let seconds = 4
    /// What lies further back is another clock; less than that is the order of decoding, guessed.
    private static let longestStepBack = second / 2
    /// A longer time between two pictures is a gap, whose bits nobody knows.
    private static let longestStep = 4 * second
    /// A mean that differs by less, as a share, is no other rate.
    private static let tolerance = 0.1

    private var bits = InlineArray<4, Double>(repeating: 0)
    private var completed = 0
    private var present = 0.0
    private var began: MediaTime?
    private var last = MediaTime(ticks: 0)
    /// Bits a second; nil while too little is known.
    private(set) var rate: Int?

    init() {}

    /// - Parameter time: when the source wants the picture decoded, or else shown.
    /// - Returns: whether the rate is another one now.
    mutating func observe(bytes: Int, at time: MediaTime) -> Bool {
        defer { last = time }
        guard let began, time - last >= -Self.longestStepBack, time - began <= Self.longestStep else {
            (self.began, present) = (time, Double(8 * bytes))
            return false
        }
        defer { present += Double(8 * bytes) }
        let step = time - began
        guard step >= Self.second else { return false }
        bits[completed % Self.seconds] = present * Double(Self.second) / Double(step)
        completed += 1
        (self.began, present) = (time, 0)
        return follow()
    }

    private mutating func follow() -> Bool {
        let known = min(completed, Self.seconds)
        var sum = 0.0
        for index in 0..<known { sum += bits[index] }
        let mean = sum / Double(known)
        if let rate, abs(mean - Double(rate)) <= Self.tolerance * Double(rate) { return false }
        rate = max(1, Int(min(mean, 1e12)))
        return true
    }
}
