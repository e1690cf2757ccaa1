import Media

/// Translates the figures of legs and outputs.
enum OutputWords {
    // An output. Its leg follows.
    static let identity = 0
    static let state = 1
    static let receivers = 2
    static let offered = 3
    static let sent = 4
    static let queued = 5
    static let dropped = 6
    static let leg = 12

    static func start(_ output: Int) -> Int { TelemetryLayout.outputs + output * TelemetryLayout.outputStride }

    // A leg: whether it is connected, early ingest, the callers refused for each reason, and the rows of ``LegFigureTable``.
    private static let refusals = 2
    private static let rows = refusals + RefusalReason.allCases.count
    static let legWords = rows + LegFigureTable.rows.count

    static func write(_ figures: LegFigures, _ words: MappedWords, at start: Int) {
        words.store(figures.isConnected ? 1 : 0, at: start)
        words.store(UInt64(figures.earlyIngest.rawValue), at: start + 1)
        for (index, reason) in RefusalReason.allCases.enumerated() {
            words.store(UInt64(clamping: figures.refusals[reason]), at: start + refusals + index)
        }
        for (index, row) in LegFigureTable.rows.enumerated() {
            let value = figures[index]
            words.store(row.isTime ? UInt64(signed: value) : UInt64(clamping: value), at: start + rows + index)
        }
    }

    static func leg(_ words: inout CheckedWords, at start: Int) -> LegFigures {
        var figures = LegFigures()
        figures.isConnected = words.count(start, upTo: 1) == 1
        figures.earlyIngest = LegFigures.EarlyIngest(rawValue: UInt8(words.count(start + 1, upTo: 3))) ?? .unused
        for (index, reason) in RefusalReason.allCases.enumerated() {
            figures.refusals[reason] = Int64(words.count(start + refusals + index))
        }
        for (index, row) in LegFigureTable.rows.enumerated() {
            let place = start + rows + index
            figures[index] = row.isTime ? words.duration(place).count : Int64(words.count(place))
        }
        return figures
    }

    /// All outputs that the map has.
    static func outputs(_ words: inout CheckedWords) -> [OutputFigures] {
        var outputs: [OutputFigures] = []
        for output in 0..<TelemetryLayout.mostOutputs {
            let start = start(output)
            if words[start + identity] == 0 { break }
            var figures = OutputFigures()
            figures.state = OutputFigures.State(rawValue: UInt8(words.count(start + state, upTo: 2))) ?? .waiting
            figures.receivers = Int64(words.count(start + receivers))
            figures.books.offered = words.count(start + offered)
            figures.books.sent = words.count(start + sent)
            figures.books.queued = words.count(start + queued)
            for reason in OutputDropReason.allCases {
                figures.books[reason] = words.count(start + dropped + Int(reason.rawValue))
            }
            figures.leg = Self.leg(&words, at: start + leg)
            outputs.append(figures)
        }
        return outputs
    }
}
