import Media

/// One unit of a stream that passes through untouched.
@safe struct PassingUnit: Sendable {
    let buffer: UnitBuffer
    /// So many bytes in the buffer are the header of the PES packet that it came in.
    let headerCount: Int
    /// It may show pictures, which must not go out beside a mask.
    var mayShowPictures = false
    /// Its stream's index among the output's passing streams.
    let stream: Int
    /// The number of the layout that it belongs to.
    let layoutNumber: Int
    /// How calls get it; nil where they do not.
    let forCalls: CallStream.Form?
    let presentation: MediaTime?
    /// How many ticks before it is shown it is to be decoded.
    let reordering: Int64
    /// The epoch of the timeline that may still move, and its presentation time with it; nil when that time is settled.
    let provisionalEpoch: UInt32?
    let arrival: MonotonicTime
    let sourceTime: MonotonicTime?
    /// When it goes out at the latest, even if the picture of its time has not.
    let emitBy: MonotonicTime

    /// The unit's bytes, and the header that it came with. Do not use them after the buffer was recycled.
    @unsafe var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: buffer.bytes[headerCount...]) }
    @unsafe var header: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: buffer.bytes[..<headerCount]) }
}
