import Media

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
    }

    private struct Epoch {
        var offset: Int64
        var newestInput: MediaTime

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

    private var current: Epoch?
    private var former: Epoch?
    private var newestOutput = Timeline.start
    private var newestArrival = MonotonicTime(nanoseconds: 0)
    private var began = MonotonicTime(nanoseconds: 0)
    private var restarted = false

    init() {}

    /// The source was gone and is back: whatever comes next begins a new epoch, however near its stamp is.
    mutating func sourceRestarted() { restarted = current != nil }

    /// - Parameters:
    ///   - input: the unwrapped stamp as the demuxer gives it.
    ///   - arrival: when it arrived; bridges a jump.
    mutating func map(_ input: MediaTime, arrival: MonotonicTime) -> Mapped {
        guard let epoch = current else {
            return begin(Epoch(offset: Self.start - input, newestInput: input), arrival: arrival, isJump: false)
        }
        if !restarted {
            if epoch.admits(input) {
                current!.newestInput = max(epoch.newestInput, input)
                return note(input + epoch.offset, arrival: arrival)
            }
            if let former, arrival - began < Self.crossing, former.admits(input) {
                return Mapped(output: input + former.offset, isJump: false)
            }
        }
        former = restarted ? nil : epoch
        restarted = false
        let waited = max(arrival - newestArrival, .milliseconds(1))
        let output = newestOutput + MediaTime.ticks(in: waited)
        return begin(Epoch(offset: output - input, newestInput: input), arrival: arrival, isJump: true)
    }

    private mutating func begin(_ epoch: Epoch, arrival: MonotonicTime, isJump: Bool) -> Mapped {
        current = epoch
        began = arrival
        var mapped = note(epoch.newestInput + epoch.offset, arrival: arrival)
        mapped.isJump = isJump
        return mapped
    }

    private mutating func note(_ output: MediaTime, arrival: MonotonicTime) -> Mapped {
        if output >= newestOutput {
            newestOutput = output
            newestArrival = arrival
        }
        return Mapped(output: output, isJump: false)
    }
}
