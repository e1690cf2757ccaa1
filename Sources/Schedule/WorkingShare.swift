import Media

/// How much of its times a stream's work has a processor: where its threads wait for each other's, what they take overstates the cores
/// that they use.
///
/// A value; no call allocates.
struct WorkingShare: Sendable, BitwiseCopyable {
    /// Work waits for at most so much of its times, whatever was measured.
    static let least = 0.5
    private static let memory = 8.0
    /// Less work than this does not tell, in nanoseconds.
    private static let leastWork = 20e6

    /// Part of the times that work takes, 1 where it never waits.
    private(set) var share = 1.0
    /// The core time of the work since the last update, if it never waited.
    private var work = 0.0
    private var last: Nanoseconds?

    /// - Parameter threads: that the work kept busy.
    mutating func add(_ time: Nanoseconds, threads: Double) { work += Double(time.count) * threads }

    /// - Parameter processorTime: of the process since it began. It does other work as well, so the share is rather too high.
    mutating func update(_ processorTime: Nanoseconds) {
        defer { (last, work) = (processorTime, 0) }
        guard let last, processorTime > last, work >= Self.leastWork else { return }
        let had = Double((processorTime - last).count) / work
        share += (min(max(had, Self.least), 1) - share) / Self.memory
    }
}
