import Media

/// Lays the output's frames in time: which instants get a frame, and whether that is an original, one synthesised at an
/// exact phase between two originals, a repeated one, or the slate.
///
/// Output instants are counted in whole slots of the output rate, never added up, so there is no drift however long the
/// stream runs; they never go back. Time stamps may be unwrapped or not, and may be wrong: docs/scheduler.md has the
/// answer to each way in which they can be.
///
/// A value; asking never allocates.
public struct Cadence: Sendable {
    public enum Rate: Hashable, Sendable {
        /// As many frames a second as this, evenly spaced, whatever the input does.
        case constant(Rational)
        /// This many output frames for each original, spaced evenly within each pair: follows a variable input.
        case multiple(Int)
    }

    public struct Configuration: Sendable {
        public var rate: Rate
        public var order = SynthesisOrder.beforeOriginal
        /// Constant rates: an original that lies this near a slot, as a share of a slot (at most a half), is shown in
        /// it as it is. A half suits output rates below the input's: every slot then has an original near enough.
        public var snap = Rational(1, 16)
        /// A step of the input's time stamps larger than this, either way, is no gap but another clock.
        public var longestGap = Nanoseconds.seconds(3)
        /// How long the input's time stamps may be impossible (repeated, back, behind what has been shown) before they
        /// are taken for a new clock.
        public var patience = Nanoseconds.milliseconds(500)
        /// How long the last frame is repeated once the source has stopped; then comes the slate.
        public var hold = Nanoseconds.seconds(5)

        public init(rate: Rate) { self.rate = rate }
    }

    /// A frame to make, and its output time stamp.
    public struct Slot: Hashable, Sendable, BitwiseCopyable {
        public var presentation: MediaTime
        /// Where it lies between the previous original (0) and this one (1); beyond 1 when extrapolated.
        public var phase: Rational
    }

    /// What an original brings about.
    public struct Step: Sendable {
        /// Set when the original has no place in the output; nothing else counts then.
        public var drop: DropReason?
        /// The input's clock has changed: nothing may be interpolated across.
        public var isJump = false
        /// The original's output time stamp when the synthesised frames are made too; nil when these replace it
        /// (its fate is then `cadence`).
        public var original: MediaTime?
        /// The original's output time stamp when none is made. The other slots of this step are then left out, or
        /// repeated.
        public var originalAlone: MediaTime?
        /// The frames to synthesise, in the order of their time stamps. Their phases are those of the pair; when the
        /// first of the pair was dropped there is nothing to interpolate from, and none is made.
        public var count = 0
        public fileprivate(set) var slots = InlineArray<16, Slot>(
            repeating: Slot(presentation: MediaTime(ticks: 0), phase: Rational(0)))

        init() {}

        mutating func add(_ presentation: MediaTime, _ numerator: Int64, _ denominator: Int64) {
            guard count < 16 else { return }
            slots[count] = Slot(presentation: presentation, phase: Rational(numerator, denominator))
            count += 1
        }
    }

    /// What to do when no frame has come in time.
    public enum Filler: Hashable, Sendable {
        case nothing
        /// Emit the last frame again, at this output time.
        case repeated(MediaTime)
        /// The source has stopped: emit the slate picture at this output time.
        case slate(MediaTime)
    }

    public let configuration: Configuration
    /// A fine unit is 1/`fine` of a tick: so chosen that slots and phases are whole numbers of them. A slot's length is
    /// 0 where the rate is a multiple.
    private let fine: Int64
    private let slotLength: Int64
    private let snap: Int64

    /// The newest original: its input time, its position on the output's time line in fine units, and its deadline.
    private var newest: (input: MediaTime, position: Int64, emitBy: MonotonicTime)?
    /// The length of the last pair in ticks.
    private var interval: Int64 = 3_000
    /// The input time that lies at `epochPosition`.
    private var epochInput = MediaTime(ticks: 0)
    private var epochPosition: Int64 = 0
    /// The output time of position 0.
    private var outputStart: MediaTime
    /// The next free output position: all before are taken.
    private var next: Int64 = 0
    /// The shortest of the last few pairs, in fine units: extrapolation goes no further, so as not to outrun the input.
    private var shortestPair = Int64.max / 4
    /// How many of the last output slots were filled by ``filler(now:)``.
    private var filled = 0
    private var impossibleSince: MonotonicTime?

    /// - Parameter start: the first output time stamp.
    /// - Precondition: the rate is positive and below 90 kHz; a multiple is from 1 to 16.
    public init(_ configuration: Configuration, start: MediaTime = MediaTime(ticks: 0)) {
        self.configuration = configuration
        outputStart = start
        switch configuration.rate {
        case .constant(let rate):
            precondition(rate.numerator > 0 && rate.value < 90_000, "an output rate lies between 0 and 90 kHz")
            fine = rate.numerator
            slotLength = MediaTime.ticksPerSecond * rate.denominator
            snap = slotLength * configuration.snap.numerator / configuration.snap.denominator
        case .multiple(let factor):
            precondition((1...16).contains(factor), "an input rate can be multiplied by 1 to 16")
            fine = Int64(factor)
            slotLength = 0
            snap = 0
        }
    }

    // MARK: Originals

    /// Takes in the next original.
    /// - Parameters:
    ///   - presentation: its time stamp in the input.
    ///   - emitBy: its deadline; what fillers are timed by.
    public mutating func original(at presentation: MediaTime, emitBy: MonotonicTime, now: MonotonicTime) -> Step {
        guard let newest else { return begin(presentation, emitBy, isJump: false) }
        let (ticks, overflow) = presentation.ticks.subtractingReportingOverflow(newest.input.ticks)
        let longest = configuration.longestGap.count * 9 / 100_000
        if overflow || ticks > longest || ticks < -longest { return begin(presentation, emitBy, isJump: true) }
        let position = (presentation - epochInput) * fine + epochPosition
        if ticks <= 0 || isTaken(position) {
            let since = impossibleSince ?? now
            impossibleSince = since
            if now - since >= configuration.patience { return begin(presentation, emitBy, isJump: true) }
            var step = Step()
            step.drop = ticks <= 0 ? .discontinuity : .late
            return step
        }
        impossibleSince = nil
        filled = 0
        let previous = newest.position
        self.newest = (presentation, position, emitBy)
        interval = ticks
        defer { rebase() }
        return slotLength > 0 ? even(from: previous, to: position) : multiplied(from: previous, to: position)
    }

    /// A filler was shown in its place. (Without fillers a constant rate's original may find its slot taken by its
    /// neighbour, which is cadence and no lateness.)
    private func isTaken(_ position: Int64) -> Bool {
        filled > 0 && position < (slotLength > 0 ? next - slotLength / 2 : next)
    }

    /// The first original of a clock takes the next free slot.
    private mutating func begin(_ presentation: MediaTime, _ emitBy: MonotonicTime, isJump: Bool) -> Step {
        // At a multiplied rate the next frame comes one interval after the last original or filler.
        let place = slotLength > 0 || !isJump ? next : max(next, (newest?.position ?? 0) + interval * fine)
        epochInput = presentation
        epochPosition = place
        newest = (presentation, place, emitBy)
        impossibleSince = nil
        filled = 0
        next = place + (slotLength > 0 ? slotLength : fine)
        var step = Step()
        step.isJump = isJump
        step.original = output(place)
        step.originalAlone = step.original
        rebase()
        return step
    }

    /// Constant rate: every slot up to this original, by what lies nearest or in between.
    private mutating func even(from previous: Int64, to position: Int64) -> Step {
        var step = Step()
        let pair = position - previous
        let extrapolates = configuration.order == .afterOriginal
        while next < position - snap {
            if !extrapolates { step.add(output(next), next - previous, pair) }
            step.originalAlone = output(next)
            next += slotLength
        }
        // An original is not left out because predictions have gone further than the input then did: where there is a
        // slot for each, being up to one ahead does not add up.
        let reach = !extrapolates ? snap : pair >= slotLength ? slotLength : slotLength / 2
        if next <= position + reach {
            step.original = output(next)
            step.originalAlone = step.original
            next += slotLength
        }
        shortestPair = min(pair, shortestPair + shortestPair / 8 + 1)
        while extrapolates, step.original != nil, next < position + shortestPair - slotLength / 2 {
            step.add(output(next), next - previous, pair)
            next += slotLength
        }
        if step.originalAlone == nil { step.drop = .cadence }
        return step
    }

    /// Multiplied rate: the pair's own fractions, exact since a fine unit divides each of them.
    private mutating func multiplied(from previous: Int64, to position: Int64) -> Step {
        var step = Step()
        let part = (position - previous) / fine
        let first = configuration.order == .beforeOriginal ? previous : position
        func synthesise(_ step: inout Step, after taken: Int64) {
            for number in 1..<max(fine, 1) where first + part * number >= taken {
                let share = configuration.order == .beforeOriginal ? number : number + fine
                step.add(output(first + part * number), share, fine)
            }
        }
        if configuration.order == .beforeOriginal { synthesise(&step, after: next) }
        // A prediction may have gone further than the next original in fact came.
        let place = max(position, next)
        step.original = output(place)
        step.originalAlone = step.original
        next = place + fine
        if configuration.order == .afterOriginal {
            synthesise(&step, after: next)
            if step.count > 0 { next = max(next, first + part * (fine - 1) + fine) }
        }
        return step
    }

    // MARK: When nothing comes

    /// Asked when no frame is under way: what the output shows in the next slot, once the deadline of the frame that
    /// belongs there has passed.
    public mutating func filler(now: MonotonicTime) -> Filler {
        guard let newest else { return .nothing }
        let pair = interval * fine
        let slot = slotLength > 0 ? next : max(next, newest.position + pair * Int64(filled + 1))
        // What lies between two originals cannot come before the second: the slot is missed when that one is.
        let missing = max(1, (slot - newest.position + pair - 1) / pair)
        guard now > newest.emitBy + time(pair * missing) else { return .nothing }
        filled += 1
        next = slot + (slotLength > 0 ? slotLength : fine)
        let presentation = output(slot)
        rebase()
        return now - newest.emitBy > configuration.hold ? .slate(presentation) : .repeated(presentation)
    }

    // MARK: Positions

    private func output(_ position: Int64) -> MediaTime { outputStart + position / fine }

    private func time(_ length: Int64) -> Nanoseconds {
        let (ticks, rest) = length.quotientAndRemainder(dividingBy: fine)
        return MediaTime(ticks: ticks).nanoseconds + Nanoseconds(rest * 100_000 / (9 * fine))
    }

    /// Positions are exact, and so is their origin when it moves by whole seconds' worth of slots: they stay small for
    /// ever.
    private mutating func rebase() {
        let length = slotLength > 0 ? slotLength : MediaTime.ticksPerSecond
        guard next > 2 * length * fine, let newest else { return }
        let periods = next / (length * fine)
        epochPosition -= periods * length * fine
        next -= periods * length * fine
        self.newest = (newest.input, newest.position - periods * length * fine, newest.emitBy)
        outputStart = outputStart + periods * length
        // The epoch itself moves along with the input.
        let shift = newest.input - epochInput
        epochInput = newest.input
        epochPosition += shift * fine
    }
}
