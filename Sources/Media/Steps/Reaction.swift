/// A short effect on the pictures that leave, which somebody asked for: small shapes that fly. A pure value: the same one looks the same
/// each time.
public struct Reaction: Hashable, Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        case thumbsUp = "thumbs-up"
        case thumbsDown = "thumbs-down"
        case heart, balloons, rain, confetti, fireworks, lasers
    }

    public var kind: Kind
    /// Where it begins, as a share of the picture's width and height: 0…1.
    public var x: Double
    public var y: Double
    /// How long it lasts.
    public var length: Nanoseconds
    public var begins: MonotonicTime
    /// What makes one differ from another of its kind.
    public var seed: UInt64

    /// No more run at once.
    public static let most = 8
    public static let lengths = 1.0...10.0

    public init(_ kind: Kind, x: Double = 0.5, y: Double = 0.5, length: Nanoseconds, begins: MonotonicTime, seed: UInt64) {
        (self.kind, self.x, self.y, self.length) = (kind, x, y, length)
        (self.begins, self.seed) = (begins, seed)
    }

    public var ends: MonotonicTime { begins + length }
}
