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
        .stream("tiles_total", .counter, labels: ["tier"], "Tiles of super-resolution that were computed.") { reading in
            guard let counters = reading.snapshot?.counters else { return [] }
            return [
                Sample(Tier.neuralS.name, count: counters[.tilesSmall] ?? 0),
                Sample(Tier.neuralM.name, count: counters[.tilesMedium] ?? 0),
            ]
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
        .snapshot("output_frames_per_second", .gauge, "Frames that went out in the last second.") { .number($0.gauges.rate) },
        .stream("picture_pixels", .gauge, unit: "pixels", labels: ["side", "dimension"], "The size of the pictures.") {
            reading in
            guard let gauges = reading.snapshot?.gauges else { return [] }
            return [("input", gauges.inputSize), ("output", gauges.outputSize)].flatMap { side, size in
                [Sample(side, "width", count: size.width), Sample(side, "height", count: size.height)]
            }
        },
    ]

    /// Samples of each step on single pictures.
    private static func steps(_ reading: ScrapedStream, _ value: (StepFigures) -> Sample.Value) -> [Sample] {
        guard let steps = reading.snapshot?.steps else { return [] }
        return StepSet.single.map { Sample($0.name, value: value(steps[$0] ?? StepFigures())) }
    }

    /// Samples of each output, with its number from 1.
    private static func outputs(_ reading: ScrapedStream, _ samples: (String, OutputFigures) -> [Sample]) -> [Sample] {
        (reading.snapshot?.outputs ?? []).enumerated().flatMap { samples("\($0 + 1)", $1) }
    }

    /// One metric for each of the stream's plain counters, and one with a label for those that belong together.
    static let counters: [Metric] =
        plain.map { counter, help in
            .snapshot("\(counter.name)_total", .counter, help) { .count($0.counters[counter] ?? 0) }
        }
        + grouped.map { name, label, help, counters in
            .stream(name, .counter, labels: [label], help) { reading in
                guard let values = reading.snapshot?.counters else { return [] }
                return counters.map { value, counter in Sample(value, count: values[counter] ?? 0) }
            }
        }

    /// The counters in ``frames``.
    static let elsewhere: Set<StreamCounters.Counter> = [.tilesSmall, .tilesMedium]

    static let grouped: [(name: String, label: String, help: String, counters: [(String, StreamCounters.Counter)])] = [
        (
            "units_ended_total", "by", "How the end of an access unit of the input was known.",
            [
                ("length", .endByLength), ("stuffing", .endByStuffing), ("next_start", .endByNextStart),
                ("delimiter", .endByDelimiter), ("flush", .endByFlush), ("timer", .endByTimer),
            ]
        ),
        (
            "passing_units_total", "fate",
            "Units of sound and data that pass through. Those that are passed on with missing bytes also count as damaged.",
            [("in", .passingIn), ("out", .passingOut), ("dropped", .passingDropped), ("damaged", .passingDamaged)]
        ),
        (
            "other_program_packets_total", "fate",
            "Transport packets of other programs of a multiplex, which pass as they are.",
            [
                ("in", .otherProgramPacketsIn), ("out", .otherProgramPacketsOut), ("dropped", .otherProgramPacketsDropped),
            ]
        ),
        (
            "call_sound_units_total", "fate",
            "Units of sound that were to be transcoded to Opus for calls. Those that are in work have no fate yet.",
            [
                ("in", .callSoundIn), ("transcoded", .callSoundTranscoded), ("broken", .callSoundBroken),
                ("late", .callSoundLate), ("overrun", .callSoundOverrun), ("failed", .callSoundFailed),
            ]
        ),
        (
            "call_sound_packets_total", "fate", "Packets of Opus that were made of them.",
            [("out", .callPacketsOut), ("dropped", .callPacketsDropped)]
        ),
        (
            "frames_shed_total", "by", "Originals that were dropped so that newer ones are in time.",
            [("plan", .shedByPlan), ("before_decoder", .shedBeforeDecoder), ("decoder", .skippedByDecoder)]
        ),
    ]

    static let plain: [(StreamCounters.Counter, String)] = [
        (.inputGaps, "Gaps in the input. What the network never delivered is no frame and is counted here."),
        (.inputMessagesLost, "Messages that the network is known to have lost."),
        (.inputPacketsLost, "Transport packets that continuity counters show to be missing. The real number may be higher."),
        (.inputPacketsBroken, "Packets that are marked as broken, not valid, or (RTP) hold bytes that belong to nothing."),
        (.inputPacketsScrambled, "Scrambled transport packets."),
        (.inputUnitsOversized, "Units that were too large to assemble."),
        (
            .inputUnitsTorn,
            "Units of the main video that were handed on before their end, because the multiplex misled about it."
        ),
        (.inputPacketsUnused, "Transport packets of streams that are not relayed, and of programs that do not pass."),
        (.inputConnections, "Connections of the input."),
        (.outputConnections, "Connections of the output."),
        (.outputMessagesRefused, "Messages that the output refused because it is full or not connected."),
        (.picturesDamaged, "Pictures with concealed errors or lost references."),
        (.picturesDeinterlaced, "Interlaced pictures that were made progressive."),
        (.picturesConverted, "Pictures that were not 8-bit 4:2:0 and were converted."),
        (.picturesDenoised, "Pictures that noise was taken out of."),
        (.captionsPassed, "Pieces of captions (three bytes, without padding) that went out with enhanced pictures."),
        (.captionsDropped, "Pieces of captions of enhanced pictures that no picture could carry in time."),
        (.timelineJumps, "How often the source's time stamps jumped while the output's continued."),
        (.streamsIgnored, "Streams of the program that can be neither enhanced nor passed, each counted once."),
        (
            .synthesisSkipped,
            "Originals without a synthesised frame: by the plan, for lack of time, or because there was no pair."
        ),
        (.keyframesForced, "Keyframes that a receiver or a drop made necessary."),
        (.traceRecordsMissed, "Records of frames that are missing in the trace."),
        (.tilesReused, "Tiles of super-resolution that were copied from the frame before."),
        (.tilesLeft, "Tiles of super-resolution that were planned and not reached in time."),
        (.slates, "Repeated frames that were the grey picture."),
        (.slotsEmpty, "Slots of a constant rate without a frame."),
        (.sourceLosses, "How often the source was lost while its output went on."),
        (.silentUnits, "Units of silence that stood for the sound of a lost source."),
    ]
}
