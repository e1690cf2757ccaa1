import Control
import Media
import Telemetry

/// One metric: its name, what it means, and how it is read. The table of all metrics makes the exposition, the reference page,
/// the alerts and the dashboard.
struct Metric: Sendable {
    enum Kind: String, Sendable { case counter, gauge, histogram }

    /// Where its figures come from.
    enum Source: Sendable {
        case stream(@Sendable (ScrapedStream) -> [Sample])
        case service(@Sendable (ScrapedService) -> [Sample])
    }

    /// As Prometheus has it: base unit, and `_total` on counters.
    var name: String
    var kind: Kind
    /// The base unit at the name's end; nil for counts.
    var unit: String?
    var help: String
    /// The names of its labels, `stream` first where it belongs to one.
    var labels: [String]
    var source: Source

    static func stream(
        _ name: String, _ kind: Kind, unit: String? = nil, labels: [String] = [], _ help: String,
        _ read: @escaping @Sendable (ScrapedStream) -> [Sample]
    ) -> Metric {
        Metric(
            name: "burnish_" + name, kind: kind, unit: unit, help: help, labels: ["stream"] + labels, source: .stream(read))
    }

    /// A metric without further labels, of what a stream's telemetry says. Streams without telemetry have no such sample.
    static func snapshot(
        _ name: String, _ kind: Kind, unit: String? = nil, _ help: String,
        _ read: @escaping @Sendable (StreamSnapshot) -> Sample.Value?
    ) -> Metric {
        stream(name, kind, unit: unit, help) { reading in
            reading.snapshot.flatMap(read).map { [Sample($0)] } ?? []
        }
    }

    static func service(
        _ name: String, _ kind: Kind, unit: String? = nil, labels: [String] = [], _ help: String,
        _ read: @escaping @Sendable (ScrapedService) -> [Sample]
    ) -> Metric {
        Metric(name: "burnish_" + name, kind: kind, unit: unit, help: help, labels: labels, source: .service(read))
    }

    /// The metrics that every program has, by their common names.
    static func process(
        _ name: String, _ kind: Kind, unit: String? = nil, _ help: String,
        _ read: @escaping @Sendable (ProcessFigures) -> Double?
    ) -> Metric {
        Metric(
            name: "process_" + name, kind: kind, unit: unit, help: help, labels: [],
            source: .service { reading in read(reading.process).map { [Sample(.number($0))] } ?? [] })
    }
}

/// One line of a metric, or one histogram.
struct Sample: Sendable {
    enum Value: Sendable {
        case number(Double)
        case count(UInt64)
        case histogram(Histogram)
    }

    /// The values of the metric's labels, without that of the stream.
    var labels: [String]
    var value: Value

    init(_ labels: String..., value: Value) {
        self.labels = labels
        self.value = value
    }

    init(_ value: Value) {
        labels = []
        self.value = value
    }

    init(labels: [String], _ value: Value) {
        self.labels = labels
        self.value = value
    }

    init(_ labels: String..., count: some BinaryInteger) {
        self.labels = labels
        value = .count(UInt64(clamping: count))
    }
}

/// What a scrape knows of one stream.
struct ScrapedStream: Sendable {
    var status: StreamStatus
    /// Nil while the stream has no telemetry.
    var snapshot: StreamSnapshot?
    var now: MonotonicTime
    /// The same moment in seconds since 1970.
    var time: Double
}

/// What a scrape knows of the service.
struct ScrapedService: Sendable {
    var health: ServiceHealth
    var web: WebCounters.Values
    var process: ProcessFigures
    /// When the certificate expires, in seconds since 1970; nil without TLS.
    var certificateExpires: Double?
}

/// The metrics, in the order of the reference page.
enum Metrics {
    static let all: [Metric] = service + streams + frames + counters + legs + interface + process

    /// The upper bounds of the histograms' buckets. They follow what a viewer notices: a frame's length, a call's and a
    /// broadcast's delay. Our own buckets are finer; a value near a bound may count up to 3 % beside it.
    static let bounds: [(text: String, time: Nanoseconds)] = [
        "0.0005", "0.001", "0.002", "0.005", "0.01", "0.015", "0.02", "0.03", "0.05", "0.08", "0.1", "0.15", "0.2", "0.3",
        "0.5",
        "1.0", "2.0", "5.0",
    ].map { ($0, .seconds(Double($0) ?? 0)) }
}
