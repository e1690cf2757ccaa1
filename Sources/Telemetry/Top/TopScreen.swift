import Media
import Schedule

/// Draws what `burnish top` shows, as lines of text. A pure function of the figures.
public struct TopScreen: Sendable {
    /// In columns and lines. Lines are cut, and the last ones left out, where there is less room than for 80 by 24.
    public var width, height: Int
    /// Whether bold and dim text is marked by the escape sequences of terminals.
    public var isStyled: Bool

    public init(width: Int = 80, height: Int = 24, isStyled: Bool = false) {
        self.width = width
        self.height = height
        self.isStyled = isStyled
    }

    private enum Style: String { case plain = "", bold = "\u{1B}[1m", dim = "\u{1B}[2m", inverse = "\u{1B}[7m" }

    private struct Line {
        var text: String
        var style = Style.plain
    }

    public func lines(_ figures: TopFigures) -> [String] {
        var lines: [Line] = [Line(text: title(figures), style: .bold), Line(text: state(figures)), Line(text: "")]
        lines += latency(figures)
        lines.append(Line(text: ""))
        lines += stages(figures)
        lines.append(Line(text: ""))
        lines += [tiers(figures), drops(figures)].map { Line(text: $0) }
        lines.append(Line(text: leg("input", figures.input)))
        if figures.outputs.count > 1 {
            lines += figures.outputs.enumerated().map {
                Line(text: output($0 + 1, $1), style: $1.unitsBalance ? .plain : .inverse)
            }
        } else {
            lines.append(Line(text: leg("output", figures.output)))
        }
        lines += split("books", figures.books, of: figures).map {
            Line(text: $0, style: figures.booksBalance ? .plain : .inverse)
        }
        lines.append(Line(text: column("units") + figures.units))
        if figures.faults > 0 {
            lines.append(Line(text: column("unread") + "\(figures.faults) values or records", style: .dim))
        }
        return lines.prefix(max(0, height)).map { line in
            let text = String(line.text.prefix(max(0, width)))
            return isStyled && line.style != .plain ? line.style.rawValue + text + "\u{1B}[0m" : text
        }
    }

    // MARK: Parts

    private func title(_ figures: TopFigures) -> String {
        let made = [figures.outputSize, figures.preset].compactMap(\.self).joined(separator: " ")
        let sizes = [figures.inputSize, made.isEmpty ? nil : made].compactMap(\.self).joined(separator: " → ")
        // A name may come from a file's name: it must not command the terminal.
        let name = String(String.UnicodeScalarView(figures.stream.unicodeScalars.filter { !$0.properties.isControl }))
        return ["burnish top: \(name)", sizes, "\(fixed(figures.framesPerSecond)) frames/s"]
            .filter { !$0.isEmpty }.joined(separator: "   ")
    }

    private func state(_ figures: TopFigures) -> String {
        var parts = ["process \(figures.process), \(duration(figures.seconds))"]
        if figures.restarts > 0 { parts.append("\(figures.restarts) \(figures.restarts == 1 ? "restart" : "restarts")") }
        parts.append(figures.rung ?? "no picture enhanced")
        if figures.coresSynthesising > 0 {
            parts.append("needs \(fixed(figures.coresLeast)) to \(fixed(figures.coresSynthesising)) cores")
        }
        if figures.secondsSinceWritten >= 2 { parts.append("NO NEWS for \(duration(figures.secondsSinceWritten))") }
        return parts.joined(separator: "   ")
    }

    private func latency(_ figures: TopFigures) -> [Line] {
        let values = figures.latencySeries.suffix(max(0, width - Self.labelWidth - 14))
        let largest = values.compactMap(\.self).max() ?? 0
        let line = Self.spark(Array(values), largest: largest)
        let quantiles = [("p50", figures.latency.p50), ("p95", figures.latencyP95), ("p99", figures.latency.p99)]
            .map { "\($0.0) \($0.1.map(fixed) ?? "–")" }.joined(separator: "  ")
        return [
            Line(text: column("latency") + line + "  to \(fixed(largest)) ms"),
            Line(text: column("") + "\(quantiles) ms   deadlines missed \(figures.deadlineMisses)"),
        ]
    }

    /// One character for each value, as high as its share of the largest; a space where there is none.
    static func spark(_ values: [Double?], largest: Double) -> String {
        let levels = Array("▁▂▃▄▅▆▇█")
        return String(
            values.map { value in
                guard let value else { return " " }
                guard largest > 0 else { return levels[0] }
                return levels[min(levels.count - 1, Int(value / largest * Double(levels.count)))]
            })
    }

    private func stages(_ figures: TopFigures) -> [Line] {
        let room = max(0, width - Self.stageWidth - 20)
        let largest = figures.stages.compactMap(\.p99).max() ?? 0
        let seconds = Int(TopFigures.window.seconds)
        let head = column("stage", Self.stageWidth) + pad("p50", 9) + pad("p99", 9) + "  ms, last \(seconds) s"
        return [Line(text: head, style: .dim)]
            + figures.stages.map { stage in
                guard let p50 = stage.p50, let p99 = stage.p99 else {
                    return Line(text: column(stage.name, Self.stageWidth) + pad("–", 9) + pad("–", 9))
                }
                let bar = Self.bar(p50, p99, largest: largest, room: room)
                return Line(text: column(stage.name, Self.stageWidth) + pad(fixed(p50), 9) + pad(fixed(p99), 9) + "  " + bar)
            }
    }

    /// Full up to the median, light up to the 99th percentile.
    static func bar(_ p50: Double, _ p99: Double, largest: Double, room: Int) -> String {
        guard largest > 0 else { return "" }
        func cells(_ value: Double) -> Int { Int((value / largest * Double(room)).rounded()) }
        let full = min(max(cells(p50), 0), room)
        let whole = min(max(cells(p99), full), room)
        let text = String(repeating: "█", count: full) + String(repeating: "░", count: whole - full)
        return text.isEmpty && p99 > 0 ? "▏" : text
    }

    private func tiers(_ figures: TopFigures) -> String {
        let shares = Tier.allCases.compactMap { tier in
            figures.tiers[tier.name].map { "\(tier.name) \(Int(($0 * 100).rounded())) %" }
        }
        guard !shares.isEmpty else { return column("tiers") + "–" }
        return column("tiers") + shares.joined(separator: ", ")
            + "   tiles a frame: \(fixed(figures.tilesComputed)) new, \(fixed(figures.tilesReused)) reused"
    }

    private func drops(_ figures: TopFigures) -> String {
        let drops = figures.drops.map { "\($0.reason) \($0.total)" + ($0.lately > 0 ? " (\($0.lately) now)" : "") }
        return column("dropped") + (drops.isEmpty ? "none" : drops.joined(separator: ", "))
    }

    private func leg(_ name: String, _ leg: TopFigures.Leg) -> String {
        var parts = [leg.connected ? "up" : "DOWN", "\(fixed(leg.bitsPerSecond / 1e6)) Mb/s"]
        if leg.roundTripTime > 0 { parts.append("rtt \(fixed(leg.roundTripTime)) ms") }
        parts.append("lost \(leg.packetsLost)" + (leg.packetsLostLately > 0 ? " (\(leg.packetsLostLately) now)" : ""))
        parts.append("again \(leg.packetsRetransmitted)")
        if leg.packetsDropped > 0 { parts.append("dropped \(leg.packetsDropped)") }
        if leg.connections > 1 { parts.append("connection \(leg.connections)") }
        return column(name) + parts.joined(separator: ", ")
    }

    /// One of several outputs.
    private func output(_ number: Int, _ output: TopFigures.Output) -> String {
        var parts = [output.state == "connected" ? "up" : output.state.uppercased()]
        if output.receivers > 1 { parts.append("\(output.receivers) receivers") }
        parts.append("\(fixed(output.link.bitsPerSecond / 1e6)) Mb/s")
        if output.link.roundTripTime > 0 { parts.append("rtt \(fixed(output.link.roundTripTime)) ms") }
        parts.append("units \(output.unitsSent) of \(output.unitsOffered)")
        parts += output.unitsDropped.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        if output.unitsQueued > 0 { parts.append("queued \(output.unitsQueued)") }
        return column("output \(number)") + parts.joined(separator: ", ") + (output.unitsBalance ? "" : "  DO NOT BALANCE")
    }

    /// The two sides of the books on a line each, where one is too narrow.
    private func split(_ name: String, _ books: String, of figures: TopFigures) -> [String] {
        let text = books + (figures.booksBalance ? "" : "  DO NOT BALANCE")
        guard Self.labelWidth + text.count > width, let middle = text.firstRange(of: " = ") else {
            return [column(name) + text]
        }
        return [column(name) + text[..<middle.lowerBound], column("") + "= " + text[middle.upperBound...]]
    }

    // MARK: Text

    private static let labelWidth = 10
    private static let stageWidth = 21

    private func column(_ label: String, _ width: Int = labelWidth) -> String {
        label + String(repeating: " ", count: max(0, width - label.count))
    }

    private func pad(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private func fixed(_ value: Double) -> String {
        let tenths = Int(min(max(value, 0), 1e12) * 10 + 0.5)
        return "\(tenths / 10).\(tenths % 10)"
    }

    private func duration(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 1e9))
        func two(_ n: Int) -> String { n < 10 ? "0\(n)" : "\(n)" }
        if whole < 60 { return "\(whole) s" }
        return whole < 3600
            ? "\(whole / 60):\(two(whole % 60))" : "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))"
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isControl: Bool { generalCategory == .control || generalCategory == .format }
}
