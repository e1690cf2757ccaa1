import Synchronization

/// What is counted of a stream beside its frames. Any thread adds, any thread reads; nothing allocates.
public final class StreamCounters: Sendable {
    public enum Counter: Int, CaseIterable, Sendable {
        /// Holes in the input: where the network tells which messages it never delivered, once a hole; where it does not
        /// (UDP, files, pipes), and for what was missing already, once for each of the program's streams that lacks packets.
        case inputGaps
        case inputMessagesLost
        /// Transport packets that continuity counters show to be missing; at least so many.
        case inputPacketsLost
        /// Transport packets that a receiver before us marked as broken, or that make no sense.
        case inputPacketsBroken
        case inputPacketsScrambled
        /// Units that were too large to be put together; those of the video are frames, and dropped as such.
        case inputUnitsOversized
        /// Units of the main video that were handed on before their end, by a multiplex that misleads.
        case inputUnitsTorn
        /// Transport packets of other programs, of streams that are left out, and of tables that are not the program's.
        case inputPacketsUnused
        case inputConnections
        case outputConnections
        /// Messages that were not taken by an output that is full or not there.
        case outputMessagesRefused
        /// How the end of an access unit was known.
        case endByLength, endByStuffing, endByNextStart, endByDelimiter, endByFlush, endByTimer
        /// Pictures with concealed errors or lost references.
        case picturesDamaged
        /// Times the source's stamps jumped and the output's went on.
        case timelineJumps
        /// Units of streams that pass through; those that are passed on with bytes missing count as damaged too.
        case passingIn, passingOut, passingDropped, passingDamaged
        /// Streams of the program that can be neither enhanced nor passed, each counted once.
        case streamsIgnored
        /// Originals without a synthesised frame beside them: by decision of the schedule, for want of time, or because
        /// there was no pair.
        case synthesisSkipped
        case keyframesForced
        /// Originals given up so that newer ones are in time: by the plan, and before the decoder.
        case shedByPlan, shedBeforeDecoder
        /// Pictures that the decoder left out because no other refers to them.
        case skippedByDecoder
        /// Records of frames that are not in the trace that was asked for.
        case traceRecordsMissed
        /// Tiles of super-resolution: computed by the small and the medium network, copied from the frame before, and
        /// asked for but not reached in time.
        case tilesSmall, tilesMedium, tilesReused, tilesLeft
        /// Repeated frames that were the slate picture.
        case slates
        /// Slots of a constant rate without a frame: the machine had no time for a repeat, or too many came at once.
        case slotsEmpty

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
            }
        }
    }

    private let values: Values

    /// Each on its own, without false sharing to speak of: these move a few hundred times a second at most.
    private struct Values: ~Copyable {
        var slots: InlineArray<40, Atomic<UInt64>> = .init { _ in Atomic(0) }
    }

    public init() { values = Values() }

    public func add(_ counter: Counter, _ n: UInt64 = 1) {
        values.slots[counter.rawValue].add(n, ordering: .relaxed)
    }

    public subscript(counter: Counter) -> UInt64 { values.slots[counter.rawValue].load(ordering: .relaxed) }
}
