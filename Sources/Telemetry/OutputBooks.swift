/// Why an output, or one of its readers, did not get a coded unit. A closed list.
public enum OutputDropReason: UInt8, Sendable, CaseIterable {
    /// Nobody was connected.
    case notConnected
    /// The output accepted a part of the unit or nothing of it: its buffer is full, or the connection ended.
    case refused
    /// It has come just now, or missed a part of an earlier unit, and cannot decode before the next keyframe.
    case awaitsKeyframe
    /// It waited for its turn in a process that was killed.
    case shutdown

    /// As metrics and reports have it.
    public var name: String {
        switch self {
        case .notConnected: "not_connected"
        case .refused: "refused"
        case .awaitsKeyframe: "awaits_keyframe"
        case .shutdown: "shutdown"
        }
    }
}

/// The books of one output over its coded units of video: `offered = sent + dropped + queued`.
///
/// Every term is counted where its event happens. So a difference shows a defect. A unit counts once for each reader of an
/// output that has several, and once where nobody is connected.
public struct OutputBooks: Sendable, Equatable {
    /// Units that were delivered to the output.
    public var offered: UInt64 = 0
    /// Units that were sent whole.
    public var sent: UInt64 = 0
    /// Units that wait for their turn.
    public var queued: UInt64 = 0
    /// By the raw value of the reason.
    private var droppedByReason: InlineArray<4, UInt64> = .init(repeating: 0)

    public init() {}

    /// Units that were not sent whole.
    public subscript(reason: OutputDropReason) -> UInt64 {
        get { droppedByReason[Int(reason.rawValue)] }
        set { droppedByReason[Int(reason.rawValue)] = newValue }
    }

    public var dropped: UInt64 { OutputDropReason.allCases.reduce(0) { $0 + self[$1] } }

    public var balance: Bool { offered == sent + dropped + queued }

    public static func == (a: OutputBooks, b: OutputBooks) -> Bool {
        a.offered == b.offered && a.sent == b.sent && a.queued == b.queued
            && OutputDropReason.allCases.allSatisfy { a[$0] == b[$0] }
    }
}

/// Keeps the books of a stream's outputs in this process, and in the stream's telemetry map.
///
/// A value that one thread at a time uses.
public struct OutputLedger: Sendable {
    /// In the order of the outputs.
    public private(set) var books: [OutputBooks]
    private let map: TelemetryMap.Writer?

    /// - Parameters:
    ///   - outputs: a number for each output that tells it from others. The map's books go on where the number is the same.
    ///   - map: where other processes read the books; nil where none do.
    public init(outputs: [UInt64] = [1], map: TelemetryMap.Writer? = nil) {
        books = Array(repeating: OutputBooks(), count: outputs.count)
        self.map = map
        map?.begin(outputs: outputs)
    }

    public mutating func countOffered(_ output: Int) {
        books[output].offered += 1
        map?.countOffered(output)
    }

    public mutating func countSent(_ output: Int) {
        books[output].sent += 1
        map?.countSent(output)
    }

    public mutating func countDropped(_ output: Int, _ reason: OutputDropReason) {
        books[output][reason] += 1
        map?.countDropped(output, reason)
    }

    /// How many units wait now for their turn at every output.
    public mutating func setQueued(_ n: Int) {
        for output in books.indices { books[output].queued = UInt64(n) }
        map?.setQueued(n, outputs: books.count)
    }
}
