import Media

/// Extends 33-bit time stamps to 64 bits. All streams of a program share one, so that their offsets to each other
/// survive a wrap that falls between their first stamps.
struct StampUnwrapper {
    private static let bits: Int64 = 33
    private var newest: Int64?

    /// The stamp nearest to the last one that has these low 33 bits.
    mutating func unwrap(_ raw: Int64) -> MediaTime {
        guard let newest else {
            self.newest = raw
            return MediaTime(ticks: raw)
        }
        let shift = 64 - Self.bits
        let step = ((raw &- newest) << shift) >> shift
        self.newest = newest + step
        return MediaTime(ticks: newest + step)
    }
}
