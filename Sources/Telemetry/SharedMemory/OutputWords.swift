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

    // A leg: whether it is connected, the counters, the gauges.
    private static let gauges = 1 + LegFigures.counters.count
    static let legWords = gauges + 4

    static func write(_ figures: LegFigures, _ words: MappedWords, at start: Int) {
        words.store(figures.isConnected ? 1 : 0, at: start)
        for (index, field) in LegFigures.counters.enumerated() {
            words.store(UInt64(clamping: figures[keyPath: field]), at: start + 1 + index)
        }
        words.store(UInt64(signed: figures.roundTripTime.count), at: start + gauges)
        words.store(UInt64(signed: figures.window.count), at: start + gauges + 1)
        words.store(UInt64(clamping: figures.packetsBuffered), at: start + gauges + 2)
        words.store(UInt64(figures.earlyIngest.rawValue), at: start + gauges + 3)
    }

    static func leg(_ words: inout CheckedWords, at start: Int) -> LegFigures {
        var figures = LegFigures()
        figures.isConnected = words.count(start, upTo: 1) == 1
        for (index, field) in LegFigures.counters.enumerated() {
            figures[keyPath: field] = Int64(words.count(start + 1 + index))
        }
        figures.roundTripTime = words.duration(start + gauges)
        figures.window = words.duration(start + gauges + 1)
        figures.packetsBuffered = Int64(words.count(start + gauges + 2))
        figures.earlyIngest = LegFigures.EarlyIngest(rawValue: UInt8(words.count(start + gauges + 3, upTo: 3))) ?? .unused
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
