import Media

/// Lays the originals of a stream on its output's time line: which instants get a frame, and whether that is an original
/// or one synthesised at an exact phase between two of them. What fills the instants that get neither is ``Repeater``'s
/// part.
///
/// Positions are whole numbers of 1/n tick (n: the rate's numerator, or the factor), in which slots, input times and
/// phases are exact. Output times never go back. The originals' times are to be those of the output's time line, on which
/// the source's clock has been bridged already (docs/design/cadence.md has the whole way of a wrong time stamp).
///
/// A value; asking never allocates. A copy that is not kept undoes what an original that was dropped has brought about.
public struct Cadence: Sendable {
    public enum Rate: Hashable, Sendable {
        /// A frame in each of these slots, whatever the input does.
        case constant(SlotGrid)
        /// This many output frames for each original, spaced evenly within each pair: follows a variable input.
        case multiple(Int)
    }

    /// A frame to make, and its output time stamp.
    public struct Slot: Hashable, Sendable, BitwiseCopyable {
        public var presentation: MediaTime
        /// Where it lies between the previous original (0) and this one (1); beyond 1 when extrapolated.
        public var phase: Rational
    }

    /// What an original brings about.
    public struct Step: Sendable {
        /// Set when the original has no place in the output and nothing is made from it; nothing else counts then.
        public var drop: DropReason?
        /// The time from the original before, in ticks; nil where the two are no pair: nothing is made between them.
        public var pair: Int64?
        /// The original's output time stamp when the synthesised frames are made too; nil when these replace it
        /// (its fate is then `cadence`).
        public var original: MediaTime?
        /// The original's output time stamp when the last of the slots before it is not filled. The others are then left
        /// out, or repeated.
        public var originalAlone: MediaTime?
        /// The frames to synthesise, in the order of their time stamps.
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

    /// Pictures further apart than this show no motion that could be followed: the later one begins anew.
    public static let longestPair = MediaTime.ticksPerSecond / 4

    public let rate: Rate
    public let order: SynthesisOrder
    /// A position is 1/`fine` of a tick.
    private let fine: Int64
    /// 0 where the rate is a multiple.
    private let slotLength: Int64

    /// The newest original's time, and the position of the newest that was used: shown, or made something from.
    private var newest: (time: MediaTime, used: Int64)?
    /// The next free position of a multiple, the number of the next free slot of a constant rate: all before are taken.
    private var next: Int64 = .min
    /// The shortest of the last few pairs: extrapolation goes no further, so as not to outrun the input.
    private var shortestPair = Int64.max / 4

    /// - Precondition: a multiple is from 1 to 16.
    public init(_ rate: Rate, order: SynthesisOrder = .beforeOriginal) {
        self.rate = rate
        self.order = order
        switch rate {
        case .constant(let grid):
            fine = grid.rate.numerator
            slotLength = MediaTime.ticksPerSecond * grid.rate.denominator
        case .multiple(let factor):
            precondition((1...16).contains(factor), "an input rate can be multiplied by 1 to 16")
            fine = Int64(factor)
            slotLength = 0
        }
    }

    /// Takes in the next original.
    /// - Parameters:
    ///   - time: its presentation time on the output's time line.
    ///   - isJump: it belongs to another clock than the one before: nothing is made between the two.
    ///   - taken: the newest slot that repeats have filled in real time, while this original was not there.
    public mutating func original(at time: MediaTime, isJump: Bool = false, taken: MediaTime? = nil) -> Step {
        var step = Step()
        guard let newest else {
            begin(&step, time, taken)
            return step
        }
        let ticks = time - newest.time
        if ticks <= 0 {
            step.drop = .discontinuity
        } else if isJump || ticks > Self.longestPair {
            begin(&step, time, taken)
        } else {
            step.pair = ticks
            switch rate {
            case .constant(let grid): lay(&step, time, newest, on: grid, taken)
            case .multiple: multiply(&step, time, from: newest.used)
            }
        }
        return step
    }

    /// An original without a pair is shown as it is, in the nearest slot that is free. Its own time stays what those after
    /// it are laid by: whatever passes beside the pictures is not moved either.
    private mutating func begin(_ step: inout Step, _ time: MediaTime, _ taken: MediaTime?) {
        switch rate {
        case .constant(let grid):
            let position = (time - grid.start) * fine
            let nearest = Self.floor(position + slotLength / 2, slotLength)
            if let taken, nearest <= grid.slot(at: taken) {
                step.drop = .late
                return
            }
            let slot = max(nearest, next)
            step.original = grid.time(of: slot)
            next = slot + 1
            newest = (time, position)
        case .multiple:
            let place = max(time.ticks * fine, next)
            step.original = MediaTime(ticks: place / fine)
            next = place + fine
            newest = (time, time.ticks * fine)
        }
        step.originalAlone = step.original
    }

    // MARK: A constant rate

    /// Every slot up to this original, by what lies nearest or in between.
    private mutating func lay(
        _ step: inout Step, _ time: MediaTime, _ newest: (time: MediaTime, used: Int64), on grid: SlotGrid,
        _ taken: MediaTime?
    ) {
        let position = (time - grid.start) * fine
        self.newest!.time = time
        if let taken {
            let free = grid.slot(at: taken) + 1
            next = max(next, free)
            if position + slotLength / 2 < free * slotLength {
                step.drop = .late
                return
            }
        }
        let snap = snap(forPair: (time - newest.time) * fine)
        let pair = position - newest.used
        step.pair = pair / fine
        if order == .beforeOriginal {
            interpolate(&step, grid, from: newest.used, to: position, snap)
        } else {
            extrapolate(&step, grid, from: newest.used, to: position, snap)
        }
        // One that no slot shows and none is made from might as well not have come.
        if step.count == 0, step.originalAlone == nil {
            step.drop = .cadence
        } else {
            self.newest!.used = position
        }
    }

    /// How near to a slot an original is shown in it as it is: a sixteenth of a slot. Where there is nearly an original
    /// for each slot, or more, the nearest one is, and only slots without one are made up.
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
            if pair <= Self.longestPair * fine { step.add(time, next * slotLength - previous, pair) }
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
        // An original is not left out because predictions have gone further than the input then did: where there is a
        // slot for each, being up to one ahead does not add up.
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

    /// The pair's own fractions, exact since a position divides each of them.
    private mutating func multiply(_ step: inout Step, _ time: MediaTime, from previous: Int64) {
        let position = time.ticks * fine
        let part = (position - previous) / fine
        let first = order == .beforeOriginal ? previous : position
        if order == .beforeOriginal { synthesise(&step, from: first, every: part) }
        // A prediction may have gone further than the next original in fact came.
        let place = max(position, next)
        step.original = MediaTime(ticks: place / fine)
        step.originalAlone = step.original
        next = place + fine
        if order == .afterOriginal {
            synthesise(&step, from: first, every: part)
            if step.count > 0 { next = max(next, first + part * (fine - 1) + fine) }
        }
        newest = (time, position)
    }

    private func synthesise(_ step: inout Step, from first: Int64, every part: Int64) {
        for number in 1..<max(fine, 1) where first + part * number >= next {
            let share = order == .beforeOriginal ? number : number + fine
            step.add(MediaTime(ticks: (first + part * number) / fine), share, fine)
        }
    }

    private static func floor(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((b - 1 - a) / b) }
}
