import Control
import Media
import Telemetry

/// Writes the metrics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0.0.
struct Exposition {
    enum Format: Sendable {
        case text, openMetrics

        /// OpenMetrics only where the request names it.
        init(accept: String?) { self = accept?.contains("application/openmetrics-text") == true ? .openMetrics : .text }

        var type: String {
            switch self {
            case .text: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    private let format: Format
    private var text = ""

    static func text(
        _ metrics: [Metric], _ service: ScrapedService, _ streams: [ScrapedStream], _ format: Format
    ) -> String {
        var exposition = Exposition(format: format)
        for metric in metrics { exposition.write(metric, service, streams) }
        if format == .openMetrics { exposition.text += "# EOF\n" }
        return exposition.text
    }

    private init(format: Format) { self.format = format }

    private mutating func write(_ metric: Metric, _ service: ScrapedService, _ streams: [ScrapedStream]) {
        // In OpenMetrics a counter's family has a name without the ending of its only sample.
        var family = metric.name
        if format == .openMetrics, metric.kind == .counter, family.hasSuffix("_total") { family.removeLast(6) }
        text += "# HELP \(family) \(Self.escape(metric.help, quotes: format == .openMetrics))\n"
        text += "# TYPE \(family) \(metric.kind.rawValue)\n"
        if format == .openMetrics, let unit = metric.unit { text += "# UNIT \(family) \(unit)\n" }
        switch metric.source {
        case .service(let read):
            for sample in read(service) { write(metric.name, metric.labels, sample.labels, sample.value) }
        case .stream(let read):
            for stream in streams {
                for sample in read(stream) {
                    write(metric.name, metric.labels, [stream.status.name] + sample.labels, sample.value)
                }
            }
        }
    }

    private mutating func write(_ name: String, _ labels: [String], _ values: [String], _ value: Sample.Value) {
        // Prometheus takes a label without a value for one that is not there.
        let pairs = zip(labels, values).filter { !$1.isEmpty }.map { "\($0)=\"\(Self.escape($1, quotes: true))\"" }
        func line(_ name: String, _ pairs: [String], _ value: String) {
            text += pairs.isEmpty ? "\(name) \(value)\n" : "\(name){\(pairs.joined(separator: ","))} \(value)\n"
        }
        switch value {
        case .number(let number): line(name, pairs, Self.text(number))
        case .count(let count): line(name, pairs, "\(count)")
        case .histogram(let histogram):
            let counts = histogram.counts(upTo: Metrics.bounds.map(\.time))
            for (bound, count) in zip(Metrics.bounds, counts) {
                line(name + "_bucket", pairs + ["le=\"\(bound.text)\""], "\(count)")
            }
            line(name + "_bucket", pairs + ["le=\"+Inf\""], "\(histogram.count)")
            line(name + "_sum", pairs, Self.text(histogram.sum.seconds))
            line(name + "_count", pairs, "\(histogram.count)")
        }
    }

    static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Inf" : "+Inf" }
        return "\(number)"
    }

    static func escape(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
