import Media
import Synchronization

/// Counts events of a stream other than its frames' fates. Thread-safe: any thread may add and read. No call allocates.
///
/// To add a counter: add a case to ``Counter`` and its line in `CounterTable.swift`, and raise the length of `slots` to the number of
/// cases. ``init()`` stops when they differ. Reports list every counter that is not zero.
public final class StreamCounters: Sendable {
    /// Its order is that of the telemetry map. What each counts stands in ``Counter/facts``.
    public enum Counter: Int, CaseIterable, Sendable {
        case inputGaps, inputMessagesLost, inputPacketsLost, inputPacketsBroken, inputPacketsScrambled
        case inputUnitsOversized, inputUnitsTorn, inputPacketsUnused
        case inputConnections, outputConnections, outputMessagesRefused
        case endByLength, endByStuffing, endByNextStart, endByDelimiter, endByFlush, endByTimer
        case picturesDamaged, timelineJumps
        case passingIn, passingOut, passingDropped, passingDamaged, streamsIgnored
        case synthesisSkipped, keyframesForced
        case shedByPlan, shedBeforeDecoder, skippedByDecoder, traceRecordsMissed
        case tilesSmall, tilesMedium, tilesReused, tilesLeft
        case slates, slotsEmpty, sourceLosses, silentUnits
        case picturesDeinterlaced, picturesConverted, picturesDenoised, captionsPassed, captionsDropped
        case callSoundIn, callSoundTranscoded, callSoundBroken, callSoundLate, callSoundOverrun, callSoundFailed
        case callPacketsOut, callPacketsDropped
        case otherProgramPacketsIn, otherProgramPacketsOut, otherProgramPacketsDropped
        case recordingBytes, recordingFiles, recordingDroppedSlow, recordingDroppedFailed, recordingDroppedRefused
        case viewersToEnhanced, viewersToSent, viewersToSound, picturesToViewers
        case tilesQuality
        case viewersToSmall, extraEncoded, extraReplaced, extraThinned, extraMasked, extraFailed, extraTime
    }

    private let values: Values
    private let map: TelemetryMap.Writer?

    /// One atomic for each raw value of ``Counter``. They share cache lines, which is cheap enough because they change at most
    /// a few hundred times a second.
    private struct Values: ~Copyable {
        var slots: InlineArray<71, Atomic<UInt64>> = .init { _ in Atomic(0) }
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
