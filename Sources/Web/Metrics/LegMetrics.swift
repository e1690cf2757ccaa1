import Control
import Endpoint
import Media
import Telemetry

extension Metrics {
    /// The input and each output of a stream: ``LegFigureTable``, and what is no number.
    static let legs: [Metric] =
        [
            .stream(
                "link_callers_refused_total", .counter, labels: labels + ["reason"],
                "Callers that a listening leg refused. What is refused before it is known which leg is meant counts on the port's oldest leg."
            ) { reading in
                places(reading).flatMap { place in
                    RefusalReason.allCases.map { reason in
                        Sample(labels: place.labels + [reason.label], .count(UInt64(clamping: place.figures.refusals[reason])))
                    }
                }
            },
            leg("connected", .gauge, "1 while the leg is connected.") { .count($0.isConnected ? 1 : 0) },
        ] + LegFigureTable.rows.indices.map { place in metric(of: place) }

    /// Prometheus wants the unit at the end of a name, before `_total`.
    private static func metric(of place: Int) -> Metric {
        let row = LegFigureTable.rows[place]
        let isBytes = row.snakeCase.hasPrefix("bytes_")
        let unit = row.isTime ? "seconds" : isBytes ? "bytes" : nil
        let stem = isBytes ? String(row.snakeCase.dropFirst("bytes_".count)) : row.snakeCase
        let name = ([stem] + (unit.map { [$0] } ?? []) + (row.kind == .gauge ? [] : ["total"])).joined(separator: "_")
        return leg(name, row.kind == .gauge ? .gauge : .counter, unit: unit, row.help) { figures in
            row.isTime ? .number(Nanoseconds(figures[place]).seconds) : .count(UInt64(clamping: figures[place]))
        }
    }

    private static let labels = ["leg", "output", "transport"]

    private static func leg(
        _ name: String, _ kind: Metric.Kind, unit: String? = nil, _ help: String,
        _ read: @escaping @Sendable (LegFigures) -> Sample.Value
    ) -> Metric {
        .stream("link_" + name, kind, unit: unit, labels: labels, help) { reading in
            places(reading).map { Sample(labels: $0.labels, read($0.figures)) }
        }
    }

    /// Each leg with its labels. Outputs are counted from 1.
    private static func places(_ reading: ScrapedStream) -> [(labels: [String], figures: LegFigures)] {
        guard let snapshot = reading.snapshot else { return [] }
        let outputs = reading.status.outputs
        return [(["input", "", transport(reading.status.input)], snapshot.inputLeg)]
            + snapshot.outputs.enumerated().map { index, output in
                (["output", "\(index + 1)", transport(index < outputs.count ? outputs[index] : "")], output.leg)
            }
    }

    /// What carries a leg, by the scheme of its URL: `srt`, `rtp`, `udp`, `whip`, …; a path is a `file`.
    private static func transport(_ url: String) -> String {
        url.firstRange(of: ":").map { String(url[..<$0.lowerBound]) } ?? (url.isEmpty ? "" : "file")
    }
}
