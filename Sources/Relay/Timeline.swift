import Media
import Schedule

/// Maps the input's time stamps to the output's: the same differences as long as the source runs on, and no jump when it
/// stops, restarts or changes its clock. The output's stamps never go back by more than the input's own reordering.
///
/// All streams of a program share one timeline, so their offsets to each other stay as they came. A stamp too far from
/// the newest one is a new epoch: it is laid as far after the newest output stamp as its arrival was after that one's.
/// Stamps of the epoch before are still recognised, since audio and video cross a jump at different moments.
///
/// A pure value; its owner is the only one who touches it.
struct Timeline {
    /// What the timeline makes of a stamp.
    struct Mapped: Equatable {
        var output: MediaTime
        /// The stamp began a new epoch.
        var isJump: Bool
        /// The number of its epoch.
        var epoch: UInt32
    }

    private struct Epoch {
        var offset: Int64
        var newestInput: MediaTime
        var number: UInt32

        /// Streams of one program lie less than a second apart in a multiplex; a source that stalls and goes on skips
        /// little more than its stall.
        func admits(_ input: MediaTime) -> Bool {
            let step = input - newestInput
            return step >= -MediaTime.ticksPerSecond && step <= 3 * MediaTime.ticksPerSecond
        }
    }

    /// Where the first output stamp lies: clear of zero, so that decoding times and clock references before it exist.
    static let start = MediaTime(ticks: MediaTime.ticksPerSecond)

    /// How long after a jump stamps of the epoch before it may still come.
    private static let crossing = Nanoseconds.seconds(1)
    /// How long frames may come for slots that repeats have taken before the source's clock is held to have stood still.
    private static let patience = Nanoseconds.milliseconds(500)

    private var current: Epoch?
    private var former: Epoch?
    private var newestOutput = Timeline.start
    private var newestArrival = MonotonicTime(nanoseconds: 0)
    private var began = MonotonicTime(nanoseconds: 0)
    private var restarted = false
    private var behindSince: MonotonicTime?

    init() {}

    /// The source was gone and is back: whatever comes next begins a new epoch, however near its stamp is.
    mutating func sourceRestarted() { restarted = current != nil }

    /// - Parameters:
    ///   - input: the unwrapped stamp as the demuxer gives it.
    ///   - arrival: when it arrived; bridges a jump.
    mutating func map(_ input: MediaTime, arrival: MonotonicTime) -> Mapped {
        guard let epoch = current else {
            return begin(input, at: Self.start, arrival: arrival, isJump: false)
        }
        if !restarted {
            if epoch.admits(input) {
                current!.newestInput = max(epoch.newestInput, input)
                return note(input + epoch.offset, arrival: arrival)
            }
            if let former, arrival - began < Self.crossing, former.admits(input) {
                return Mapped(output: input + former.offset, isJump: false, epoch: former.number)
            }
        }
        former = restarted ? nil : epoch
        restarted = false
        let waited = max(arrival - newestArrival, .milliseconds(1))
        return begin(input, at: newestOutput + MediaTime.ticks(in: waited), arrival: arrival, isJump: true)
    }

    /// Maps a frame's stamp where repeats fill the slots that nothing comes for: when frames go on to come for slots that
    /// are gone, the source's clock has stood still meanwhile, and a new epoch begins for all streams. It is laid so that
    /// the frame's deadline stands to its slot as those of the slots before do.
    /// - Parameters:
    ///   - emitBy: the frame's deadline.
    ///   - filled: the newest slot that was filled because nothing came.
    mutating func map(
        frame input: MediaTime, arrival: MonotonicTime, emitBy: MonotonicTime, filled: Repeater.Filled?
    ) -> Mapped {
        let mapped = map(input, arrival: arrival)
        guard let filled, mapped.output <= filled.slot else {
            behindSince = nil
            return mapped
        }
        let since = behindSince ?? arrival
        behindSince = since
        guard arrival - since >= Self.patience else { return mapped }
        behindSince = nil
        former = nil
        let ahead = max(MediaTime.ticks(in: emitBy - filled.emitBy), 1)
        return begin(input, at: filled.slot + ahead, arrival: arrival, isJump: true)
    }

    private mutating func begin(
        _ input: MediaTime, at output: MediaTime, arrival: MonotonicTime, isJump: Bool
    ) -> Mapped {
        current = Epoch(
            offset: output - input, newestInput: input, number: current.map { $0.number &+ 1 } ?? 0)
        began = arrival
        var mapped = note(output, arrival: arrival)
        mapped.isJump = isJump
        return mapped
    }

    private mutating func note(_ output: MediaTime, arrival: MonotonicTime) -> Mapped {
        if output >= newestOutput {
            newestOutput = output
            newestArrival = arrival
        }
        return Mapped(output: output, isJump: false, epoch: current!.number)
    }
}
