import Endpoint
import Media

/// What the one more encode of a call is, beside that of the enhanced pictures: a smaller one in H.264 for viewers whose link carries
/// nothing else, one in VP8 for programs that show no H.264, or one in constrained baseline for those that show no other H.264. There is
/// at most one.
struct ExtraEncoding: Hashable, Sendable {
    /// The numbers are bits of a set.
    enum Codec: UInt8, Sendable {
        /// The smaller one.
        case h264 = 1
        case vp8 = 2
        case baseline = 4

        /// For people.
        var name: String {
            switch self {
            case .h264: "smaller"
            case .vp8: "VP8"
            case .baseline: "constrained baseline"
            }
        }
    }

    var codec: Codec
    /// Pictures are made to fit into it; nil: they keep the size in which they came.
    var box: PictureSize?
    /// The most bits a second; nil: what such pictures need.
    var mostBits: Int?

    /// Larger pictures in VP8 would take a core that other viewers' pictures may need.
    static let vp8Box = PictureSize(width: 640, height: 360)
    /// The largest pictures of level 3.1 at 30 a second, which programs name that show this profile alone.
    static let baselineBox = PictureSize(width: 1280, height: 720)

    /// Each picture needs so many bits for each sample. With fewer, fewer pictures are encoded.
    static let leastBits = 0.045
    /// What pictures need, at 30 a second: 0.1 bit for each sample, as the encode of the enhanced ones has.
    private static let usualBits = 3
    /// The lowest rate, as a share of the highest. Viewers of all but the smaller one have nothing else.
    private var leastShare: Int { codec == .h264 ? 3 : 8 }
    private static let leastRate = 48_000

    /// The size of a picture in this encode: of the same shape, even, and no larger.
    func size(of picture: PictureSize) -> PictureSize {
        guard let box else { return Self.even(picture) }
        let isUpright = picture.height > picture.width
        let (long, short) = (max(box.width, box.height), min(box.width, box.height))
        let (width, height) = isUpright ? (short, long) : (long, short)
        let factor = min(1, Double(width) / Double(picture.width), Double(height) / Double(picture.height))
        func side(_ side: Int) -> Int { max(16, Int((Double(side) * factor / 2).rounded()) * 2) }
        return factor < 1
            ? PictureSize(width: side(picture.width), height: side(picture.height)) : Self.even(picture)
    }

    private static func even(_ size: PictureSize) -> PictureSize {
        PictureSize(width: max(16, size.width & ~1), height: max(16, size.height & ~1))
    }

    /// The bits a second that pictures of a size may have.
    func rates(of size: PictureSize) -> ClosedRange<Int> {
        let most = max(Self.leastRate, mostBits ?? size.samples * Self.usualBits)
        return max(Self.leastRate, most / leastShare)...most
    }
}

/// Which originals go into the encode: all, or where there are few bits every second, third or fourth one, so that each picture can
/// show something.
///
/// A pure value.
struct ExtraPace {
    /// Every so manieth picture is encoded.
    private(set) var divisor = 1
    private var count = 0
    private static let most = 4
    /// So much more than needed is there before more pictures are encoded, so that the pace does not change to and fro.
    private static let room = 1.4

    init() {}

    /// Whether the next picture is encoded.
    /// - Parameters:
    ///   - rate: originals a second.
    ///   - bits: a second, for all pictures.
    mutating func takes(_ size: PictureSize, rate: Double, bits: Int) -> Bool {
        let needed = ExtraEncoding.leastBits * Double(size.samples) * rate
        func carries(_ divisor: Int, _ room: Double) -> Bool { Double(bits) * Double(divisor) >= needed * room }
        if !carries(divisor, 1) {
            while divisor < Self.most, !carries(divisor, 1) { divisor += 1 }
        } else if divisor > 1, carries(divisor - 1, Self.room) {
            divisor -= 1
        }
        count += 1
        guard count >= divisor else { return false }
        count = 0
        return true
    }
}
