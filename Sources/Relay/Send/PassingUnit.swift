import Media

/// One unit of a stream that passes through untouched.
struct PassingUnit: Sendable {
    let buffer: UnitBuffer
    /// Which of the output's passed streams it belongs to.
    let stream: Int
    /// The number of the layout that it belongs to.
    let layoutNumber: Int
    let presentation: MediaTime?
    /// The epoch of the time line that may still be moved under its presentation time; nil when that is settled.
    let provisionalEpoch: UInt32?
    let arrival: MonotonicTime
    let sourceTime: MonotonicTime?
    /// When it goes out at the latest, though the picture of its time has not.
    let emitBy: MonotonicTime
}
