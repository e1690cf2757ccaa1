import Media
import Schedule

/// Maps the input's time stamps to the output's: the same differences as long as the source runs on, and no jump when it
/// stops, restarts or changes its clock. The output's stamps never go back by more than the input's own reordering.
///
/// All streams of a program share one timeline, so their offsets to each other stay as they came. It is the frames' own: a
/// frame's stamp too far from the newest one is a new epoch, laid as far after the newest output stamp as its arrival was
/// after that one's. What passes beside the frames is laid where they are. It moves nothing: two streams that lie apart
/// would push each other, and the output's clock with them, ever further. Only where no frame has come yet, at the start
/// and after a restart, does the first stamp of any stream begin an epoch, which the first frame joins or replaces.
/// Stamps of the epoch before are still recognised, since audio and video cross a jump at different moments.
///
/// At a constant output rate the first frame of an epoch lies on a slot, and whatever passes beside the frames moves with
/// them: so an input whose rate goes with the output's is shown as it came, and its sound keeps its place to the tick.
///
/// A pure value; its owner is the only one who touches it.
struct Timeline {
    /// What the timeline makes of a stamp.
    struct Mapped: Equatable {
        var output: MediaTime
        /// The frame is the first of an epoch that is not the first of all.
        var isJump: Bool
        /// The number of its epoch.
        var epoch: UInt32
        /// How far forward its epoch has been moved with it: what was mapped in that epoch before belongs so much later.
        var moved: Int64 = 0
    }

    private struct Epoch {
        var offset: Int64
        /// The newest frame's; before the first frame, that of the streams beside it.
        var newestInput: MediaTime
        var number: UInt32
        /// It goes on after other epochs.
        var isJump: Bool
        var hasFrames: Bool
        /// How far a stream has run on beside the frames since the newest one.
        var advance: Int64 = 0

        /// A source that stalls and goes on skips little more than its stall; where frames are few or stop, the streams
        /// beside them show that its clock runs on.
        func admits(_ input: MediaTime) -> Bool {
            let step = input - newestInput
            return step >= -MediaTime.ticksPerSecond && step <= 3 * MediaTime.ticksPerSecond + advance
        }

        /// Streams of one program lie less than a second apart in a good multiplex, and some seconds in a bad one.
        func admits(passing input: MediaTime) -> Bool {
            let step = input - newestInput
            return step >= -Timeline.apart && step <= Timeline.apart + advance
        }

        func distance(_ input: MediaTime) -> UInt64 { (input - newestInput).magnitude }
    }

    /// A stream beside the frames.
    private struct Beside {
        var last: MediaTime?
        /// How far it has come without a leap since the newest frame.
        var run: Int64 = 0
    }

    /// Where the first output stamp lies: clear of zero, so that decoding times and clock references before it exist.
    static let start = MediaTime(ticks: MediaTime.ticksPerSecond)

    /// How long after a jump stamps of the epoch before it may still come.
    private static let crossing = Nanoseconds.seconds(1)
    /// The most that a stream may lie apart from the frames.
    private static let apart = 10 * MediaTime.ticksPerSecond
    /// A longer step of a stream beside the frames is a leap.
    private static let stride = MediaTime.ticksPerSecond
    /// How long frames may come for slots that repeats have taken before the source's clock is held to have stood still.
    private static let patience = Nanoseconds.milliseconds(500)
    /// So many may come behind the newest one because they are shown before it (H.264, A.3.1).
    private static let mostReordered = 16

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
    /// How many frames have come since the newest stamp.
    private var behind = 0
    private var beside: [Beside] = []

    init(grid: SlotGrid? = nil) { self.grid = grid }

    /// The epoch that was begun beside the frames and may be moved by the first of them; nil when there is none.
    var provisionalEpoch: UInt32? { current.flatMap { $0.hasFrames ? nil : $0.number } }

    /// The source was gone and is back: whatever comes next begins a new epoch, however near its stamp is.
    mutating func sourceRestarted() { restarted = current != nil }

    /// Maps a frame's stamp.
    /// - Parameters:
    ///   - input: the unwrapped stamp as the demuxer gives it.
    ///   - arrival: when it arrived; bridges a jump.
    mutating func map(_ input: MediaTime, arrival: MonotonicTime) -> Mapped {
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
            return noteFrame(output, arrival: arrival)
        }
        if let former, arrival - began < Self.crossing, former.admits(input) {
            return Mapped(output: input + former.offset, isJump: false, epoch: former.number)
        }
        former = epoch.hasFrames ? epoch : nil
        return begin(input, arrival: arrival, asFrame: true)
    }

    /// The first frame of an epoch that other streams have begun. It moves the epoch, forward only, so that no stream goes
    /// back: onto the next slot, and after a jump not before the time that has passed since the last frame.
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
        var mapped = noteFrame(output, arrival: arrival)
        mapped.isJump = epoch.isJump
        mapped.moved = output - place
        return mapped
    }

    /// Frames that lay on slots, and after a gap no longer do, were cut: they are laid on slots again, a little later.
    private func placeAfterGap(_ output: MediaTime) -> MediaTime {
        guard let newestFrame, output - newestFrame.output > Cadence.longestPair,
            liesOnSlot(newestFrame.output), !liesOnSlot(output)
        else { return output }
        return slot(near: output, after: output + -1)
    }

    /// To the tick, as stamps are rounded.
    private func liesOnSlot(_ time: MediaTime) -> Bool { abs(slot(near: time, after: time + -2) - time) <= 1 }

    /// The nearest slot that is later than another time; without slots, the time itself.
    private func slot(near time: MediaTime, after earliest: MediaTime) -> MediaTime {
        guard let grid else { return time }
        let before = grid.slot(at: time)
        let isNearer = time - grid.time(of: before) <= grid.time(of: before + 1) - time
        return grid.time(of: max(isNearer ? before : before + 1, grid.slot(at: earliest) + 1))
    }

    /// Maps the stamp of a stream beside the frames.
    /// - Parameters:
    ///   - stream: which one; small numbers.
    /// - Returns: nil where it has nothing to do with the frames' stamps, or not yet.
    mutating func map(passing input: MediaTime, stream: Int, arrival: MonotonicTime) -> MediaTime? {
        guard let epoch = current, !restarted else {
            former = nil
            return begin(input, arrival: arrival, asFrame: false).output
        }
        guard epoch.hasFrames else {
            guard epoch.admits(input) else { return nil }
            current!.newestInput = max(epoch.newestInput, input)
            return note(input + epoch.offset, arrival: arrival).output
        }
        let isFresh = arrival - began < Self.crossing
        let former = former.flatMap { $0.admits(passing: input) ? $0 : nil }
        if !epoch.admits(input), let former,
            isFresh && former.distance(input) < epoch.distance(input) || !epoch.admits(passing: input),
            arrival - began < MediaTime(ticks: Self.apart).nanoseconds
        {
            return input + former.offset
        }
        guard epoch.admits(passing: input) else { return nil }
        noteRun(of: stream, to: input)
        return input + epoch.offset
    }

    private mutating func noteRun(of stream: Int, to input: MediaTime) {
        while beside.count <= stream { beside.append(Beside()) }
        if let last = beside[stream].last, input > last, input - last <= Self.stride {
            beside[stream].run += input - last
            current!.advance = max(current!.advance, beside[stream].run)
        }
        beside[stream].last = input
    }

    private mutating func forgetRuns() {
        for index in beside.indices { beside[index].run = 0 }
        current!.advance = 0
    }

    /// Maps a frame's stamp where a clock that stands still, or goes round in a circle, is to be noticed: when frames go on
    /// to come for what has been shown, a new epoch begins for all streams. Where repeats fill the slots that nothing comes
    /// for, it is laid so that the frame's deadline stands to its slot as those of the slots before do; else as much later as
    /// time has passed.
    /// - Parameters:
    ///   - emitBy: the frame's deadline.
    ///   - filled: the newest slot that was filled because nothing came; nil where there are none.
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
        guard arrival - since >= Self.patience, filled != nil || behind > Self.mostReordered else { return mapped }
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
        // Where the frames are not where another stream has begun, nothing has jumped.
        let isJump = restarted || current.map { $0.hasFrames || $0.isJump } ?? false
        let waited = max(arrival - newestArrival, .milliseconds(1))
        let taken = output.map { $0 + -1 } ?? newestOutput
        var output = output ?? (current == nil ? Self.start : newestOutput + MediaTime.ticks(in: waited))
        if asFrame, current != nil { output = slot(near: output, after: taken) }
        current = Epoch(
            offset: output - input, newestInput: input, number: current.map { $0.number &+ 1 } ?? 0, isJump: isJump,
            hasFrames: asFrame)
        restarted = false
        began = arrival
        if output == newestOutput { newestArrival = arrival }
        forgetRuns()
        var mapped = asFrame ? noteFrame(output, arrival: arrival) : note(output, arrival: arrival)
        mapped.isJump = isJump && asFrame
        return mapped
    }

    private mutating func noteFrame(_ output: MediaTime, arrival: MonotonicTime) -> Mapped {
        if newestFrame.map({ output >= $0.output }) ?? true { newestFrame = (output, arrival) }
        return note(output, arrival: arrival)
    }

    private mutating func note(_ output: MediaTime, arrival: MonotonicTime) -> Mapped {
        if output > newestOutput {
            newestOutput = output
            newestArrival = arrival
        }
        return Mapped(output: output, isJump: false, epoch: current!.number)
    }
}
