import Media

/// Lays the originals of a stream on the output's time line. It decides which output times get a frame, and whether that is an
/// original or one synthesised at an exact phase between two originals. ``Repeater`` fills the slots that get neither.
///
/// Positions are whole numbers of 1/n tick (n is the rate's numerator or the factor). Slots, input times and phases are exact
/// in this unit. Output times never go back. Give the originals' times on the output's time line, not on the source's clock
/// (docs/design/cadence.md shows how a wrong time stamp is handled).
///
/// A value; no call allocates. To undo the effect of an original that is dropped, work on a copy and do not keep it.
public struct Cadence: Sendable {
    public enum Rate: Hashable, Sendable {
        /// A frame in each of these slots, whatever the rate of the input.
        case constant(SlotGrid)
        /// This many output frames for each original, spaced evenly within each pair. Follows an input with a variable rate.
        case multiple(Int)
    }

    /// A frame to synthesise.
    public struct Slot: Hashable, Sendable, BitwiseCopyable {
        /// Its output time stamp.
        public var presentation: MediaTime
        /// Its position between the previous original (0) and this one (1); above 1 when it is extrapolated.
        public var phase: Rational
    }

    /// The output frames that one original leads to.
    public struct Step: Sendable {
        /// Why the original is not shown and nothing is made from it; nil where it is used. When it is set, ignore the other
        /// properties.
        public var drop: DropReason?
        /// The time from the previous original, in ticks. Nil where nothing is made between the two.
        public var pair: Int64?
        /// The original's output time stamp when the synthesised frames are made too. Nil when they replace it; its fate is
        /// then `cadence`.
        public var original: MediaTime?
        /// The original's output time stamp when the last synthesised frame before it is not made. The other slots then stay
        /// empty or repeat a frame.
        public var originalAlone: MediaTime?
        /// The number of frames to synthesise. They are in ``slots``, in the order of their time stamps.
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

    /// Two originals further apart than this are no pair, because motion cannot be followed between them. In ticks.
    public static let longestPair = MediaTime.ticksPerSecond / 4

    public private(set) var rate: Rate
    public let order: SynthesisOrder
    /// Positions in one tick.
    private var positionsPerTick: Int64
    /// Two originals closer than this, in ticks, leave no time stamps for a multiple's frames between them.
    private var shortestTime: Int64 { slotLength == 0 ? positionsPerTick : 0 }
    /// The length of a slot in positions; 0 where the rate is a multiple.
    private let slotLength: Int64

    /// The time of the newest original, and the position of the newest one that was used: shown, or synthesised from.
    private var newest: (time: MediaTime, used: Int64)?
    /// The next free position (a multiple), or the number of the next free slot (a constant rate).
    private var next: Int64 = .min
    /// The shortest of the last few pairs, in positions. Extrapolation goes no further than this beyond an original, so that
    /// it does not overtake the next one.
    private var shortestPair = Int64.max / 4

    /// - Precondition: a multiple is from 1 to 16.
    public init(_ rate: Rate, order: SynthesisOrder = .beforeOriginal) {
        self.rate = rate
        self.order = order
        switch rate {
        case .constant(let grid):
            positionsPerTick = grid.rate.numerator
            slotLength = MediaTime.ticksPerSecond * grid.rate.denominator
        case .multiple(let factor):
            precondition((1...16).contains(factor), "an input rate can be multiplied by 1 to 16")
            positionsPerTick = Int64(factor)
            slotLength = 0
        }
    }

    /// Changes how many output frames there are for each original, from the next original on. Nothing else changes: output times
    /// do not go back, and the next original makes a pair with the last one.
    /// - Precondition: the rate is a multiple; the factor is from 1 to 16.
    public mutating func change(multiple factor: Int) {
        guard case .multiple(let present) = rate else { preconditionFailure("a constant rate has no multiple") }
        precondition((1...16).contains(factor), "an input rate can be multiplied by 1 to 16")
        guard factor != present else { return }
        let (old, new) = (positionsPerTick, Int64(factor))
        rate = .multiple(factor)
        positionsPerTick = new
        // The first position that is not before the free one.
        if next != .min { next = -Self.floor(-next * new, old) }
        newest = newest.map { ($0.time, $0.time.ticks * new) }
    }

    /// Lays out the next original.
    /// - Parameters:
    ///   - time: its presentation time on the output's time line.
    ///   - isJump: it belongs to another clock than the previous one, so nothing is made between the two.
    ///   - filled: the newest time that repeats have filled before this original came.
    public mutating func layOut(originalAt time: MediaTime, isJump: Bool = false, filledUpTo filled: MediaTime? = nil) -> Step {
        var step = Step()
        guard let newest else {
            begin(&step, time, filled)
            return step
        }
        let ticks = time - newest.time
        if ticks <= 0 {
            step.drop = .discontinuity
        } else if case .multiple = rate, let filled, filled > newest.time {
            // The output went on without this original. Nothing lies between it and the one before the repeats.
            if time <= filled { step.drop = .late } else { begin(&step, time, nil) }
        } else if isJump || ticks > Self.longestPair || ticks < shortestTime {
            begin(&step, time, filled)
        } else {
            step.pair = ticks
            switch rate {
            case .constant(let grid): fillSlots(&step, time, newest, on: grid, filled)
            case .multiple: multiply(&step, time, from: newest.used)
            }
        }
        return step
    }

    /// Shows an original without a pair as it is, in the nearest free slot. The originals after it are laid out by its own
    /// time and not by the slot, because the streams that pass beside the pictures do not move either.
    private mutating func begin(_ step: inout Step, _ time: MediaTime, _ filled: MediaTime?) {
        switch rate {
        case .constant(let grid):
            let position = (time - grid.start) * positionsPerTick
            let nearest = Self.floor(position + slotLength / 2, slotLength)
            if let filled, nearest <= grid.slot(at: filled) {
                step.drop = .late
                return
            }
            let slot = max(nearest, next)
            step.original = grid.time(of: slot)
            next = slot + 1
            newest = (time, position)
        case .multiple:
            let place = max(time.ticks * positionsPerTick, next)
            step.original = MediaTime(ticks: place / positionsPerTick)
            next = place + positionsPerTick
            newest = (time, time.ticks * positionsPerTick)
        }
        step.originalAlone = step.original
    }

    // MARK: A constant rate

    /// Fills every slot up to this original, with the nearest original or a synthesised frame.
    private mutating func fillSlots(
        _ step: inout Step, _ time: MediaTime, _ newest: (time: MediaTime, used: Int64), on grid: SlotGrid,
        _ filled: MediaTime?
    ) {
        let position = (time - grid.start) * positionsPerTick
        self.newest!.time = time
        if let filled {
            let free = grid.slot(at: filled) + 1
            next = max(next, free)
            if position + slotLength / 2 < free * slotLength {
                step.drop = .late
                return
            }
        }
        let snap = snap(forPair: (time - newest.time) * positionsPerTick)
        let pair = position - newest.used
        step.pair = pair / positionsPerTick
        if order == .beforeOriginal {
            interpolate(&step, grid, from: newest.used, to: position, snap)
        } else {
            extrapolate(&step, grid, from: newest.used, to: position, snap)
        }
        // Drop an original that no slot shows and from which nothing is made.
        if step.count == 0, step.originalAlone == nil {
            step.drop = .cadence
        } else {
            self.newest!.used = position
        }
    }

    /// The distance from a slot within which an original is shown as it is: a sixteenth of a slot. Where there are about as
    /// many originals as slots, or more, it is half a pair. Then only slots without an original get a synthesised frame.
    private func snap(forPair pair: Int64) -> Int64 {
        let exact = slotLength / 16
        return pair > slotLength + slotLength / 32 ? exact : min(slotLength / 2, max(pair / 2, exact))
    }

    private mutating func interpolate(
        _ step: inout Step, _ grid: SlotGrid, from previous: Int64, to position: Int64, _ snap: Int64
    ) {
        let pair = position - previous
        while next * slotLength < position - snap {
            let time = grid.time(of: next)
            step.originalAlone = time
            if pair <= Self.longestPair * positionsPerTick { step.add(time, next * slotLength - previous, pair) }
            next += 1
        }
        guard next * slotLength <= position + snap else { return }
        step.original = grid.time(of: next)
        step.originalAlone = step.original
        next += 1
    }

    private mutating func extrapolate(
        _ step: inout Step, _ grid: SlotGrid, from previous: Int64, to position: Int64, _ snap: Int64
    ) {
        let pair = position - previous
        shortestPair = min(pair, shortestPair + shortestPair / 8 + 1)
        while next * slotLength < position - snap {
            step.original = grid.time(of: next)
            next += 1
        }
        // Show the original although predictions went further than it. Where each original has a slot, being up to one slot
        // ahead does not add up.
        if next * slotLength <= position + (pair >= slotLength ? slotLength : slotLength / 2) {
            step.original = grid.time(of: next)
            next += 1
        }
        step.originalAlone = step.original
        while step.original != nil, next * slotLength < position + shortestPair - slotLength / 2 {
            step.add(grid.time(of: next), next * slotLength - previous, pair)
            next += 1
        }
    }

    // MARK: A multiple

    /// Makes frames at even fractions of the pair. Each fraction is a whole number of positions, so it is exact.
    private mutating func multiply(_ step: inout Step, _ time: MediaTime, from previous: Int64) {
        let position = time.ticks * positionsPerTick
        let part = (position - previous) / positionsPerTick
        let first = order == .beforeOriginal ? previous : position
        if order == .beforeOriginal { synthesise(&step, from: first, every: part) }
        // A prediction may have gone further than this original.
        let place = max(position, next)
        step.original = MediaTime(ticks: place / positionsPerTick)
        step.originalAlone = step.original
        next = place + positionsPerTick
        if order == .afterOriginal {
            synthesise(&step, from: first, every: part)
            if step.count > 0 { next = max(next, first + part * (positionsPerTick - 1) + positionsPerTick) }
        }
        newest = (time, position)
    }

    private func synthesise(_ step: inout Step, from first: Int64, every part: Int64) {
        for number in 1..<max(positionsPerTick, 1) where first + part * number >= next {
            let share = order == .beforeOriginal ? number : number + positionsPerTick
            step.add(MediaTime(ticks: (first + part * number) / positionsPerTick), share, positionsPerTick)
        }
    }

    private static func floor(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((b - 1 - a) / b) }
}
