import Foundation

@testable import Web

/// configs/grafana/burnish.json.
enum Dashboard {
    struct Panel {
        var title: String
        var about: String
        /// Grafana's name of the unit.
        var unit: String
        /// Each with its legend.
        var expressions: [(String, String)]
    }

    private static func quantile(_ share: Double, _ metric: String, by label: String? = nil, _ matchers: String = "") -> String
    {
        "histogram_quantile(\(share), sum by (le, stream\(label.map { ", \($0)" } ?? "")) "
            + "(rate(\(metric)_bucket{stream=~\"$stream\"\(matchers)}[$__rate_interval])))"
    }

    private static func rate(_ metric: String, by labels: String = "stream", _ matchers: String = "") -> String {
        "sum by (\(labels)) (rate(\(metric){stream=~\"$stream\"\(matchers)}[$__rate_interval]))"
    }

    static let panels = [
        Panel(
            title: "State", about: "1 while a stream flows.", unit: "short",
            expressions: [(#"burnish_stream_state{stream=~"$stream", state="flowing"}"#, "{{stream}}")]),
        Panel(
            title: "Frames a second", about: "What comes in and what goes out.", unit: "short",
            expressions: [
                (rate("burnish_frames_total", #", stage="input""#), "{{stream}} in"),
                (rate("burnish_frames_total", #", fate=~"emitted|bypassed""#), "{{stream}} out"),
            ]),
        Panel(
            title: "Latency", about: "From the arrival of the last packet of a frame to its emission.", unit: "s",
            expressions: [
                (quantile(0.5, "burnish_frame_latency_seconds", #", kind="original""#), "{{stream}} p50"),
                (quantile(0.99, "burnish_frame_latency_seconds", #", kind="original""#), "{{stream}} p99"),
            ]),
        Panel(
            title: "Time in each stage (p95)", about: "Where the latency comes from.", unit: "s",
            expressions: [(quantile(0.95, "burnish_frame_stage_seconds", by: "stage"), "{{stream}} {{stage}}")]),
        Panel(
            title: "Time left at emission", about: "The lower edge of what was left of the frames' time (p5), and late frames.",
            unit: "s", expressions: [(quantile(0.05, "burnish_deadline_slack_seconds"), "{{stream}} p5")]),
        Panel(
            title: "Frames dropped", about: "By reason, synthesised frames included.", unit: "short",
            expressions: [(rate("burnish_frames_dropped_total", by: "stream, reason"), "{{stream}} {{reason}}")]),
        Panel(
            title: "Rung", about: "The step of quality; 0 is the best.", unit: "short",
            expressions: [(#"burnish_stream_rung{stream=~"$stream"}"#, "{{stream}}")]),
        Panel(
            title: "Tiles", about: "Tiles of super-resolution by tier, and those copied from the frame before.", unit: "short",
            expressions: [
                (rate("burnish_tiles_total", by: "stream, tier"), "{{stream}} {{tier}}"),
                (rate("burnish_tiles_reused_total"), "{{stream}} reused"),
            ]),
        Panel(
            title: "Round-trip time", about: "Of the input and of each output.", unit: "s",
            expressions: [(#"burnish_link_round_trip_time_seconds{stream=~"$stream"}"#, "{{stream}} {{leg}} {{output}}")]),
        Panel(
            title: "Packets lost and sent again", about: "Before recovery.", unit: "short",
            expressions: [
                (rate("burnish_link_packets_lost_total", by: "stream, leg, output"), "{{stream}} {{leg}} {{output}} lost"),
                (
                    rate("burnish_link_packets_retransmitted_total", by: "stream, leg, output"),
                    "{{stream}} {{leg}} {{output}} again"
                ),
            ]),
        Panel(
            title: "Bit rate", about: "On the network.", unit: "bps",
            expressions: [
                ("8 * " + rate("burnish_link_received_bytes_total", #", leg="input""#), "{{stream}} in"),
                (
                    "8 * " + rate("burnish_link_sent_bytes_total", by: "stream, output", #", leg="output""#),
                    "{{stream}} out {{output}}"
                ),
            ]),
        Panel(
            title: "Receivers", about: "How many receive each output.", unit: "short",
            expressions: [(#"burnish_output_receivers{stream=~"$stream"}"#, "{{stream}} {{output}}")]),
        Panel(
            title: "Units that receivers missed", about: "Coded units of video, by output and reason.", unit: "short",
            expressions: [
                (rate("burnish_output_units_dropped_total", by: "stream, output, reason"), "{{stream}} {{output}} {{reason}}")
            ]),
        Panel(
            title: "Cores", about: "What there is, what the originals need, and what is in use.", unit: "short",
            expressions: [
                ("burnish_capacity_cores", "there are"), ("burnish_capacity_needed_cores", "needed"),
                ("burnish_capacity_used_cores", "in use"),
            ]),
        Panel(
            title: "Worker restarts", about: "A worker that ended was replaced.", unit: "short",
            expressions: [(#"increase(burnish_worker_restarts_total{stream=~"$stream"}[$__rate_interval])"#, "{{stream}}")]),
        Panel(
            title: "Supervisor", about: "Its processor time and memory, without the workers.", unit: "short",
            expressions: [
                (#"rate(process_cpu_seconds_total{job="burnish"}[$__rate_interval])"#, "cores"),
                (#"process_resident_memory_bytes{job="burnish"} / 1e6"#, "MB"),
            ]),
    ]

    private static let source: JSON = ["type": "prometheus", "uid": "${source}"]

    static var json: JSON {
        [
            "title": "Burnish", "uid": "burnish", "schemaVersion": 38, "version": 1, "editable": true, "refresh": "10s",
            "tags": ["burnish"], "time": ["from": "now-30m", "to": "now"],
            "templating": [
                "list": [
                    ["name": "source", "type": "datasource", "query": "prometheus", "label": "Source"],
                    [
                        "name": "stream", "type": "query", "label": "Stream", "datasource": source, "multi": true,
                        "includeAll": true, "refresh": 2, "query": "label_values(burnish_stream_state, stream)",
                        "current": ["text": "All", "value": "$__all"],
                    ],
                ]
            ],
            "panels": .list(panels.enumerated().map(panel)),
        ]
    }

    private static func panel(_ index: Int, _ panel: Panel) -> JSON {
        [
            "id": .count(index + 1), "type": "timeseries", "title": .text(panel.title), "description": .text(panel.about),
            "datasource": source,
            "gridPos": ["x": .count(index % 2 * 12), "y": .count(index / 2 * 8), "w": 12, "h": 8],
            "fieldConfig": ["defaults": ["unit": .text(panel.unit), "min": 0], "overrides": []],
            "targets": .list(
                panel.expressions.enumerated().map { number, expression in
                    [
                        "refId": .text(String(UnicodeScalar(UInt8(65 + number)))), "datasource": source,
                        "expr": .text(expression.0), "legendFormat": .text(expression.1),
                    ]
                }),
        ]
    }

    static var text: String {
        let value = try? JSONSerialization.jsonObject(with: Data(json.bytes))
        let data = try? JSONSerialization.data(
            withJSONObject: value ?? [:], options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data ?? Data(), as: UTF8.self) + "\n"
    }
}
