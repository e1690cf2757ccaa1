import Media

/// A sequence header (AV1 specification, 5.5): the size, the rate, the colours, and what frame headers depend on.
struct AV1Sequence: Sendable {
    private(set) var parameters: VideoParameters
    let isStill: Bool
    private(set) var hasDecoderModel = false
    private(set) var hasEqualIntervals = false
    private(set) var removalTimeBits = 0
    private(set) var presentationTimeBits = 0
    /// Of each operating point: which layers it has, and whether it has a decoder model.
    private(set) var operatingPoints: [(layers: Int, hasModel: Bool)] = []
    let widthBits: Int
    let heightBits: Int
    private(set) var frameIDBits = 0
    private(set) var frameIDDeltaBits = 0
    let hasLargeBlocks: Bool
    private(set) var hasMotionFields = false
    /// 2 where each frame chooses.
    private(set) var screenTools = 2
    private(set) var integerMotion = 2
    private(set) var orderBits = 0
    let hasSuperResolution: Bool

    /// - Parameter payload: of the unit; any bytes at all.
    init(_ payload: UnsafeRawBufferPointer) throws(BitstreamFault) {
        var r = unsafe RBSPReader(payload, headerBytes: 0, hasPrevention: false)
        let profile = r.bits(3)
        guard profile <= 2 else { throw .invalid(field: "seq_profile") }
        r.skip(1)
        isStill = r.flag()
        var rate: Rational?
        if isStill {
            operatingPoints = [(0, false)]
            r.skip(5)
        } else {
            (rate, operatingPoints) = (nil, [])
            Self.readTiming(
                &r, &rate, &self.hasDecoderModel, &hasEqualIntervals, &removalTimeBits, &presentationTimeBits, &operatingPoints)
        }
        widthBits = r.bits(4) + 1
        heightBits = r.bits(4) + 1
        let (width, height) = (r.bits(widthBits) + 1, r.bits(heightBits) + 1)
        parameters = try VideoParameters(codec: .av1, size: VideoParameters.checked(width: width, height: height))
        parameters.frameRate = rate
        parameters.profile = UInt16(profile)
        // A unit shows at most one picture, as soon as it is decoded.
        parameters.reordering = 0
        if !isStill, r.flag() {
            frameIDDeltaBits = r.bits(4) + 2
            frameIDBits = r.bits(3) + frameIDDeltaBits + 1
        }
        hasLargeBlocks = r.flag()
        r.skip(2)
        if !isStill {
            r.skip(4)
            let hasOrder = r.flag()
            if hasOrder {
                r.skip(1)
                hasMotionFields = r.flag()
            }
            screenTools = r.flag() ? 2 : r.bit()
            integerMotion = screenTools == 0 || r.flag() ? 2 : r.bit()
            if hasOrder { orderBits = r.bits(3) + 1 }
        }
        hasSuperResolution = r.flag()
        r.skip(2)
        Self.readColor(&r, profile, &parameters)
        guard !r.isExhausted else { throw .truncated }
    }

    private static func readTiming(
        _ r: inout RBSPReader, _ rate: inout Rational?, _ hasModel: inout Bool, _ hasEqual: inout Bool,
        _ removalBits: inout Int, _ presentationBits: inout Int, _ points: inout [(layers: Int, hasModel: Bool)]
    ) {
        var delayBits = 0
        if r.flag() {
            let (unit, scale) = (Int64(r.bits(32)), Int64(r.bits(32)))
            hasEqual = r.flag()
            let ticks = hasEqual ? Int64(r.unsigned()) + 1 : 1
            if hasEqual, ticks < 1 << 20 { rate = .stated(scale, by: unit * ticks) }
            hasModel = r.flag()
            if hasModel {
                delayBits = r.bits(5) + 1
                r.skip(32)
                removalBits = r.bits(5) + 1
                presentationBits = r.bits(5) + 1
            }
        }
        let hasDelay = r.flag()
        for _ in 0...r.bits(5) {
            let layers = r.bits(12)
            if r.bits(5) > 7 { r.skip(1) }
            let has = hasModel && r.flag()
            if has { r.skip(2 * delayBits + 1) }
            points.append((layers, has))
            if hasDelay, r.flag() { r.skip(4) }
        }
    }

    /// color_config (5.5.2).
    private static func readColor(_ r: inout RBSPReader, _ profile: Int, _ known: inout VideoParameters) {
        let isHigh = r.flag()
        known.bitDepth = isHigh ? (profile == 2 && r.flag() ? 12 : 10) : 8
        let isGrey = profile != 1 && r.flag()
        if r.flag() {
            known.color.primaries = UInt8(r.bits(8))
            known.color.transfer = UInt8(r.bits(8))
            known.color.matrix = UInt8(r.bits(8))
        }
        if !isGrey, known.color.primaries == 1, known.color.transfer == 13, known.color.matrix == 0 {
            known.color.range = .full
            known.chromaFormat = 3
            return
        }
        known.color.range = r.flag() ? .full : .limited
        if isGrey {
            known.chromaFormat = 0
        } else if profile == 2, known.bitDepth == 12 {
            known.chromaFormat = r.flag() ? (r.flag() ? 1 : 2) : 3
        } else {
            known.chromaFormat = [1, 3, 2][profile]
        }
        // 1: between two luma samples, as in H.264; 2: at one.
        if known.chromaFormat == 1 { known.color.chromaLocation = [0, 1, 3, 0][r.bits(2)] }
    }
}
