import Media
import Schedule

/// The books of one stream: `in + synthesised + repeated = emitted + bypassed + dropped + in flight`.
///
/// Every term is counted where its event happens and none is computed from the others. So a difference shows a defect.
///
/// A value. To add a drop reason, see ``DropReason``.
public struct Books: Sendable {
    public internal(set) var originals: UInt64 = 0
    public internal(set) var synthesised: UInt64 = 0
    public internal(set) var repeated: UInt64 = 0
    public internal(set) var emitted: UInt64 = 0
    /// Originals that went out as they came.
    public internal(set) var bypassed: UInt64 = 0
    public internal(set) var inFlight: UInt64 = 0
    /// One count for each raw value of ``DropReason``. The arrays are inline, so that a copy of the books does not allocate.
    /// Their length must be the number of reasons.
    private var droppedByReason: InlineArray<11, UInt64> = .init(repeating: 0)
    private var originalsDroppedByReason: InlineArray<11, UInt64> = .init(repeating: 0)

    init() {
        precondition(
            droppedByReason.count == DropReason.allCases.count
                && originalsDroppedByReason.count == DropReason.allCases.count,
            "set the length of the arrays in Books to the number of drop reasons")
    }

    mutating func drop(_ kind: FrameKind, _ reason: DropReason, _ n: UInt64 = 1) {
        droppedByReason[Int(reason.rawValue)] += n
        if kind == .original { originalsDroppedByReason[Int(reason.rawValue)] += n }
    }

    /// Frames of all kinds that were dropped for a reason.
    public subscript(reason: DropReason) -> UInt64 { droppedByReason[Int(reason.rawValue)] }

    /// Originals that were dropped for a reason. A viewer misses these; where a synthesised frame is missing, the viewer sees
    /// the source's own rate.
    public func originalsDropped(_ reason: DropReason) -> UInt64 { originalsDroppedByReason[Int(reason.rawValue)] }

    /// All frames that were dropped, and how many of them were originals.
    public var dropped: UInt64 { DropReason.allCases.reduce(0) { $0 + self[$1] } }
    public var originalsDropped: UInt64 { DropReason.allCases.reduce(0) { $0 + originalsDropped($1) } }

    public var balance: Bool { originals + synthesised + repeated == emitted + bypassed + dropped + inFlight }
}

extension Books: CustomStringConvertible {
    public var description: String {
        let reasons = DropReason.allCases.filter { self[$0] > 0 }.map { "\($0.name) \(self[$0])" }
        let details = reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))"
        return "in \(originals) + synthesised \(synthesised) + repeated \(repeated)"
            + " = emitted \(emitted)\(bypassed > 0 ? " + bypassed \(bypassed)" : "") + dropped \(dropped)\(details) + in flight \(inFlight)"
    }
}
