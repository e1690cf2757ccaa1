import Media

/// Where a stream has stood on the ladder, and for how long: what each sacrifice has come to.
public struct RungRecord: Sendable, BitwiseCopyable {
    /// The present one; nil before the first frame.
    public private(set) var rung: Rung?
    public private(set) var changes: UInt64 = 0
    private var since = MonotonicTime(nanoseconds: 0)
    private var times = InlineArray<7, Nanoseconds>(repeating: .zero)

    public init() {}

    /// A frame was planned on this rung.
    public mutating func record(_ new: Rung, at now: MonotonicTime) {
        if rung == new { return }
        if let rung {
            changes += 1
            times[rung.index] = times[rung.index] + (now - since)
        }
        rung = new
        since = now
    }

    /// How long the stream has stood on a rung until now.
    public func time(on other: Rung, until now: MonotonicTime) -> Nanoseconds {
        times[other.index] + (other == rung ? now - since : .zero)
    }
}

extension Rung {
    /// All that there can be, best first. A stream uses those that its settings allow.
    public static let all: [Rung] =
        Tier.allCases.reversed().map { Rung(tier: $0, synthesises: true, decodesAll: true) }
        + Tier.allCases.reversed().map { Rung(tier: $0, synthesises: false, decodesAll: true) }
        + [Rung(tier: .base, synthesises: false, decodesAll: false)]

    /// Its name in reports: `neural-m+synthesis`, `base`, `skipping` (frames that no other refers to).
    public var name: String { decodesAll ? synthesises ? "\(tier.name)+synthesis" : tier.name : "skipping" }

    fileprivate var index: Int { decodesAll ? 1 + 2 * Int(tier.rawValue) + (synthesises ? 1 : 0) : 0 }
}
