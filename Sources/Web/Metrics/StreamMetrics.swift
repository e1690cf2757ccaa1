import Media
import Schedule
import Telemetry

extension Metrics {
    static let frames: [Metric] = [
        .stream(
            "frames_total", .counter, labels: ["stage", "fate"],
            "Frames at the ends of a stream: received at the input; emitted, bypassed (sent as they came) or dropped at the output, synthesised and repeated ones with them."
        ) { reading in
            guard let books = reading.snapshot?.books else { return [] }
            return [
                Sample("input", "received", count: books.originals), Sample("output", "emitted", count: books.emitted),
                Sample("output", "bypassed", count: books.bypassed), Sample("output", "dropped", count: books.dropped),
            ]
        },
        .snapshot("frames_synthesised_total", .counter, "Frames made between two originals, or predicted from them.") {
            .count($0.books.synthesised)
        },
        .snapshot("frames_repeated_total", .counter, "Frames that were sent again because nothing new came.") {
            .count($0.books.repeated)
        },
        .snapshot(
            "frames_in_flight", .gauge,
            "Frames on their way. At any time: received + synthesised + repeated = emitted + bypassed + dropped + in flight."
        ) {
            .count($0.books.inFlight)
        },
        .stream("frames_dropped_total", .counter, labels: ["reason"], "Frames of all kinds that were dropped.") { reading in
            guard let books = reading.snapshot?.books else { return [] }
            return DropReason.allCases.map { Sample($0.name, count: books[$0]) }
        },
        .stream(
            "originals_dropped_total", .counter, labels: ["reason"],
            "Frames of the input that were dropped. A viewer misses these; a synthesised frame that is missing shows the source's own rate."
        ) { reading in
            guard let books = reading.snapshot?.books else { return [] }
            return DropReason.allCases.map { Sample($0.name, count: books.originalsDropped($0)) }
        },
        .stream(
            "output_units_total", .counter, labels: ["output", "fate"],
            "Coded units of video at each output, counted from 1: offered = sent + dropped + queued."
        ) { reading in
            outputs(reading) { number, output in
                [
                    Sample(number, "offered", count: output.books.offered), Sample(number, "sent", count: output.books.sent),
                    Sample(number, "dropped", count: output.books.dropped),
                ]
            }
        },
        .stream(
            "output_units_dropped_total", .counter, labels: ["output", "reason"],
            "Coded units of video that an output, or one of its readers, did not get."
        ) { reading in
            outputs(reading) { number, output in
                OutputDropReason.allCases.map { Sample(number, $0.name, count: output.books[$0]) }
            }
        },
        .stream(
            "output_units_queued", .gauge, labels: ["output"], "Coded units of video that wait for their turn at an output."
        ) { outputs($0) { number, output in [Sample(number, count: output.books.queued)] } },
        .stream("output_receivers", .gauge, labels: ["output"], "How many receive an output now.") {
            outputs($0) { number, output in [Sample(number, count: output.receivers)] }
        },
        .stream("output_broken", .gauge, labels: ["output"], "1 where a file or pipe cannot be written any more.") {
            outputs($0) { number, output in [Sample(number, count: output.state == .broken ? 1 : 0)] }
        },
        .stream(
            "frame_latency_seconds", .histogram, unit: "seconds", labels: ["kind"],
            "From the arrival of an original's last packet to its emission; for synthesised frames from that of the original that completed the pair."
        ) { reading in
            guard let latency = reading.snapshot?.latency else { return [] }
            return [
                Sample("original", value: .histogram(latency.original)),
                Sample("synthesised", value: .histogram(latency.synthesised)),
            ]
        },
        .stream(
            "frame_stage_seconds", .histogram, unit: "seconds", labels: ["stage"],
            "Time of emitted frames in each stage, and between stages."
        ) { reading in
            guard let latency = reading.snapshot?.latency else { return [] }
            // `wire_to_decoder` is the sum of two others.
            return latency.stages.filter { $0.name != "wire_to_decoder" }.map {
                Sample($0.name, value: .histogram($0.histogram))
            }
        },
        .snapshot(
            "deadline_slack_seconds", .histogram, unit: "seconds",
            "What was left of a frame's time when it was emitted; 0 for late ones."
        ) { .histogram($0.latency.slack) },
        .snapshot("deadline_misses_total", .counter, "Frames that were emitted after their deadline.") {
            .count($0.latency.misses)
        },
        .stream(
            "step_pictures_total", .counter, labels: ["step"], "Pictures that a step between decoder and encoder changed."
        ) { steps($0) { .count($0.pictures) } },
        .stream(
            "step_seconds_total", .counter, unit: "seconds", labels: ["step"], "The time that those took."
        ) { steps($0) { .number($0.time.seconds) } },
        .stream(
            "stream_rung", .gauge, "The stream's step on the ladder of quality; 0 is the top."
        ) { $0.snapshot?.gauges.rung.map { [Sample(count: $0)] } ?? [] },
        .stream(
            "output_step", .gauge, labels: ["preset"],
            "How many better choices there are for the output than the present one, by its preset; 0 is what was asked for. `burnish_picture_pixels` has its size."
        ) { reading in
            reading.snapshot?.gauges.output.map { [Sample($0.preset.rawValue, count: $0.step)] } ?? []
        },
        .stream(
            "stream_needed_cores", .gauge, unit: "cores", labels: ["work"],
            "Processor cores that the stream needs: for its originals alone, and with all synthesised frames."
        ) { reading in
            guard let gauges = reading.snapshot?.gauges else { return [] }
            return [
                Sample("originals", value: .number(gauges.coresLeast)),
                Sample("all", value: .number(gauges.coresSynthesising)),
            ]
        },
        .stream("past_bytes", .gauge, unit: "bytes", labels: ["side"], "Coded units of the past that are kept in memory.") {
            past($0) { .count($0.bytes) }
        },
        .stream("past_seconds", .gauge, unit: "seconds", labels: ["side"], "How far those go back.") {
            past($0) { .number($0.seconds) }
        },
        .snapshot("output_frames_per_second", .gauge, "Frames that went out in the last second.") { .number($0.gauges.rate) },
        .stream("picture_pixels", .gauge, unit: "pixels", labels: ["side", "dimension"], "The size of the pictures.") {
            reading in
            guard let gauges = reading.snapshot?.gauges else { return [] }
            return [("input", gauges.inputSize), ("output", gauges.outputSize)].flatMap { side, size in
                [Sample(side, "width", count: size.width), Sample(side, "height", count: size.height)]
            }
        },
    ]

    /// Samples of what is kept of the past.
    private static func past(_ reading: ScrapedStream, _ value: (StreamGauges.Past) -> Sample.Value) -> [Sample] {
        guard let gauges = reading.snapshot?.gauges else { return [] }
        return [Sample("input", value: value(gauges.pastInput)), Sample("output", value: value(gauges.pastOutput))]
    }

    /// Samples of each step on single pictures.
    private static func steps(_ reading: ScrapedStream, _ value: (StepFigures) -> Sample.Value) -> [Sample] {
        guard let steps = reading.snapshot?.steps else { return [] }
        return StepSet.single.map { Sample($0.name, value: value(steps[$0] ?? StepFigures())) }
    }

    /// Samples of each output, with its number from 1.
    private static func outputs(_ reading: ScrapedStream, _ samples: (String, OutputFigures) -> [Sample]) -> [Sample] {
        (reading.snapshot?.outputs ?? []).enumerated().flatMap { samples("\($0 + 1)", $1) }
    }

    /// One metric for each counter, and one with a label for those that belong together. Names and texts are the counters' own.
    static let counters: [Metric] =
        StreamCounters.Counter.allCases.filter { $0.facts.part == nil }.map { counter in
            .snapshot("\(counter.name)_total", .counter, counter.facts.help) { .count($0.counters[counter] ?? 0) }
        }
        + StreamCounters.Counter.Family.allCases.map { family in
            .stream(family.metric.name, .counter, labels: [family.metric.label], family.metric.help) { reading in
                guard let values = reading.snapshot?.counters else { return [] }
                return family.counters.map { Sample($0.facts.part!.label, count: values[$0] ?? 0) }
            }
        }
}
