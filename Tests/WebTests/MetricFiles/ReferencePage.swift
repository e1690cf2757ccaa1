@testable import Web

/// docs/use/metrics.md, made from the table of metrics.
enum ReferencePage {
    private static let groups: [(title: String, about: String, metrics: [Metric])] = [
        ("The service", "", Metrics.service), ("Streams", "", Metrics.streams),
        (
            "Frames",
            """
            A stream without a worker has none of these. The books balance at any time: received + synthesised + repeated = \
            emitted + bypassed + dropped + in flight. [Operating](operating.md#the-books) says what the reasons for drops mean.
            """, Metrics.frames
        ),
        ("Counters", "", Metrics.counters),
        (
            "Legs",
            """
            Each has a label `leg`: `input` or `output`. An output's number, from 1, is the label `output`. Counts are totals over the stream's life; gauges belong to the present \
            connection.
            """, Metrics.legs
        ),
        ("The HTTP interface", "", Metrics.interface),
        ("The process", "Of the supervisor alone; each stream has a process of its own.", Metrics.process),
    ]

    static var text: String {
        var page = """
            # Metrics

            `GET /metrics` gives all figures of the service in Prometheus's text format, or as OpenMetrics where the request
            accepts it. What belongs to one stream has the label `stream`. There are no labels without bound: no addresses and
            no stream identifiers of callers.

            Alerts for these metrics are in [burnish.rules.yml](../../configs/prometheus/burnish.rules.yml), and a dashboard for
            Grafana is in [burnish.json](../../configs/grafana/burnish.json). All three files and the interface itself come from
            one table in the code; `tools/make/metrics` writes the files again.

            ```yaml
            scrape_configs:
              - job_name: burnish
                static_configs:
                  - targets: ["127.0.0.1:8080"]
            ```

            Beyond loopback Prometheus needs `scheme: https` and the service's token:
            `authorization: {credentials_file: /etc/prometheus/burnish.token}`.

            Histograms have the same buckets everywhere, in seconds:
            \(Metrics.bounds.map(\.text).joined(separator: ", ")).
            Burnish counts in finer buckets, so a value within 3 % of a bound may count on its other side.

            """
        for group in groups {
            page += "\n## \(group.title)\n\n"
            if !group.about.isEmpty { page += group.about + "\n\n" }
            page += "| metric | type | labels | meaning |\n|---|---|---|---|\n"
            for metric in group.metrics {
                let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
                page += "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels.isEmpty ? "–" : labels) | \(metric.help) |\n"
            }
        }
        return page
    }
}
