import Media
import Telemetry

/// When pictures are due that the decoder gives only because it was told that no more units come. Their own deadlines count from
/// the arrival of their units. The decoder had to wait for units that never came, so those deadlines may have passed.
///
/// The first one is due one budget after the decoder was told, the others in the steps of their presentation times. A later
/// deadline of its own stays.
///
/// A pure value.
struct DrainedDeadlines {
    private let first: MonotonicTime
    private var firstPresentation: MediaTime?

    /// Longer steps are jumps of the time line.
    private static let longestStep = MediaTime.ticksPerSecond

    /// - Parameter drained: when the decoder was told.
    init(drained: MonotonicTime, budget: Nanoseconds) { first = drained + budget }

    /// Call for each picture, in the order in which they are shown.
    mutating func settle(_ record: inout FrameRecord) {
        let origin = firstPresentation ?? record.presentation
        firstPresentation = origin
        let step = min(max(0, record.presentation - origin), Self.longestStep)
        let emitBy = first + MediaTime(ticks: step).nanoseconds
        guard let own = record.deadline, own < emitBy else { return }
        record.deadline = emitBy
        record.isLateUnit = true
    }
}
