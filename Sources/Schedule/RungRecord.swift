import Media

/// How long a stream has been on each rung of the ladder.
public struct RungRecord: Sendable, BitwiseCopyable {
    /// The present rung; nil before the first frame, and while none is planned.
    public private(set) var rung: Rung?
    public private(set) var changes: UInt64 = 0
    private var since = MonotonicTime(nanoseconds: 0)
    private var times = InlineArray<9, Nanoseconds>(repeating: .zero)

    public init() {}

    /// Records that a frame was planned on this rung.
    public mutating func record(_ new: Rung, at now: MonotonicTime) {
        if rung == new { return }
        if let rung {
            changes += 1
            times[rung.index] = times[rung.index] + (now - since)
        }
        rung = new
        since = now
    }

    /// Records that no frame is planned from now on.
    public mutating func end(at now: MonotonicTime) {
        if let rung { times[rung.index] = times[rung.index] + (now - since) }
        rung = nil
    }

    /// How long the stream has been on a rung until `now`.
    public func time(on other: Rung, until now: MonotonicTime) -> Nanoseconds {
        times[other.index] + (other == rung ? now - since : .zero)
    }
}

extension Rung {
    /// All rungs, best first. A stream uses those that its settings allow.
    public static let all: [Rung] =
        Tier.allCases.reversed().map { Rung(tier: $0, synthesises: true, decodesAll: true) }
        + Tier.allCases.reversed().map { Rung(tier: $0, synthesises: false, decodesAll: true) }
        + [Rung(tier: .base, synthesises: false, decodesAll: false)]

    /// The name in reports, such as `neural-m+synthesis` or `base`. On `skipping` the decoder skips frames that no other
    /// refers to.
    public var name: String { decodesAll ? synthesises ? "\(tier.name)+synthesis" : tier.name : "skipping" }

    fileprivate var index: Int { decodesAll ? 1 + 2 * Int(tier.rawValue) + (synthesises ? 1 : 0) : 0 }
}
