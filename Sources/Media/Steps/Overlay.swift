/// Images and lines of text that stand on the pictures that leave. What comes later in the list stands on top.
public struct Overlay: Hashable, Sendable {
    public var items: [Item]
    /// What the items show, once files have been read. Nil before that. Then nothing is shown.
    public var material: OverlayMaterial?

    /// So many items are the most.
    public static let mostItems = 8

    public init(_ items: [Item]) { self.items = items }

    /// One thing that is shown.
    public struct Item: Hashable, Sendable {
        /// How far it lies from the left or the right side.
        public var x: Distance
        /// How far it lies from the upper or the lower side.
        public var y: Distance
        /// Its height in per cent of the picture's.
        public var size: Double
        /// 0 is not to be seen, 1 hides what is below.
        public var opacity = 1.0
        /// The seconds of the overlay in which it is shown: live since it was set, in files since their beginning.
        public var from = 0.0
        public var until: Double?
        /// Of text.
        public var color = PrivacyMask.FillColor(red: 255, green: 255, blue: 255)
        /// How dark the box behind text is, from 0 (none) to 1.
        public var box = 0.5
        public var content: Content

        public init(x: Distance, y: Distance, size: Double? = nil, _ content: Content) {
            (self.x, self.y, self.content) = (x, y, content)
            self.size = size ?? content.usualSize
        }

        /// Whether it is shown at a time in seconds.
        public func isShown(at time: Double) -> Bool { time >= from && time < until ?? .infinity }
    }

    /// From one side of the picture, in per cent of its width or height.
    public struct Distance: Hashable, Sendable {
        public var share: Double
        /// Whether it counts from the right or the lower side.
        public var isFromEnd: Bool

        public init(_ share: Double, isFromEnd: Bool = false) { (self.share, self.isFromEnd) = (share, isFromEnd) }

        /// Where something begins, in samples.
        public func place(_ length: Int, in all: Int) -> Int {
            let distance = Int((Double(all) * share / 100).rounded())
            return isFromEnd ? all - distance - length : distance
        }
    }

    public enum Content: Hashable, Sendable {
        /// The path of a PNG file.
        case image(String)
        case text(OverlayText)

        var usualSize: Double {
            switch self {
            case .image: 10
            case .text: 5
            }
        }
    }

    /// The paths of the images, each once.
    public var images: [String] {
        var paths: [String] = []
        for case .image(let path) in items.map(\.content) where !paths.contains(path) { paths.append(path) }
        return paths
    }

    /// Whether it needs a font.
    public var hasText: Bool { items.contains { if case .text = $0.content { true } else { false } } }

    /// The file of the usual font, in Debian's package fonts-dejavu-core.
    public static let usualFont = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
}

/// What an overlay shows: images and glyphs in memory. Two are the same where one reading of the files has given both.
public final class OverlayMaterial: Hashable, Sendable {
    /// By their paths.
    public let images: [String: OverlayImage]
    public let font: (any GlyphSource)?
    /// The name that `{stream}` shows.
    public let stream: String
    /// When it was made: times of items count from there in live streams.
    public let made = MonotonicTime.now()

    public init(images: [String: OverlayImage] = [:], font: (any GlyphSource)? = nil, stream: String = "") {
        (self.images, self.font, self.stream) = (images, font, stream)
    }

    /// The same for a stream of another name.
    public func named(_ stream: String) -> OverlayMaterial { OverlayMaterial(images: images, font: font, stream: stream) }

    public static func == (a: OverlayMaterial, b: OverlayMaterial) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// An image with transparency.
public struct OverlayImage: Sendable {
    public let size: PictureSize
    /// Red, green, blue and opacity of each sample, row by row, without gaps.
    public let samples: [UInt8]

    public init(size: PictureSize, samples: [UInt8]) {
        precondition(samples.count == 4 * size.samples, "an image has four bytes for each sample")
        (self.size, self.samples) = (size, samples)
    }
}

/// Draws the glyphs of a font. Thread-safe.
public protocol GlyphSource: AnyObject, Sendable {
    /// Draws some glyphs. It may take milliseconds.
    /// - Parameters:
    ///   - scalars: of Unicode. What the font lacks gets its sign for that.
    ///   - height: of a line in samples, at least 1.
    ///   - shape: the width of a sample in its heights.
    func glyphs(of scalars: Set<UInt32>, height: Int, shape: Double) -> GlyphSet
}

/// Glyphs of one size.
public struct GlyphSet: Sendable {
    public struct Glyph: Hashable, Sendable {
        public var width: Int
        public var height: Int
        /// From the pen to its first column.
        public var left: Int
        /// From the base line up to its first row.
        public var top: Int
        /// From the pen to the next glyph's.
        public var advance: Int
        /// Of its first sample in ``GlyphSet/coverage``.
        public var start: Int

        public init(width: Int, height: Int, left: Int, top: Int, advance: Int, start: Int) {
            (self.width, self.height, self.left, self.top) = (width, height, left, top)
            (self.advance, self.start) = (advance, start)
        }
    }

    /// From the upper side of a line to its base line.
    public var ascent: Int
    public var glyphs: [UInt32: Glyph] = [:]
    /// How much of each sample is covered, row by row, glyph by glyph.
    public var coverage: [UInt8] = []

    public init(ascent: Int) { self.ascent = ascent }
}
