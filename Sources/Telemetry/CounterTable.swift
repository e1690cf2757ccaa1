extension StreamCounters.Counter {
    /// What is known of a counter: the one home of its name and of what it counts.
    public struct Facts: Sendable {
        /// The name in reports and in the API's answers.
        public var name: String
        /// What it counts, in one sentence for operators.
        public var help: String
        /// The metric that it is a part of, and its label there; nil where it is a metric of its own.
        public var part: (of: Family, label: String)?

        static func own(_ name: String, _ help: String) -> Facts { Facts(name: name, help: help) }

        static func part(of family: Family, _ label: String, _ name: String, _ help: String) -> Facts {
            Facts(name: name, help: help, part: (family, label))
        }
    }

    /// Counters that make one metric, told apart by a label.
    public enum Family: CaseIterable, Sendable {
        case unitsEnded, passingUnits, otherPrograms, callSound, callPackets, viewerLayers, extraPictures, shed, tiles
        case recordingDropped

        public var metric: (name: String, label: String, help: String) {
            switch self {
            case .unitsEnded: ("units_ended_total", "by", "How the end of an access unit of the input was known.")
            case .passingUnits:
                (
                    "passing_units_total", "fate",
                    "Units of sound and data that pass through. Those that are passed on with missing bytes also count as damaged."
                )
            case .otherPrograms:
                (
                    "other_program_packets_total", "fate",
                    "Transport packets of other programs of a multiplex, which pass as they are."
                )
            case .callSound:
                (
                    "call_sound_units_total", "fate",
                    "Units of sound that were to be transcoded to Opus for calls. Those that are in work have no fate yet."
                )
            case .callPackets: ("call_sound_packets_total", "fate", "Packets of Opus that were made of them.")
            case .viewerLayers:
                ("viewer_layer_changes_total", "layer", "Viewers of calls that were to get another layer than before.")
            case .extraPictures:
                (
                    "extra_encode_pictures_total", "fate",
                    "Originals that were to go into the one more encode of a call, for viewers who can get no other pictures."
                )
            case .shed: ("frames_shed_total", "by", "Originals that were dropped so that newer ones are in time.")
            case .tiles: ("tiles_total", "tier", "Tiles of super-resolution that were computed.")
            case .recordingDropped:
                ("recording_units_dropped_total", "reason", "Units that were sent and are not in the recording.")
            }
        }

        /// In the order of the table.
        public var counters: [StreamCounters.Counter] { StreamCounters.Counter.allCases.filter { $0.facts.part?.of == self } }
    }

    /// The name in reports.
    public var name: String { facts.name }

    /// The table: a line for each counter.
    public var facts: Facts {
        switch self {
        // Each gap counts once where the network tells which messages it never delivered. Elsewhere (UDP, files, pipes, and gaps that
        // the sender already had) each stream of the program that lacks packets counts once.
        case .inputGaps:
            .own("input_gaps", "Gaps in the input. What the network never delivered is no frame and is counted here.")
        case .inputMessagesLost: .own("input_messages_lost", "Messages that the network is known to have lost.")
        case .inputPacketsLost:
            .own(
                "input_packets_lost",
                "Transport packets that continuity counters show to be missing. The real number may be higher.")
        case .inputPacketsBroken:
            .own(
                "input_packets_broken",
                "Packets that are marked as broken, not valid, or (RTP) hold bytes that belong to nothing.")
        case .inputPacketsScrambled: .own("input_packets_scrambled", "Scrambled transport packets.")
        // Those of the main video are also dropped as frames.
        case .inputUnitsOversized: .own("input_units_oversized", "Units that were too large to assemble.")
        case .inputUnitsTorn:
            .own(
                "input_units_torn",
                "Units of the main video that were handed on before their end, because the multiplex misled about it.")
        case .inputPacketsUnused:
            .own(
                "input_packets_unused",
                "Transport packets of streams that are not relayed, and of programs that do not pass.")
        case .inputConnections: .own("input_connections", "Connections of the input.")
        case .outputConnections: .own("output_connections", "Connections of the output.")
        case .outputMessagesRefused:
            .own("output_messages_refused", "Messages that the output refused because it is full or not connected.")
        case .endByLength: .part(of: .unitsEnded, "length", "units_ended_by_length", "Its stated length was there.")
        case .endByStuffing: .part(of: .unitsEnded, "stuffing", "units_ended_by_stuffing", "Its last packet was stuffed.")
        case .endByNextStart: .part(of: .unitsEnded, "next_start", "units_ended_by_next_start", "The next unit began.")
        case .endByDelimiter: .part(of: .unitsEnded, "delimiter", "units_ended_by_delimiter", "A delimiter or marker said so.")
        case .endByFlush: .part(of: .unitsEnded, "flush", "units_ended_by_flush", "The input ended.")
        case .endByTimer: .part(of: .unitsEnded, "timer", "units_ended_by_timer", "Nothing more came in time.")
        case .picturesDamaged: .own("pictures_damaged", "Pictures with concealed errors or lost references.")
        case .timelineJumps:
            .own("timeline_jumps", "How often the source's time stamps jumped while the output's continued.")
        case .passingIn: .part(of: .passingUnits, "in", "passing_units_in", "Came in.")
        case .passingOut: .part(of: .passingUnits, "out", "passing_units_out", "Were sent.")
        case .passingDropped: .part(of: .passingUnits, "dropped", "passing_units_dropped", "Were dropped.")
        case .passingDamaged: .part(of: .passingUnits, "damaged", "passing_units_damaged", "Were sent with missing bytes.")
        case .streamsIgnored:
            .own(
                "streams_ignored", "Streams of the program that can be neither enhanced nor passed, each counted once.")
        case .synthesisSkipped:
            .own(
                "synthesis_skipped",
                "Originals without a synthesised frame: by the plan, for lack of time, or because there was no pair.")
        case .keyframesForced:
            .own("keyframes_forced", "Keyframes outside of the usual interval: somebody asked for one, or encode began anew.")
        case .shedByPlan: .part(of: .shed, "plan", "shed_by_plan", "By the plan.")
        case .shedBeforeDecoder: .part(of: .shed, "before_decoder", "shed_before_decoder", "Before the decoder.")
        case .skippedByDecoder:
            .part(of: .shed, "decoder", "skipped_by_decoder", "By the decoder, where no other picture refers to them.")
        case .traceRecordsMissed: .own("trace_records_missed", "Records of frames that are missing in the trace.")
        case .tilesSmall: .part(of: .tiles, "neural-s", "tiles_neural_s", "By the small network.")
        case .tilesMedium: .part(of: .tiles, "neural-m", "tiles_neural_m", "By the medium network.")
        case .tilesQuality: .part(of: .tiles, "quality", "tiles_quality", "By the largest network.")
        case .tilesReused: .own("tiles_reused", "Tiles of super-resolution that were copied from the frame before.")
        case .tilesLeft: .own("tiles_left", "Tiles of super-resolution that were planned and not reached in time.")
        case .slates: .own("slates", "Repeated frames that were the grey picture.")
        // There was no time for a repeat, or the gap was too long.
        case .slotsEmpty: .own("slots_empty", "Slots of a constant rate without a frame.")
        case .sourceLosses: .own("source_losses", "How often the source was lost while its output went on.")
        case .silentUnits: .own("silent_units", "Units of silence that stood for the sound of a lost source.")
        case .picturesDeinterlaced: .own("pictures_deinterlaced", "Interlaced pictures that were made progressive.")
        case .picturesConverted: .own("pictures_converted", "Pictures that were not 8-bit 4:2:0 and were converted.")
        case .picturesDenoised: .own("pictures_denoised", "Pictures that noise was taken out of.")
        case .captionsPassed:
            .own(
                "captions_passed",
                "Pieces of captions (three bytes, without padding) that went out with enhanced pictures.")
        case .captionsDropped:
            .own("captions_dropped", "Pieces of captions of enhanced pictures that no picture could carry in time.")
        case .callSoundIn: .part(of: .callSound, "in", "call_sound_units_in", "Came in.")
        case .callSoundTranscoded: .part(of: .callSound, "transcoded", "call_sound_units_transcoded", "All of it.")
        case .callSoundBroken: .part(of: .callSound, "broken", "call_sound_units_broken", "Some of it could not be decoded.")
        case .callSoundLate: .part(of: .callSound, "late", "call_sound_units_late", "Some of it had no time of its own.")
        case .callSoundOverrun: .part(of: .callSound, "overrun", "call_sound_units_overrun", "Too many units waited.")
        case .callSoundFailed: .part(of: .callSound, "failed", "call_sound_units_failed", "There was no transcoder.")
        case .callPacketsOut: .part(of: .callPackets, "out", "call_sound_packets_out", "Were sent to a viewer.")
        case .callPacketsDropped:
            .part(of: .callPackets, "dropped", "call_sound_packets_dropped", "Too many waited, or no viewer accepted them.")
        case .viewersToEnhanced: .part(of: .viewerLayers, "enhanced", "viewers_to_enhanced", "The enhanced pictures.")
        case .viewersToSent: .part(of: .viewerLayers, "sent", "viewers_to_sent", "The publisher's own pictures.")
        case .viewersToSmall: .part(of: .viewerLayers, "small", "viewers_to_small", "The smaller encode.")
        case .viewersToSound: .part(of: .viewerLayers, "sound", "viewers_to_sound", "Sound alone.")
        case .extraEncoded: .part(of: .extraPictures, "encoded", "extra_pictures_encoded", "Were encoded.")
        case .extraReplaced:
            .part(of: .extraPictures, "replaced", "extra_pictures_replaced", "A newer one came while the encoder was busy.")
        case .extraThinned:
            .part(of: .extraPictures, "thinned", "extra_pictures_thinned", "There are too few bits for each picture.")
        case .extraMasked:
            .part(of: .extraPictures, "masked", "extra_pictures_masked", "Were made before the mask was set that holds now.")
        case .extraFailed: .part(of: .extraPictures, "failed", "extra_pictures_failed", "The encoder gave nothing.")
        case .extraTime:
            .own("extra_encode_microseconds", "Processor time of the one more encode of a call, in microseconds.")
        case .picturesToViewers:
            .own(
                "pictures_to_viewers",
                "Pictures that went to some viewers of calls as they came, beside what was made of them.")
        case .otherProgramPacketsIn: .part(of: .otherPrograms, "in", "other_program_packets_in", "Came in.")
        case .otherProgramPacketsOut: .part(of: .otherPrograms, "out", "other_program_packets_out", "Were sent to a receiver.")
        case .otherProgramPacketsDropped:
            .part(of: .otherPrograms, "dropped", "other_program_packets_dropped", "No receiver accepted them.")
        case .recordingBytes: .own("recording_bytes", "Bytes of recordings that were written.")
        case .recordingFiles: .own("recording_files", "Files of recordings that were begun.")
        case .recordingDroppedSlow:
            .part(of: .recordingDropped, "slow", "recording_units_dropped_slow", "The disk was too slow.")
        case .recordingDroppedFailed:
            .part(of: .recordingDropped, "failed", "recording_units_dropped_failed", "The file could not be opened or written.")
        case .recordingDroppedRefused:
            .part(of: .recordingDropped, "refused", "recording_units_dropped_refused", "MP4 does not hold them.")
        }
    }
}
