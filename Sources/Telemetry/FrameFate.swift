import Schedule

/// How a frame ended. Each frame has exactly one fate.
public enum FrameFate: Hashable, Sendable, BitwiseCopyable {
    /// Encoded and handed to the output.
    case emitted
    /// Handed to the output as it came.
    case bypassed
    case dropped(DropReason)

    /// The name in traces and tables.
    public var name: String {
        switch self {
        case .emitted: "emitted"
        case .bypassed: "bypassed"
        case .dropped(let reason): reason.name
        }
    }

    /// The fate of this name; nil where there is none.
    public init?(name: some StringProtocol) {
        if name == "emitted" {
            self = .emitted
        } else if name == "bypassed" {
            self = .bypassed
        } else {
            guard let reason = DropReason.allCases.first(where: { $0.name == name }) else { return nil }
            self = .dropped(reason)
        }
    }

    /// Whether the frame went out.
    public var isSent: Bool { self == .emitted || self == .bypassed }
}
