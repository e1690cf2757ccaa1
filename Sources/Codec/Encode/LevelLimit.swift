import Media

/// What the levels of H.264 allow: ITU-T H.264, table A-1.
enum LevelLimit {
    /// A level's macroblocks a second, macroblocks in a picture, and 1000 bits a second.
    private typealias Limit = (macroblocksPerSecond: Int, macroblocks: Int, kilobits: Int)

    private static let limits: [Limit] = [
        (1_485, 99, 64), (3_000, 396, 192), (6_000, 396, 384), (11_880, 396, 768), (11_880, 396, 2_000),
        (19_800, 792, 4_000), (20_250, 1_620, 4_000), (40_500, 1_620, 10_000), (108_000, 3_600, 14_000),
        (216_000, 5_120, 20_000), (245_760, 8_192, 20_000), (245_760, 8_192, 50_000), (522_240, 8_704, 50_000),
        (589_824, 22_080, 135_000), (983_040, 36_864, 240_000), (2_073_600, 36_864, 240_000),
        (4_177_920, 139_264, 240_000), (8_355_840, 139_264, 480_000), (16_711_680, 139_264, 800_000),
    ]

    /// Bits a second of the lowest level that pictures of this size and rate need. The level that an encoder writes into its
    /// headers is this one or a higher one.
    static func maximumRate(of size: PictureSize, frameRate: Rational) -> Int {
        let macroblocks = ((size.width + 15) / 16) * ((size.height + 15) / 16)
        let perSecond = Int((Double(macroblocks) * frameRate.value).rounded(.up))
        let level = limits.first { $0.macroblocks >= macroblocks && $0.macroblocksPerSecond >= perSecond }
        return (level?.kilobits ?? 0) * 1000
    }
}
