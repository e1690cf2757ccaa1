import Control
import Foundation
import Media
import Schedule
import Telemetry
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(10))) struct MetricsTests {
    @Test func namesFollowTheRules() {
        #expect(Set(Metrics.all.map(\.name)).count == Metrics.all.count)
        for metric in Metrics.all {
            #expect(metric.name.wholeMatch(of: /(burnish|process)_[a-z_]+[a-z]/) != nil, "\(metric.name)")
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            let family = metric.name.hasSuffix("_total") ? String(metric.name.dropLast(6)) : metric.name
            if let unit = metric.unit { #expect(family.hasSuffix("_" + unit), "\(metric.name)") }
            #expect(metric.help.hasSuffix(".") && !metric.help.contains("|"), "\(metric.name)")
            #expect(!metric.labels.contains { ["peer", "address", "id"].contains($0) })
        }
    }

    /// Every counter of a stream is a metric of its own, or a part of one beside others.
    @Test func noCounterIsLeftOut() {
        let counters = StreamCounters.Counter.allCases
        #expect(Set(counters.map(\.name)).count == counters.count)
        for counter in counters { #expect(counter.facts.help.hasSuffix("."), "\(counter)") }
        let families = StreamCounters.Counter.Family.allCases
        for family in families {
            let labels = family.counters.map(\.facts.part!.label)
            #expect(labels.count > 1 && Set(labels).count == labels.count, "\(family)")
        }
        let own = counters.count { $0.facts.part == nil }
        #expect(Metrics.counters.count == own + families.count && own + families.flatMap(\.counters).count == counters.count)
    }

    @Test func figuresAreWritten() async throws {
        try await serving { client async throws in
            let answer = try await client.get("/metrics")
            #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let lines = Set(answer.text.split(separator: "\n").map(String.init))
            for line in [
                "# TYPE burnish_frames_total counter", "burnish_ready 1", "burnish_capacity_cores 2.0",
                "burnish_capacity_used_ratio 0.25", #"burnish_stream_state{stream="cam1",state="flowing"} 1"#,
                #"burnish_link_round_trip_time_seconds{stream="cam2",leg="output",output="1",transport="srt"} 0.0015"#,
                #"burnish_link_messages_unstamped_total{stream="cam1",leg="input",transport="srt"} 2"#,
                "burnish_http_connections 1",
                #"burnish_frame_stage_seconds_bucket{stream="cam1",stage="decode",le="0.001"} 0"#,
            ] {
                #expect(lines.contains(line), "\(line)")
            }
            #expect(
                Double(lines.first { $0.hasPrefix("process_resident_memory_bytes ") }?.split(separator: " ")[1] ?? "0")! > 1e6)
        }
    }

    /// Every line has the form of the format, buckets ascend to the count, and no series comes twice.
    @Test(arguments: ["", "application/openmetrics-text; version=1.0.0"]) func theFormatHolds(accept: String) async throws {
        let text = try await serving { client in try await client.get("/metrics", headers: ["Accept": accept]).text }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        if !accept.isEmpty { #expect(lines.popLast() == "# EOF") }
        var series: Set<Substring> = []
        var buckets: (name: Substring, last: Double) = ("", 0)
        for line in lines where !line.hasPrefix("#") {
            let match = try #require(
                line.wholeMatch(of: /(([a-z_]+)(?:\{(\w+="(?:[^"\\]|\\.)*"(?:,\w+="(?:[^"\\]|\\.)*")*)\})?) (\S+)/), "\(line)")
            #expect(series.insert(match.1).inserted, "\(line)")
            let value = try #require(Double(match.4), "\(line)")
            if match.2.hasSuffix("_bucket") {
                let name = match.1.prefix(upTo: match.1.firstRange(of: "le=")!.lowerBound)
                if buckets.name == name { #expect(value >= buckets.last, "\(line)") }
                buckets = (name, value)
            } else if match.2.hasSuffix("_count") {
                #expect(value == buckets.last, "\(line)")
            }
        }
        #expect(series.count > 500)
    }

    @Test func labelsAreEscaped() {
        var status = StreamStatus(name: "a\"b\\c\nd", state: .waiting, input: "", outputs: [], settings: [:])
        status.restarts = 3
        let reading = ScrapedStream(status: status, snapshot: nil, now: .now(), time: 0)
        let service = ScrapedService(health: ServiceHealth(), web: .init(), process: .init())
        let metrics = Metrics.all.filter { $0.name == "burnish_worker_restarts_total" }
        let text = Exposition.text(metrics, service, [reading], .openMetrics)
        #expect(text.contains("# TYPE burnish_worker_restarts counter\n"))
        #expect(text.hasSuffix("burnish_worker_restarts_total{stream=\"a\\\"b\\\\c\\nd\"} 3\n# EOF\n"))
        #expect(Exposition.text(.nan) == "NaN" && Exposition.text(-.infinity) == "-Inf" && Exposition.text(0.5) == "0.5")
    }

    @Test func theProcessIsRead() {
        let fields = (["S"] + (4...52).map { "\($0)" }).joined(separator: " ")
        let figures = ProcessFigures(
            stat: "4711 (a) b (c) \(fields)\n", system: "cpu 1\nbtime 1000\n",
            limits: "Limit  Soft\nMax open files            1024                 4096                 files\n",
            ticksPerSecond: 2,
            pageSize: 4096)
        #expect(figures.cpuSeconds == 14.5)
        #expect(figures.threads == 20)
        #expect(figures.startTime == 1011)
        #expect(figures.virtualBytes == 23)
        #expect(figures.residentBytes == 98_304.0)
        #expect(figures.mostDescriptors == 1024)
        let none = ProcessFigures(stat: "", system: "", limits: "", ticksPerSecond: 100, pageSize: 4096)
        #expect(none.cpuSeconds == nil && none.startTime == nil && none.mostDescriptors == nil)
        let own = ProcessFigures.read()
        #expect((own.openDescriptors ?? 0) > 2 && (own.residentBytes ?? 0) > 1e6)
    }
}
