import Media
import Schedule

/// What fills the times that no picture comes for: the last picture again, and after a while a slate.
///
/// At a constant output rate every slot is filled. Otherwise the output has the source's own times, and there are slots only
/// while the source is lost: they follow the last picture at the output's usual rate.
///
/// Confined to the encode thread.
final class SlotFiller {
    struct Shown: ~Copyable {
        let picture: PictureLease
        let color: ColorDescription
        /// The number of the mask that it has.
        let maskNumber: Int
    }

    /// Decides which slots to fill; nil while there are none.
    private(set) var repeater: Repeater?
    private let grid: SlotGrid?
    private let hold: Nanoseconds
    private var isConstant: Bool { grid != nil }
    /// The time of the newest picture that was shown, and when that was.
    private var lastShown: (time: MediaTime, at: MonotonicTime)?
    /// How the source's absence went so far; nil while pictures come.
    var absence: SourceAbsence?
    var absenceReports = AbsenceReports()
    /// The newest picture that went to the encoder; nil before the first, and after one that could not be encoded.
    var shown: Shown?
    /// What is sent when the source has stopped. It is made with the encoder, so that it is there when it is needed.
    private(set) var slate: Picture?
    /// What repeating a frame takes.
    private(set) var repeatCost = Nanoseconds.milliseconds(3)
    /// The newest frame that was a keyframe or not repeated.
    var lastEntry = MediaTime(ticks: 0)

    /// While nothing but repeats goes out, a receiver that comes finds a keyframe at least this often.
    private static let keyframeInterval = 2 * MediaTime.ticksPerSecond

    /// - Parameter grid: the slots of a constant rate; nil without one.
    init(grid: SlotGrid?, hold: Nanoseconds) {
        self.grid = grid
        self.hold = hold
        repeater = grid.map { Repeater(grid: $0, hold: hold) }
    }

    /// What was shown last lies behind pictures that did not come here.
    func restart() {
        repeater = grid.map { Repeater(grid: $0, hold: hold) }
        lastShown = nil
        shown = nil
    }

    /// How much of a slot has to be free before a picture that is not on a slot itself.
    private(set) var margin: Int64 = 0

    /// The time at which to show a picture; nil when it is too late.
    func slot(for time: MediaTime, now: MonotonicTime) -> MediaTime? {
        repeater == nil ? time : repeater!.slot(for: time, now: now)
    }

    /// Keeps a picture that went to the encoder, to repeat it.
    /// - Parameter isOnTime: it is shown at its own time, not in a slot after it.
    func show(_ picture: consuming Shown, at slot: MediaTime, isOnTime: Bool, now: MonotonicTime) {
        lastShown = (slot, now)
        shown = consume picture
        if isConstant || !isOnTime { repeater?.show(slot, now: now) } else { repeater = nil }
    }

    /// Begins to fill slots behind the last picture, which is shown again in each.
    /// - Parameter interval: the length of a slot in ticks.
    func begin(every interval: Int64) {
        guard repeater == nil, let lastShown else { return }
        let length = min(max(interval, 2), SlotGrid.largestTerm)
        var repeater = Repeater(
            grid: SlotGrid(rate: Rational(MediaTime.ticksPerSecond, length), start: lastShown.time), hold: hold)
        repeater.show(lastShown.time, now: lastShown.at)
        self.repeater = repeater
        margin = length / 2
    }

    /// The last picture may be repeated for its time from now on.
    func restartHold(now: MonotonicTime) { repeater?.restartHold(now: now) }

    /// No picture has come for so long that a receiver who waits for a keyframe gets the last one again.
    private static let pause = Nanoseconds.milliseconds(500)
    /// So long before the present it is shown, so that a picture which is on its way lies behind it.
    private static let room = Nanoseconds.milliseconds(200)

    /// The time at which the last picture is shown again to a receiver who waits for a keyframe; nil while pictures come.
    func timeOfRepeat(at now: MonotonicTime) -> MediaTime? {
        guard repeater == nil, shown != nil, let lastShown, now - lastShown.at >= Self.pause else { return nil }
        return lastShown.time + MediaTime.ticks(in: now - lastShown.at - Self.room)
    }

    func fillSlot(before time: MediaTime, now: MonotonicTime, due: MonotonicTime?) -> Repeater.Filler {
        repeater?.fillSlot(before: time + -margin, now: now, due: due) ?? .nothing
    }

    func fillOverdueSlot(now: MonotonicTime, _ expected: Expectation, hasFramesInFlight: Bool) -> Repeater.Filler {
        repeater?.fillOverdueSlot(now: now, expected, hasFramesInFlight: hasFramesInFlight) ?? .nothing
    }

    /// Slots of a constant rate that were left empty since the last call.
    func drainSlotsLeftEmpty() -> Int { isConstant ? repeater?.drainSlotsLeftEmpty() ?? 0 : 0 }

    func observe(repeatCost cost: Nanoseconds) { repeatCost = repeatCost + (cost - repeatCost) / 8 }

    /// Whether a repeat in this slot has to be a keyframe.
    func needsEntry(at slot: MediaTime) -> Bool { slot - lastEntry >= Self.keyframeInterval }

    func makeSlate(of size: PictureSize) {
        if slate?.size != size { slate = Picture(slateOf: size) }
    }
}

extension Picture {
    /// A plain dark grey picture.
    fileprivate convenience init(slateOf size: PictureSize) {
        self.init(size: size)
        let view = unsafe mutableView
        for y in 0..<size.height { unsafe view.y.row(y).update(repeating: 40, count: size.width) }
        for y in 0..<size.chroma.height {
            unsafe view.u.row(y).update(repeating: 128, count: size.chroma.width)
            unsafe view.v.row(y).update(repeating: 128, count: size.chroma.width)
        }
    }
}
