import Media

/// A link in virtual time: a queue in front of a bottleneck whose capacity changes, and a way of constant length.
struct SimulatedLink {
    /// Bits a second, of the time since the link began.
    var capacity: (Nanoseconds) -> Double
    /// What the queue takes; a packet that would wait for longer is lost.
    var longestQueue = Nanoseconds.milliseconds(500)
    var delay = Nanoseconds.milliseconds(20)
    /// Packets that are lost whatever waits, 0…1.
    var loss = 0.0
    /// The most that a packet is held up behind the queue, without overtaking.
    var jitter = Nanoseconds.zero
    var random = SplitMix64(seed: 1)

    private var start: MonotonicTime?
    private var isFreeAt = MonotonicTime(nanoseconds: 0)
    private var lastArrival = MonotonicTime(nanoseconds: 0)

    init(_ capacity: @escaping (Nanoseconds) -> Double) { self.capacity = capacity }

    /// The capacity holds for steps of this length.
    private static let step = Nanoseconds.milliseconds(5)

    /// - Returns: when the packet arrives, and how long it waited before it was sent; nil where it is lost.
    mutating func send(bytes: Int, at now: MonotonicTime) -> (arrival: MonotonicTime, wait: Nanoseconds)? {
        let start = start ?? now
        self.start = start
        var time = max(now, isFreeAt)
        let wait = time - now
        if wait > longestQueue { return nil }
        var bits = Double(bytes * 8)
        while bits > 0 {
            let left = Self.step - Nanoseconds((time - start).count % Self.step.count)
            let rate = capacity(time - start)
            if rate * left.seconds >= bits {
                time = time + .seconds(bits / rate)
                bits = 0
            } else {
                bits -= rate * left.seconds
                time = time + left
            }
        }
        isFreeAt = time
        if random.unit() < loss { return nil }
        let arrival = time + delay + .seconds(jitter.seconds * random.unit())
        lastArrival = max(arrival, lastArrival)
        return (lastArrival, wait)
    }
}
