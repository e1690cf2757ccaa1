import Media

/// A smaller encode of a call's pictures, as a URL asks for it: `320x180@200k`.
public struct SmallEncode: Hashable, Sendable, CustomStringConvertible {
    /// Pictures are made to fit into it, upright ones into it upright. They keep their shape and are never enlarged.
    public var size: PictureSize
    /// The most bits a second.
    public var bitRate: Int

    /// From 64x64 to 1280x720 samples. Less shows nobody, and more is no smaller encode.
    static let samples = 64 * 64...1280 * 720
    /// 0.1 bit for each sample at 30 pictures a second, as the large encode has.
    private static let usualBits = 3

    public init(size: PictureSize, bitRate: Int) { (self.size, self.bitRate) = (size, bitRate) }

    /// - Parameter text: a size, and the most bits a second behind an `@`. Without it: what such pictures need.
    init?(parsing text: Substring) {
        let (size, rate) = text.splitOnce(at: "@")
        let (first, second) = size.splitOnce(at: "x")
        guard let width = Self.side(first), let height = Self.side(second ?? ""), Self.samples.contains(width * height) else {
            return nil
        }
        self.size = PictureSize(width: width, height: height)
        guard let rate else {
            bitRate = self.size.samples * Self.usualBits / 1000 * 1000
            return
        }
        guard let bits = Endpoint.bitRate(rate), (30_000...5_000_000).contains(bits) else { return nil }
        bitRate = bits
    }

    private static func side(_ text: Substring) -> Int? {
        guard (2...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let side = Int(text),
            side >= 32
        else { return nil }
        return side
    }

    public var description: String { "\(size)@\(bitRateText(bitRate))" }
}
