/// How many bits a second there were in the last half second. A pure value; times are nanoseconds of any clock.
struct RateWindow: Sendable {
    private static let step: Int64 = 25_000_000
    private static let steps = 20
    /// Fewer steps say nothing.
    private static let fewest: Int64 = 4

    private var bits: [20 of Int64] = .init(repeating: 0)
    private var newest: Int64?
    private var first: Int64 = 0

    /// What is older than the window is left out.
    mutating func record(bytes: Int, at time: Int64) {
        let now = time / Self.step
        if let newest, now > newest, now - newest < Self.steps {
            for step in newest + 1...now { bits[Self.place(of: step)] = 0 }
            self.newest = now
        } else if newest.map({ abs(now - $0) >= Self.steps }) ?? true {
            // Nothing has come for longer, or the clock was set.
            bits = .init(repeating: 0)
            (newest, first) = (now, now)
        }
        bits[Self.place(of: now)] += Int64(bytes) * 8
    }

    private static func place(of step: Int64) -> Int { Int(((step % Int64(steps)) + Int64(steps)) % Int64(steps)) }

    /// Up to the newest record; nil before enough is known.
    var bitRate: Double? {
        guard let newest, newest - first >= Self.fewest else { return nil }
        var sum: Int64 = 0
        for place in 0..<Self.steps { sum += bits[place] }
        return Double(sum) * 1e9 / Double(min(Int64(Self.steps), newest - first + 1) * Self.step)
    }
}
