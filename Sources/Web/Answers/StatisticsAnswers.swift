import Control
import Hummingbird
import Media
import Schedule
import Telemetry
import WorkerProtocol

extension StreamSnapshot {
    /// Whether a worker has written it yet.
    var isWritten: Bool { gauges.writtenAt.nanoseconds > 0 }
}

/// A stream's figures as JSON. Times are in seconds.
enum StatisticsAnswers {
    @Sendable static func statistics(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let name = request["name"] ?? ""
        let stream = try await site.service.stream(name)
        guard let snapshot = try await site.service.snapshot(of: name), snapshot.isWritten else { return .json(.null) }
        let seconds = request.number("seconds", or: 5)
        let records = try await site.service.records(of: name, last: seconds)
        return .json(json(stream, snapshot, records, seconds, at: .now()))
    }

    static func json(
        _ stream: StreamStatus, _ snapshot: StreamSnapshot, _ records: [ClosedFrame], _ seconds: Double, at now: MonotonicTime
    ) -> JSON {
        var recent = Latency()
        for frame in records where frame.fate.isSent { recent.record(frame.record) }
        let gauges = snapshot.gauges
        return [
            "state": .text(stream.state.rawValue), "age": .number((now - gauges.writtenAt).seconds),
            "uptime": .optional(stream.startedAt) { .number((now - $0).seconds) },
            "rate": .number(gauges.rate), "deadlineMisses": .count(snapshot.latency.misses),
            "seconds": .number(seconds), "latency": json(recent), "stages": stages(recent),
            "lifetime": ["latency": json(snapshot.latency), "stages": stages(snapshot.latency)],
            "books": json(snapshot.books),
            "dropped": byReason { snapshot.books[$0] }, "originalsDropped": byReason { snapshot.books.originalsDropped($0) },
            "unwatched": [
                "frames": .count(snapshot.books[.outputDown]),
                "originals": .count(snapshot.books.originalsDropped(.outputDown)),
            ],
            "units": [
                "offered": .count(snapshot.output.offered), "sent": .count(snapshot.output.sent),
                "dropped": .count(snapshot.output.dropped), "queued": .count(snapshot.output.queued),
            ],
            "counters": .object(
                Dictionary(
                    StreamCounters.Counter.allCases.map { ($0.name, .count(snapshot.counters[$0] ?? 0)) }
                ) { first, _ in first }),
            "steps": .object(
                Dictionary(
                    StepSet.single.map { step -> (String, JSON) in
                        let figures = snapshot.steps[step] ?? StepFigures()
                        return (
                            step.name,
                            .object(["pictures": .count(figures.pictures), "seconds": .number(figures.time.seconds)])
                        )
                    }
                ) { first, _ in first }),
            "rung": .optional(gauges.rung) { .count($0) }, "rungs": .list(Rung.all.map { .text($0.name) }),
            "sizes": gauges.outputSize.width == 0
                ? .null : ["input": text(gauges.inputSize), "output": text(gauges.outputSize)],
            "content": .optional(gauges.content) { .text($0.name) },
            "cores": ["least": .number(gauges.coresLeast), "synthesising": .number(gauges.coresSynthesising)],
            "betterOutput": .optional(gauges.better) { better in
                ["size": text(better.size), "preset": .text(better.preset.rawValue), "cores": .number(better.cores)]
            },
            "past": ["input": json(gauges.pastInput), "output": json(gauges.pastOutput)],
            "input": .object(members(snapshot.inputLeg).merging(input(stream)) { first, _ in first }),
            "output": .object(members(snapshot.outputLeg).merging(output(0, stream, gauges)) { first, _ in first }),
            "outputs": .list(
                snapshot.outputs.enumerated().map { index, figures in
                    .object(members(figures).merging(output(index, stream, gauges)) { first, _ in first })
                }),
        ]
    }

    /// What the input is like. Unknown is null.
    private static func input(_ stream: StreamStatus) -> [String: JSON] {
        let known = stream.description
        return [
            "bitRate": .optional(stream.bitRateIn, JSON.number), "codec": .optional(known?.codec, JSON.text),
            "profile": .optional(known?.profile, JSON.text), "level": .optional(known?.level, JSON.text),
            "width": .optional(known?.width) { .count($0) }, "height": .optional(known?.height) { .count($0) },
            "frameRate": .optional(known?.frameRate ?? stream.frameRateIn, JSON.number),
            "keyframeInterval": .optional(known?.keyframeInterval, JSON.number),
            "bitDepth": .optional(known?.bitDepth) { .count($0) },
            "sound": .list(
                (known?.sounds ?? []).map { sound in
                    [
                        "codec": .text(sound.codec), "channels": .optional(sound.channels) { .count($0) },
                        "sampleRate": .optional(sound.sampleRate) { .count($0) },
                        "bitRate": .optional(sound.bitRate, JSON.number),
                    ]
                }),
        ]
    }

    /// What goes out.
    private static func output(_ index: Int, _ stream: StreamStatus, _ gauges: StreamGauges) -> [String: JSON] {
        let size = gauges.outputSize
        let bitRate = stream.bitRatesOut.indices.contains(index) ? stream.bitRatesOut[index] : nil
        return [
            "bitRate": .optional(bitRate, JSON.number), "codec": .optional(stream.description?.outputCodec, JSON.text),
            "width": size.width == 0 ? .null : .count(size.width), "height": size.height == 0 ? .null : .count(size.height),
            "frameRate": gauges.rate == 0 ? .null : .number(gauges.rate),
        ]
    }

    private static func members(_ output: OutputFigures) -> [String: JSON] {
        [
            "state": .text(output.state.name), "receivers": .count(output.receivers),
            "units": [
                "offered": .count(output.books.offered), "sent": .count(output.books.sent),
                "dropped": .count(output.books.dropped), "queued": .count(output.books.queued),
            ],
            "unitsDropped": .object(
                Dictionary(OutputDropReason.allCases.map { ($0.name, .count(output.books[$0])) }) { first, _ in first }),
            "link": json(output.leg),
        ]
    }

    private static func byReason(_ count: (DropReason) -> UInt64) -> JSON {
        .object(Dictionary(DropReason.allCases.map { ($0.name, .count(count($0))) }) { first, _ in first })
    }

    private static func json(_ past: StreamGauges.Past) -> JSON {
        ["bytes": .count(past.bytes), "seconds": .number(past.seconds)]
    }

    private static func text(_ size: PictureSize) -> JSON { .text("\(size.width)x\(size.height)") }

    private static func json(_ books: Books) -> JSON {
        [
            "originals": .count(books.originals), "synthesised": .count(books.synthesised), "repeated": .count(books.repeated),
            "emitted": .count(books.emitted), "bypassed": .count(books.bypassed), "dropped": .count(books.dropped),
            "originalsDropped": .count(books.originalsDropped), "inFlight": .count(books.inFlight),
        ]
    }

    private static func json(_ latency: Latency) -> JSON {
        [
            "original": .object(members(latency.original)), "synthesised": .object(members(latency.synthesised)),
            "slack": .object(members(latency.slack)),
        ]
    }

    private static func stages(_ latency: Latency) -> JSON {
        .list(
            // `wire_to_decoder` is the sum of two others.
            latency.stages.filter { $0.name != "wire_to_decoder" }.map { stage in
                .object(members(stage.histogram).merging(["name": .text(stage.name)]) { first, _ in first })
            })
    }

    private static func members(_ histogram: Histogram) -> [String: JSON] {
        [
            "count": .count(histogram.count), "p50": .number(histogram.quantile(0.5).seconds),
            "p95": .number(histogram.quantile(0.95).seconds), "p99": .number(histogram.quantile(0.99).seconds),
            "max": .number(histogram.largest.seconds),
        ]
    }

    static func json(_ leg: LegFigures) -> JSON { .object(members(leg)) }

    private static func members(_ leg: LegFigures) -> [String: JSON] {
        var members: [String: JSON] = [
            "isConnected": .bool(leg.isConnected), "earlyIngest": .text(leg.earlyIngest.name),
            "callersRefused": .object(
                Dictionary(RefusalReason.allCases.map { ($0.rawValue, .count(leg.refusals[$0])) }) { first, _ in first }),
        ]
        for (place, row) in LegFigureTable.rows.enumerated() {
            members[row.name] = row.isTime ? .number(Nanoseconds(leg[place]).seconds) : .count(leg[place])
        }
        return members
    }

    // MARK: Forms

    private static let count = Schema.integer(0...Int64.max)

    private static func counts(_ names: [String]) -> [String: Schema] {
        Dictionary(names.map { ($0, count) }) { first, _ in first }
    }

    static let schemas: [String: Schema] = {
        let quantiles: [String: Schema] = [
            "count": count, "p50": .number(), "p95": .number(), "p99": .number(), "max": .number(),
        ]
        let past = Schema.object("", ["bytes": count, "seconds": .number()])
        let reasons = Schema.object("", counts(DropReason.allCases.map(\.name)))
        let stages = Schema.list(.named("Stage"))
        var leg: [String: Schema] = [
            "isConnected": .bool, "earlyIngest": .choice(LegFigures.EarlyIngest.allCases.map(\.name)),
            "callersRefused": .object("By reason.", counts(RefusalReason.allCases.map(\.rawValue))),
        ]
        for row in LegFigureTable.rows { leg[row.name] = row.isTime ? .number() : count }
        let output: [String: Schema] = [
            "bitRate": .nullable(.number()), "codec": .nullable(.text()), "width": .nullable(count),
            "height": .nullable(count),
            "frameRate": .nullable(.number()),
        ]
        return [
            "Quantiles": .object("Seconds.", quantiles),
            "Stage": .object("Seconds in a stage, or between two.", quantiles.merging(["name": .text()]) { first, _ in first }),
            "Latency": .object(
                "From the arrival of a frame's last packet to its emission, and what was left of its time then.",
                ["original": .named("Quantiles"), "synthesised": .named("Quantiles"), "slack": .named("Quantiles")]),
            "InputLeg": .object(
                """
                The input's leg, and what it brings. Bit rates are bits a second over the last seconds. `keyframeInterval` is the time \
                between the last two keyframes. What is not known is null.
                """,
                leg.merging(output) { first, _ in first }.merging([
                    "profile": .nullable(.text()), "level": .nullable(.text()), "keyframeInterval": .nullable(.number()),
                    "bitDepth": .nullable(count),
                    "sound": .list(
                        .object(
                            "",
                            [
                                "codec": .text(), "channels": .nullable(count), "sampleRate": .nullable(count),
                                "bitRate": .nullable(.number()),
                            ])),
                ]) { first, _ in first }),
            "OutputLeg": .object(
                "The first output's leg, and what goes out. `bitRate` is bits a second to all its receivers.",
                leg.merging(output) { first, _ in first }),
            "Leg": .object("Counts are totals; the rest belongs to the present connection. Times are in seconds.", leg),
            "Output": .object(
                """
                An output, in the order of the stream's URLs. Units are coded units of video, once for each of its readers. `bitRate` is \
                bits a second to all of them.
                """,
                output.merging([
                    "state": .choice(OutputFigures.State.allCases.map(\.name)), "receivers": count,
                    "units": .object("offered = sent + dropped + queued", counts(["offered", "sent", "dropped", "queued"])),
                    "unitsDropped": .object("By reason.", counts(OutputDropReason.allCases.map(\.name))),
                    "link": .named("Leg"),
                ]) { first, _ in first }),
            "Statistics": .object(
                """
                A stream's figures. Times are in seconds. `latency` and `stages` are those of the last `seconds`; those of the \
                stream's whole life are in `lifetime`. `uptime` counts from the last start. `rung` is an index in `rungs`, the best first. `output` is the first \
                output's leg, and `units` is the sum over all `outputs`.
                """,
                [
                    "state": .choice(StreamStatus.State.allCases.map(\.rawValue)), "age": .number(), "rate": .number(),
                    "uptime": .nullable(.number()),
                    "deadlineMisses": count, "seconds": .number(), "latency": .named("Latency"), "stages": stages,
                    "lifetime": .object("", ["latency": .named("Latency"), "stages": stages]),
                    "books": .object(
                        "in + synthesised + repeated = emitted + bypassed + dropped + in flight",
                        counts([
                            "originals", "synthesised", "repeated", "emitted", "bypassed", "dropped", "originalsDropped",
                            "inFlight",
                        ])),
                    "dropped": reasons, "originalsDropped": reasons,
                    "unwatched": .object(
                        "Frames that were dropped because nobody received the output.", counts(["frames", "originals"])),
                    "units": .object("offered = sent + dropped + queued", counts(["offered", "sent", "dropped", "queued"])),
                    "counters": .object("", counts(StreamCounters.Counter.allCases.map(\.name))),
                    "steps": .object(
                        "What each step between decoder and encoder did: pictures that it changed, and the time of that.",
                        Dictionary(
                            StepSet.single.map { step -> (String, Schema) in
                                (step.name, .object("", ["pictures": count, "seconds": .number()]))
                            }
                        ) { first, _ in first }),
                    "rung": .nullable(.integer(0...255)), "rungs": .list(.text()),
                    "sizes": .nullable(.object("", ["input": .text(), "output": .text()])),
                    "content": .nullable(.choice(StreamGauges.Content.allCases.map(\.name))),
                    "cores": .object("", ["least": .number(), "synthesising": .number()]),
                    "betterOutput": .nullable(
                        .object(
                            "What would be sent if the machine had room for it, and the cores that its originals would need.",
                            ["size": .text(), "preset": .text(), "cores": .number()])),
                    "past": .object("What is kept in memory for stills and clips.", ["input": past, "output": past]),
                    "input": .named("InputLeg"), "output": .named("OutputLeg"), "outputs": .list(.named("Output")),
                ]),
        ]
    }()
}
