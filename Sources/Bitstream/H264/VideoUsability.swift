import Media

/// Reads video usability information (VUI: ITU-T H.264, annex E), as far as it matters before decoding.
struct VideoUsability {
    var color = ColorDescription()
    /// Frames a second.
    var frameRate: Rational?
    /// `max_num_reorder_frames`.
    var reordering: Int?

    init() {}

    init(_ r: inout RBSPReader) {
        color = Self.readColor(&r)
        if r.flag() {
            let unit = r.bits(32)
            let scale = r.bits(32)
            _ = r.bit()
            // Two ticks to a frame (E.2.1).
            frameRate = .stated(Int64(scale), by: 2 * Int64(unit))
        }
        let hasNetworkBuffer = r.flag()
        if hasNetworkBuffer { Self.skipBuffering(&r) }
        let hasCodecBuffer = r.flag()
        if hasCodecBuffer { Self.skipBuffering(&r) }
        if hasNetworkBuffer || hasCodecBuffer { _ = r.bit() }
        _ = r.bit()
        if r.flag() {
            _ = r.bit()
            for _ in 0..<4 { _ = r.unsigned() }
            reordering = r.unsigned()
            _ = r.unsigned()
        }
    }

    /// What stands first: the shape of samples, their colours and their place. HEVC has the same (ITU-T H.265, E.2.1).
    static func readColor(_ r: inout RBSPReader) -> ColorDescription {
        var color = ColorDescription()
        if r.flag() { color.sampleAspectRatio = aspect(&r) }
        if r.flag() { _ = r.bit() }
        if r.flag() {
            _ = r.bits(3)
            color.range = r.flag() ? .full : .limited
            if r.flag() {
                color.primaries = UInt8(r.bits(8))
                color.transfer = UInt8(r.bits(8))
                color.matrix = UInt8(r.bits(8))
            }
        }
        if r.flag() {
            let top = r.unsigned()
            _ = r.unsigned()
            if top < 6 { color.chromaLocation = UInt8(top + 1) }
        }
        return color
    }

    private static func aspect(_ r: inout RBSPReader) -> Rational {
        // Table E-1.
        let known: [(Int64, Int64)] = [
            (0, 1), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33), (18, 11),
            (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
        ]
        let code = r.bits(8)
        if code == 255 {
            let (width, height) = (r.bits(16), r.bits(16))
            return width > 0 && height > 0 ? Rational(Int64(width), Int64(height)) : Rational(0, 1)
        }
        return code < known.count ? Rational(known[code].0, known[code].1) : Rational(0, 1)
    }

    /// hrd_parameters (E.1.2).
    private static func skipBuffering(_ r: inout RBSPReader) {
        let schedules = r.unsigned()
        _ = r.bits(8)
        for _ in 0...min(schedules, 31) {
            _ = r.unsigned()
            _ = r.unsigned()
            _ = r.bit()
        }
        _ = r.bits(20)
    }
}
