import Foundation
import Testing

@testable import Web

/// The files that come from the table of metrics are those in the repository. `tools/make/metrics` writes them again.
@Suite struct MetricFilesTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test(arguments: [
        ("docs/use/metrics.md", ReferencePage.text), ("configs/prometheus/burnish.rules.yml", AlertRules.text),
        ("configs/grafana/burnish.json", Dashboard.text),
    ])
    func isWhatTheTableSays(path: String, text: String) throws {
        let file = Self.root.appending(path: path)
        if ProcessInfo.processInfo.environment["BURNISH_WRITE_METRIC_FILES"] != nil {
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == text, "run tools/make/metrics")
    }

    /// Alerts and panels name no metric that is not in the table, and no label that the metric lacks.
    @Test func onlyMetricsOfTheTableAreNamed() throws {
        let metrics = Dictionary(uniqueKeysWithValues: Metrics.all.map { ($0.name, $0) })
        let expressions = AlertRules.alerts.map(\.expression) + Dashboard.panels.flatMap { $0.expressions.map(\.0) }
        for expression in expressions {
            let found = expression.matches(of: /\b((?:burnish|process)_\w+)(?:\{([^}]*)\})?/)
            #expect(!found.isEmpty, "\(expression)")
            for match in found {
                var name = String(match.1)
                if metrics[name] == nil, name.hasSuffix("_bucket") { name.removeLast(7) }
                let metric = try #require(metrics[name], "\(match.1) in \(expression)")
                for label in (match.2 ?? "").matches(of: /(\w+)[=!]~?"/) where label.1 != "job" {
                    #expect(metric.labels.contains(String(label.1)), "\(name) has no label \(label.1)")
                }
            }
        }
    }
}
