import Media
import Synchronization

/// Counts events of a stream other than its frames' fates. Thread-safe: any thread may add and read. No call allocates.
///
/// To add a counter: add a case to ``Counter`` and its ``Counter/name``, and raise the length of `slots` to the number of
/// cases. ``init()`` stops when they differ. Reports list every counter that is not zero.
public final class StreamCounters: Sendable {
    public enum Counter: Int, CaseIterable, Sendable {
        /// Gaps in the input. Where the network tells which messages it never delivered, each gap counts once. Elsewhere (UDP,
        /// files, pipes, and gaps that the sender already had) each stream of the program that lacks packets counts once.
        case inputGaps
        case inputMessagesLost
        /// Transport packets that continuity counters show to be missing. The real number may be higher.
        case inputPacketsLost
        /// Transport packets that an earlier receiver marked as broken, or that are not valid, and RTP packets of video that hold
        /// bytes which belong to nothing.
        case inputPacketsBroken
        case inputPacketsScrambled
        /// Units that were too large to assemble. Those of the main video are also dropped as frames.
        case inputUnitsOversized
        /// Units of the main video that were handed on before their end, because the multiplex misled about it.
        case inputUnitsTorn
        /// Transport packets of streams that are not relayed, and of tables and programs that do not pass.
        case inputPacketsUnused
        case inputConnections
        case outputConnections
        /// Messages that the output refused because it is full or not connected.
        case outputMessagesRefused
        /// How the end of an access unit was known.
        case endByLength, endByStuffing, endByNextStart, endByDelimiter, endByFlush, endByTimer
        /// Pictures with concealed errors or lost references.
        case picturesDamaged
        /// How often the source's time stamps jumped while the output's continued.
        case timelineJumps
        /// Units of streams that pass through. Units that are passed on with missing bytes also count as damaged.
        case passingIn, passingOut, passingDropped, passingDamaged
        /// Streams of the program that can be neither enhanced nor passed, each counted once.
        case streamsIgnored
        /// Originals without a synthesised frame: by the plan, for lack of time, or because there was no pair.
        case synthesisSkipped
        case keyframesForced
        /// Originals that were dropped so that newer ones are in time: by the plan, and before the decoder.
        case shedByPlan, shedBeforeDecoder
        /// Pictures that the decoder skipped because no other picture refers to them.
        case skippedByDecoder
        /// Records of frames that are missing in the trace.
        case traceRecordsMissed
        /// Tiles of super-resolution: computed by the small and by the medium network, copied from the frame before, and
        /// requested but not reached in time.
        case tilesSmall, tilesMedium, tilesReused, tilesLeft
        /// Repeated frames that were the slate picture.
        case slates
        /// Slots of a constant rate without a frame, because there was no time for a repeat or the gap was too long.
        case slotsEmpty
        /// How often the source was lost while its output went on, and the units of silence that stood for its sound.
        case sourceLosses, silentUnits
        /// Interlaced pictures that were made progressive, and pictures that were not 8-bit 4:2:0.
        case picturesDeinterlaced, picturesConverted
        /// Pictures that noise was taken out of.
        case picturesDenoised
        /// Pieces of captions, without padding, of pictures that were enhanced: that went out with a picture, and for which there was
        /// none in time.
        case captionsPassed, captionsDropped
        /// Units of sound that were to be transcoded for calls, and what became of each: all of it was transcoded, some of it could not
        /// be decoded, some of it had no time of its own, too many units waited, or there was no transcoder.
        case callSoundIn, callSoundTranscoded, callSoundBroken, callSoundLate, callSoundOverrun, callSoundFailed
        /// Packets of Opus that were made of them: sent to a viewer, or lost because too many waited or no viewer accepted them.
        case callPacketsOut, callPacketsDropped
        /// Transport packets of other programs, and of tables of the whole stream, that pass as they are: sent to a receiver, or dropped
        /// because none accepted them.
        case otherProgramPacketsIn, otherProgramPacketsOut, otherProgramPacketsDropped

        /// The name in reports.
        public var name: String {
            switch self {
            case .inputGaps: "input_gaps"
            case .inputMessagesLost: "input_messages_lost"
            case .inputPacketsLost: "input_packets_lost"
            case .inputPacketsBroken: "input_packets_broken"
            case .inputPacketsScrambled: "input_packets_scrambled"
            case .inputUnitsOversized: "input_units_oversized"
            case .inputUnitsTorn: "input_units_torn"
            case .inputPacketsUnused: "input_packets_unused"
            case .inputConnections: "input_connections"
            case .outputConnections: "output_connections"
            case .outputMessagesRefused: "output_messages_refused"
            case .endByLength: "units_ended_by_length"
            case .endByStuffing: "units_ended_by_stuffing"
            case .endByNextStart: "units_ended_by_next_start"
            case .endByDelimiter: "units_ended_by_delimiter"
            case .endByFlush: "units_ended_by_flush"
            case .endByTimer: "units_ended_by_timer"
            case .picturesDamaged: "pictures_damaged"
            case .picturesDeinterlaced: "pictures_deinterlaced"
            case .picturesConverted: "pictures_converted"
            case .picturesDenoised: "pictures_denoised"
            case .captionsPassed: "captions_passed"
            case .captionsDropped: "captions_dropped"
            case .timelineJumps: "timeline_jumps"
            case .passingIn: "passing_units_in"
            case .passingOut: "passing_units_out"
            case .passingDropped: "passing_units_dropped"
            case .passingDamaged: "passing_units_damaged"
            case .streamsIgnored: "streams_ignored"
            case .synthesisSkipped: "synthesis_skipped"
            case .keyframesForced: "keyframes_forced"
            case .shedByPlan: "shed_by_plan"
            case .shedBeforeDecoder: "shed_before_decoder"
            case .skippedByDecoder: "skipped_by_decoder"
            case .traceRecordsMissed: "trace_records_missed"
            case .tilesSmall: "tiles_neural_s"
            case .tilesMedium: "tiles_neural_m"
            case .tilesReused: "tiles_reused"
            case .tilesLeft: "tiles_left"
            case .slates: "slates"
            case .slotsEmpty: "slots_empty"
            case .sourceLosses: "source_losses"
            case .silentUnits: "silent_units"
            case .callSoundIn: "call_sound_units_in"
            case .callSoundTranscoded: "call_sound_units_transcoded"
            case .callSoundBroken: "call_sound_units_broken"
            case .callSoundLate: "call_sound_units_late"
            case .callSoundOverrun: "call_sound_units_overrun"
            case .callSoundFailed: "call_sound_units_failed"
            case .callPacketsOut: "call_sound_packets_out"
            case .callPacketsDropped: "call_sound_packets_dropped"
            case .otherProgramPacketsIn: "other_program_packets_in"
            case .otherProgramPacketsOut: "other_program_packets_out"
            case .otherProgramPacketsDropped: "other_program_packets_dropped"
            }
        }
    }

    private let values: Values
    private let map: TelemetryMap.Writer?

    /// One atomic for each raw value of ``Counter``. They share cache lines, which is cheap enough because they change at most
    /// a few hundred times a second.
    private struct Values: ~Copyable {
        var slots: InlineArray<54, Atomic<UInt64>> = .init { _ in Atomic(0) }
        /// For each kind of step: pictures, and nanoseconds.
        var steps: InlineArray<32, Atomic<UInt64>> = .init { _ in Atomic(0) }
    }

    /// - Parameter map: counts the same for other processes, and goes on from what it has; nil where none read it.
    public init(map: TelemetryMap.Writer? = nil) {
        self.map = map
        values = Values()
        precondition(
            values.slots.count == Counter.allCases.count,
            "set the length of the slots in StreamCounters to the number of counters")
    }

    public func add(_ counter: Counter, _ n: UInt64 = 1) {
        values.slots[counter.rawValue].add(n, ordering: .relaxed)
        map?.add(counter, n)
    }

    public subscript(counter: Counter) -> UInt64 { values.slots[counter.rawValue].load(ordering: .relaxed) }

    /// Counts a picture that a step changed.
    /// - Parameter time: what that took.
    public func add(_ step: StepKind, _ time: Nanoseconds) {
        let (slot, time) = (2 * Int(step.rawValue), UInt64(max(time, .zero).count))
        values.steps[slot].add(1, ordering: .relaxed)
        values.steps[slot + 1].add(time, ordering: .relaxed)
        map?.add(step, time)
    }

    public subscript(step: StepKind) -> StepFigures {
        let slot = 2 * Int(step.rawValue)
        let time = Int64(clamping: values.steps[slot + 1].load(ordering: .relaxed))
        return StepFigures(pictures: values.steps[slot].load(ordering: .relaxed), time: Nanoseconds(time))
    }
}

extension StreamCounters.Counter {
    /// What counts the pictures that a step changed; nil for a step without a counter of its own.
    public init?(_ step: StepKind) {
        switch step {
        case .deinterlace: self = .picturesDeinterlaced
        case .denoise: self = .picturesDenoised
        default: return nil
        }
    }
}

/// What a step did.
public struct StepFigures: Hashable, Sendable {
    /// Pictures that it changed.
    public var pictures: UInt64
    /// What they took together.
    public var time: Nanoseconds

    public init(pictures: UInt64 = 0, time: Nanoseconds = .zero) {
        self.pictures = pictures
        self.time = time
    }
}
