import Media
import Schedule

/// Maps the input's time stamps to the output's.
///
/// While the source runs on, the differences between stamps stay the same. When it stops, restarts or changes its clock, the
/// output's stamps go on without a jump. They never go back by more than the input's own reordering.
///
/// All streams of a program share one timeline, so they keep their offsets. Only frames move it. When a frame's stamp lies too
/// far from the newest one, a new *epoch* begins: its output stamp lies as far after the newest output stamp as its arrival
/// lies after that one's. Passing streams (sound, data) follow the frames. They move nothing, because two streams that lie
/// apart would push each other, and the output's clock, further and further. There is one exception: while no frame has come, at
/// the start and after a restart, the first stamp of any stream begins an epoch, and the first frame joins or replaces it.
/// Sound and video cross a jump at different moments, so stamps of the epoch before are recognised for a while.
///
/// At a constant output rate the first frame of an epoch lies on a slot, and passing streams move with it. So an input whose
/// rate divides the output's is shown as it came, and its sound keeps its place to the tick.
///
/// A pure value, confined to its owner.
struct Timeline {
    /// What the timeline makes of a stamp.
    struct Mapped: Equatable {
        var output: MediaTime
        /// The frame is the first of an epoch that is not the first of all.
        var isJump: Bool
        /// The number of its epoch.
        var epoch: UInt32
        /// How far the frame moved its epoch forward, in ticks. Stamps that were mapped in that epoch before belong so much later.
        var moved: Int64 = 0
    }

    private struct Epoch {
        var offset: Int64
        /// The newest frame's stamp; before the first frame, the newest stamp of any passing stream.
        var newestInput: MediaTime
        var number: UInt32
        /// Whether other epochs came before.
        var isJump: Bool
        var hasFrames: Bool
        /// How far a passing stream has run on since the newest frame, in ticks.
        var advance: Int64 = 0

        /// Whether a frame's stamp belongs to this epoch. A source that stalls and goes on skips little more than its stall. Where
        /// frames are few or stop, the passing streams show that the clock runs on.
        func admits(_ input: MediaTime) -> Bool {
            let step = input - newestInput
            return step >= -MediaTime.ticksPerSecond && step <= 3 * MediaTime.ticksPerSecond + advance
        }

        /// Whether a passing stream's stamp belongs to this epoch. In a good multiplex the streams of a program lie less than a
        /// second apart, in a bad one some seconds.
        func admits(passing input: MediaTime) -> Bool {
            let step = input - newestInput
            return step >= -Timeline.longestOffset && step <= Timeline.longestOffset + advance
        }

        func distance(_ input: MediaTime) -> UInt64 { (input - newestInput).magnitude }
    }

    private struct PassingStream {
        var last: MediaTime?
        /// How far it has run on without a leap since the newest frame, in ticks.
        var run: Int64 = 0
    }

    /// The first output stamp. It is clear of zero, because decoding times and clock references lie before it.
    static let start = MediaTime(ticks: MediaTime.ticksPerSecond)

    /// How long after a jump stamps of the epoch before are recognised.
    private static let formerEpochTimeout = Nanoseconds.seconds(1)
    /// How far a passing stream may lie from the frames, in ticks.
    private static let longestOffset = 10 * MediaTime.ticksPerSecond
    /// A longer step of a passing stream is a leap.
    private static let longestStep = MediaTime.ticksPerSecond
    /// For how long frames may come for slots that repeats have filled. After that the source's clock counts as stalled.
    private static let stalledClockTimeout = Nanoseconds.milliseconds(500)
    /// Frames that may come after the newest one and be shown before it (H.264, A.3.1).
    private static let mostReordered = 16

    /// How far a source that has run on beside a change of processes may be from where it should be, in ticks: its jitter.
    private static let longestDrift = MediaTime.ticksPerSecond

    /// The slots of a constant output rate; nil where there is none.
    private let grid: SlotGrid?
    private var current: Epoch?
    private var former: Epoch?
    private var newestOutput = Timeline.start
    private var newestArrival = MonotonicTime(nanoseconds: 0)
    private var newestFrame: (output: MediaTime, arrival: MonotonicTime)?
    private var began = MonotonicTime(nanoseconds: 0)
    private var restarted = false
    private var behindSince: MonotonicTime?
    /// Frames that have come since the newest stamp.
    private var behind = 0
    private var passing: [PassingStream] = []

    /// Set until the first frame of a process that goes on where another one ended.
    private var predecessor: TimelineEnd?

    /// - Parameter end: where another process ended, to go on there. A source that has run on meanwhile keeps its offset. The
    ///   first frame of any other source lies as far after the newest one as it arrives after that one.
    init(grid: SlotGrid? = nil, resuming end: TimelineEnd? = nil) {
        self.grid = grid
        guard let end else { return }
        predecessor = end
        newestOutput = end.output
        newestArrival = end.arrival
        newestFrame = (end.output, end.arrival)
        current = Epoch(
            offset: end.offset, newestInput: end.output + -end.offset, number: 0, isJump: false, hasFrames: true)
    }

    /// Ticks that the output is ahead of the source's stamps; nil before the first stamp.
    var offset: Int64? { current?.offset }

    /// Finds out from its first frame whether the source has run on since the other process ended.
    private mutating func meet(_ input: MediaTime, arrival: MonotonicTime) {
        guard let end = predecessor.take() else { return }
        let elapsed = MediaTime.ticks(in: arrival - end.arrival)
        let output = input + end.offset
        let error = output - (end.output + elapsed)
        if output > end.output, abs(error) <= Self.longestDrift {
            current?.advance = elapsed
        } else {
            restarted = true
        }
    }

    /// The epoch that a passing stream began, and that the first frame may move; nil when there is none.
    var provisionalEpoch: UInt32? { current.flatMap { $0.hasFrames ? nil : $0.number } }

    /// The source was gone and is back. The next stamp begins a new epoch, however near it is.
    mutating func sourceRestarted() { restarted = current != nil }

    /// Maps a frame's stamp.
    /// - Parameters:
    ///   - input: the unwrapped stamp as the demuxer gives it.
    ///   - arrival: when it arrived; bridges a jump.
    mutating func map(_ input: MediaTime, arrival: MonotonicTime) -> Mapped {
        meet(input, arrival: arrival)
        guard let epoch = current else { return begin(input, arrival: arrival, asFrame: true) }
        guard !restarted else {
            former = nil
            return begin(input, arrival: arrival, asFrame: true)
        }
        if epoch.admits(input) {
            guard epoch.hasFrames else { return join(epoch, input, arrival: arrival) }
            current!.newestInput = max(epoch.newestInput, input)
            if input >= epoch.newestInput { forgetRuns() }
            let output = placeAfterGap(input + epoch.offset)
            current!.offset = output - input
            return recordFrame(output, arrival: arrival)
        }
        if let former, arrival - began < Self.formerEpochTimeout, former.admits(input) {
            return Mapped(output: input + former.offset, isJump: false, epoch: former.number)
        }
        former = epoch.hasFrames ? epoch : nil
        return begin(input, arrival: arrival, asFrame: true)
    }

    /// Maps the first frame of an epoch that a passing stream began. The frame moves the epoch onto the next slot, and after a
    /// jump by at least the time since the last frame. It moves it forward only, so that no stream goes back.
    private mutating func join(_ epoch: Epoch, _ input: MediaTime, arrival: MonotonicTime) -> Mapped {
        let place = input + epoch.offset
        var output = place
        if epoch.isJump, let newestFrame {
            output = max(output, newestFrame.output + max(1, MediaTime.ticks(in: arrival - newestFrame.arrival)))
        }
        output = slot(near: output, after: output + -1)
        current!.offset += output - place
        current!.newestInput = input
        current!.hasFrames = true
        forgetRuns()
        var mapped = recordFrame(output, arrival: arrival)
        mapped.isJump = epoch.isJump
        mapped.moved = output - place
        return mapped
    }

    /// Lays a frame on a slot again, a little later, when frames lay on slots before a gap and no longer do: the source was cut.
    private func placeAfterGap(_ output: MediaTime) -> MediaTime {
        guard let newestFrame, output - newestFrame.output > Cadence.longestPair,
            liesOnSlot(newestFrame.output), !liesOnSlot(output)
        else { return output }
        return slot(near: output, after: output + -1)
    }

    /// Whether a time is a slot's, to the tick: stamps are rounded.
    private func liesOnSlot(_ time: MediaTime) -> Bool { abs(slot(near: time, after: time + -2) - time) <= 1 }

    /// The nearest slot that is later than another time; without slots, the time itself.
    private func slot(near time: MediaTime, after earliest: MediaTime) -> MediaTime {
        guard let grid else { return time }
        let before = grid.slot(at: time)
        let isNearer = time - grid.time(of: before) <= grid.time(of: before + 1) - time
        return grid.time(of: max(isNearer ? before : before + 1, grid.slot(at: earliest) + 1))
    }

    /// Maps the stamp of a passing stream.
    /// - Parameters:
    ///   - stream: its index among the passing streams.
    /// - Returns: nil while the stamp has nothing to do with the frames' stamps.
    mutating func map(passing input: MediaTime, stream: Int, arrival: MonotonicTime) -> MediaTime? {
        guard let epoch = current, !restarted else {
            former = nil
            return begin(input, arrival: arrival, asFrame: false).output
        }
        guard epoch.hasFrames else {
            guard epoch.admits(input) else { return nil }
            current!.newestInput = max(epoch.newestInput, input)
            return record(input + epoch.offset, arrival: arrival).output
        }
        let isFresh = arrival - began < Self.formerEpochTimeout
        let former = former.flatMap { $0.admits(passing: input) ? $0 : nil }
        if !epoch.admits(input), let former,
            isFresh && former.distance(input) < epoch.distance(input) || !epoch.admits(passing: input),
            arrival - began < MediaTime(ticks: Self.longestOffset).nanoseconds
        {
            return input + former.offset
        }
        guard epoch.admits(passing: input) else { return nil }
        recordRun(of: stream, to: input)
        return input + epoch.offset
    }

    private mutating func recordRun(of stream: Int, to input: MediaTime) {
        while passing.count <= stream { passing.append(PassingStream()) }
        if let last = passing[stream].last, input > last, input - last <= Self.longestStep {
            passing[stream].run += input - last
            current!.advance = max(current!.advance, passing[stream].run)
        }
        passing[stream].last = input
    }

    private mutating func forgetRuns() {
        for index in passing.indices { passing[index].run = 0 }
        current!.advance = 0
    }

    /// Maps a frame's stamp, and detects a source clock that stands still or goes round in a circle.
    ///
    /// When frames keep coming for times that were shown already, a new epoch begins for all streams. At a constant rate it
    /// is laid so that the frame's deadline has the same distance from its slot as the deadlines of the slots before.
    /// Otherwise it is laid as much later as time has passed.
    /// - Parameters:
    ///   - emitBy: the frame's deadline.
    ///   - filled: the newest slot that was filled because nothing came; nil without a constant rate.
    mutating func map(
        frame input: MediaTime, arrival: MonotonicTime, emitBy: MonotonicTime, filled: Repeater.Filled?
    ) -> Mapped {
        let shown = filled?.slot ?? newestFrame?.output ?? MediaTime(ticks: .min)
        let mapped = map(input, arrival: arrival)
        guard mapped.output <= shown else {
            behindSince = nil
            behind = 0
            return mapped
        }
        behind += 1
        let since = behindSince ?? arrival
        behindSince = since
        guard arrival - since >= Self.stalledClockTimeout, filled != nil || behind > Self.mostReordered else { return mapped }
        behindSince = nil
        behind = 0
        former = nil
        let place = filled.map { $0.slot + max(MediaTime.ticks(in: emitBy - $0.emitBy), 1) }
        return begin(input, at: place, arrival: arrival, asFrame: true)
    }

    /// - Parameters:
    ///   - output: where to lay it; nil for the very start, or as far after the newest one as it came after that.
    ///   - asFrame: whether the stamp is a frame's.
    private mutating func begin(
        _ input: MediaTime, at output: MediaTime? = nil, arrival: MonotonicTime, asFrame: Bool
    ) -> Mapped {
        // A first frame that lies elsewhere than the passing stream before it is no jump.
        let isJump = restarted || current.map { $0.hasFrames || $0.isJump } ?? false
        let waited = max(arrival - newestArrival, .milliseconds(1))
        let occupied = output.map { $0 + -1 } ?? newestOutput
        var output = output ?? (current == nil ? Self.start : newestOutput + MediaTime.ticks(in: waited))
        if asFrame, current != nil { output = slot(near: output, after: occupied) }
        current = Epoch(
            offset: output - input, newestInput: input, number: current.map { $0.number &+ 1 } ?? 0, isJump: isJump,
            hasFrames: asFrame)
        restarted = false
        began = arrival
        if output == newestOutput { newestArrival = arrival }
        forgetRuns()
        var mapped = asFrame ? recordFrame(output, arrival: arrival) : record(output, arrival: arrival)
        mapped.isJump = isJump && asFrame
        return mapped
    }

    private mutating func recordFrame(_ output: MediaTime, arrival: MonotonicTime) -> Mapped {
        if newestFrame.map({ output >= $0.output }) ?? true { newestFrame = (output, arrival) }
        return record(output, arrival: arrival)
    }

    private mutating func record(_ output: MediaTime, arrival: MonotonicTime) -> Mapped {
        if output > newestOutput {
            newestOutput = output
            newestArrival = arrival
        }
        return Mapped(output: output, isJump: false, epoch: current!.number)
    }
}

/// Where a timeline ended, for one that goes on in another process.
struct TimelineEnd: Equatable {
    /// The newest frame that went out: its time, and when it had arrived.
    var output: MediaTime
    var arrival: MonotonicTime
    /// Ticks that the output was ahead of the source's stamps.
    var offset: Int64
}
