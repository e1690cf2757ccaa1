/// A leg's figures at one moment: those of ``LegFigureTable``, each under its name there, and what is no number. The last 20 ms of a
/// connection that broke may be missing.
@dynamicMemberLookup public struct LegFigures: Sendable, BitwiseCopyable {
    private var values = InlineArray<32, Int64>(repeating: 0)
    public var isConnected = false
    /// Callers that a listening SRT leg refused. What is refused before it is known which leg is meant counts on the port's oldest leg.
    public var refusals = RefusalCounts()
    public var earlyIngest = EarlyIngest.unused

    // What only the sending side looks at.
    /// Output: from the oldest packet that is not yet acknowledged to the newest.
    public var timeBuffered = Nanoseconds.zero
    /// False where the protocol did not say just now what it has buffered.
    public package(set) var knowsBuffered = true
    /// All packets of the peer that are counted: data, acknowledgements and loss reports.
    package var packetsFromPeer: Int64 = 0

    /// Whether this process sees what libsrt receives, without which nothing of an SRT input can be read early.
    public enum EarlyIngest: UInt8, Sendable, CaseIterable, BitwiseCopyable {
        /// Nobody wants that.
        case unused
        /// Assumed. The proof at the start has not ended, or there is no loopback for it.
        case unproven
        case proven
        /// It does not: SRT's own delay holds.
        case failed

        /// As metrics and reports have it.
        public var name: String { "\(self)" }
    }

    public init() {}

    /// Nothing is known.
    package static var unknown: LegFigures {
        var figures = LegFigures()
        figures.knowsBuffered = false
        return figures
    }

    public subscript(dynamicMember figure: KeyPath<LegFigureTable, LegFigure<Int64>>) -> Int64 {
        get { values[Self.place(figure)] }
        set { values[Self.place(figure)] = newValue }
    }

    public subscript(dynamicMember figure: KeyPath<LegFigureTable, LegFigure<Nanoseconds>>) -> Nanoseconds {
        get { Nanoseconds(values[Self.place(figure)]) }
        set { values[Self.place(figure)] = newValue.count }
    }

    /// The figure of a place in ``LegFigureTable/rows``; of times, the nanoseconds.
    public subscript(place: Int) -> Int64 {
        get { values[place] }
        set { values[place] = newValue }
    }

    /// All lines of the table are alike in memory.
    private static func place(_ figure: PartialKeyPath<LegFigureTable>) -> Int {
        MemoryLayout<LegFigureTable>.offset(of: figure)! / MemoryLayout<LegFigure<Int64>>.stride
    }

    /// Adds what other connections of this leg have counted.
    package mutating func addCounters(of others: LegFigures) {
        for (place, row) in LegFigureTable.rows.enumerated() where row.kind == .ofConnections {
            values[place] += others.values[place]
        }
    }

    /// Takes in the gauges of another connection that is there now: of times the largest one, of numbers the sum.
    package mutating func addGauges(of other: LegFigures) {
        for (place, row) in LegFigureTable.rows.enumerated() where row.kind == .gauge {
            values[place] = row.isTime ? max(values[place], other.values[place]) : values[place] + other.values[place]
        }
    }

    /// These figures, with totals that go on from those of an earlier leg in this place.
    package func adding(totalsOf earlier: LegFigures) -> LegFigures {
        var sum = self
        for (place, row) in LegFigureTable.rows.enumerated() where row.kind != .gauge {
            sum.values[place] &+= earlier.values[place]
        }
        for reason in RefusalReason.allCases { sum.refusals[reason] &+= earlier.refusals[reason] }
        return sum
    }
}

extension LegFigures: Hashable {
    public static func == (a: Self, b: Self) -> Bool {
        a.values.indices.allSatisfy { a.values[$0] == b.values[$0] } && a.others == b.others
    }

    public func hash(into hasher: inout Hasher) {
        for place in values.indices { hasher.combine(values[place]) }
        hasher.combine(others)
    }

    private struct Others: Hashable {
        var isConnected: Bool
        var refusals: RefusalCounts
        var earlyIngest: EarlyIngest
        var timeBuffered: Nanoseconds
        var knowsBuffered: Bool
        var packetsFromPeer: Int64
    }

    private var others: Others {
        Others(
            isConnected: isConnected, refusals: refusals, earlyIngest: earlyIngest, timeBuffered: timeBuffered,
            knowsBuffered: knowsBuffered, packetsFromPeer: packetsFromPeer)
    }
}

/// The figures of the table that are not zero, each under its name: what a worker says of a caller.
extension LegFigures: Codable {
    public init(from decoder: any Decoder) throws {
        let known = try [String: Int64](from: decoder)
        for (place, row) in LegFigureTable.rows.enumerated() { values[place] = max(0, known[row.name] ?? 0) }
    }

    public func encode(to encoder: any Encoder) throws {
        var known: [String: Int64] = [:]
        for (place, row) in LegFigureTable.rows.enumerated() where values[place] != 0 { known[row.name] = values[place] }
        try known.encode(to: encoder)
    }
}
