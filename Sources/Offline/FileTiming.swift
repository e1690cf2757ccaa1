import Enhance
import Media

/// Which pictures leave a file's work when another original is known, and when.
struct FileTiming {
    struct Shown: Equatable {
        var source: RatePlan.Source
        /// In ``timeBase``.
        var time: Int64
    }

    private enum Rule {
        /// So many pictures for each original, evenly between two.
        case multiple(Int64)
        /// `positions` is whether times count the plan's positions; else they count slots.
        case constant(RatePlan, positions: Bool)
    }

    private var rule: Rule
    /// Longer gaps between originals are not filled where the rate is constant, in the file's unit.
    private let longestGap: Int64
    /// How long an original lasts where nothing says more, in the file's unit.
    private let usualStep: Int64
    /// The file's unit, in seconds.
    private let fileUnit: Double
    /// How long the last gap was that stayed, in seconds; nil where the last original ended none.
    private(set) var gap: Double?
    /// The time of the newest original, in the file's unit.
    private var newest: Int64?
    /// Where slot 0 is, in ``timeBase``.
    private var first: Int64 = 0
    /// The unit of times, in seconds, and the rate of what leaves.
    let timeBase: Rational
    let frameRate: Rational

    /// - Parameters:
    ///   - interpolate: pictures for each original, where no rate is asked for.
    ///   - rate: the constant rate of what leaves.
    ///   - slowness: how many times longer everything takes; above 1 the rate is constant, the file's own where none is asked for.
    ///   - longestGap: longer gaps between originals stay, in seconds of the file.
    init(of video: FileVideoTimes, interpolate: Int, rate: Rational?, slowness: Int, longestGap: Double = .infinity) {
        let unit = max(video.timeBase.value, 1e-12)
        fileUnit = unit
        self.longestGap = Int64(min(longestGap / unit, 1e18))
        usualStep = max(1, Int64((1 / max(video.frameRate.value * unit, 1e-12)).rounded()))
        guard rate != nil || slowness > 1 else {
            rule = .multiple(Int64(interpolate))
            // The time unit is a K-th of the input's, so that all times are whole numbers.
            timeBase = Rational(video.timeBase.numerator, video.timeBase.denominator * Int64(interpolate))
            frameRate = Rational(video.frameRate.numerator * Int64(interpolate), video.frameRate.denominator)
            return
        }
        let rate = rate ?? Self.usual(video.frameRate)
        let plan = RatePlan(
            timeBase: Rational(video.timeBase.numerator * Int64(slowness), video.timeBase.denominator), to: rate)
        frameRate = rate
        // Containers have units of 32 bits.
        let isExact = plan.positionUnit.denominator <= Int64(Int32.max)
        timeBase = isExact ? plan.positionUnit : Rational(rate.denominator, rate.numerator)
        rule = .constant(plan, positions: isExact)
    }

    /// Whether pictures are made between originals.
    var synthesises: Bool { if case .multiple(1) = rule { false } else { true } }
    /// Whether originals that repeat the one before are to be named as such.
    var wantsRepeats: Bool { if case .constant = rule { true } else { false } }

    /// Adds the next original.
    /// - Parameters:
    ///   - time: in the file's unit.
    ///   - held: until when the original before it was shown without motion.
    mutating func add(_ time: Int64, heldUntil held: Int64? = nil) -> [Shown] {
        let last = newest
        newest = time
        switch rule {
        case .multiple(let factor):
            var shown: [Shown] = []
            if let last {
                for step in 1..<max(factor, 1) {
                    shown.append(
                        Shown(source: .between(Rational(step, factor)), time: last * factor + (time - last) * step))
                }
            }
            shown.append(Shown(source: .later, time: time * factor))
            return shown
        case .constant(var plan, let positions):
            var slots: [RatePlan.Slot] = []
            gap = nil
            if let last, time - last > longestGap {
                gap = Double(time - last) * fileUnit
                // What is known to have been shown is no gap.
                if let held, held < time { slots = plan.hold(until: held) }
                slots += plan.resume(at: time)
            } else {
                slots = plan.add(time, heldUntil: held)
            }
            rule = .constant(plan, positions: positions)
            if last == nil { first = positions ? plan.position(of: time) : plan.slot(of: time) }
            return slots.map { shown($0, plan, positions) }
        }
    }

    /// No original follows: shows the last one for its time.
    /// - Parameters:
    ///   - held: when it was shown again last.
    ///   - step: how long a picture lasts.
    mutating func end(heldUntil held: Int64?, lasting step: Int64) -> [Shown] {
        guard case .constant(var plan, let positions) = rule, let newest else { return [] }
        let end = max(held ?? newest, newest) + (step > longestGap ? usualStep : step)
        return plan.hold(until: end, isExcluded: true).map { shown($0, plan, positions) }
    }

    private func shown(_ slot: RatePlan.Slot, _ plan: RatePlan, _ positions: Bool) -> Shown {
        Shown(source: slot.source, time: first + (positions ? plan.length(of: slot.number) : slot.number))
    }

    /// The usual rate that is nearest, where one is within 1 %; else thousandths. Recordings of variable rate state all kinds of means.
    private static func usual(_ rate: Rational) -> Rational {
        let usual =
            [24, 25, 30, 48, 50, 60, 100, 120].map { Rational($0) } + [24, 30, 48, 60, 120].map { Rational($0 * 1000, 1001) }
        let nearest = usual.min { abs($0.value - rate.value) < abs($1.value - rate.value) }!
        if abs(nearest.value / rate.value - 1) < 0.01 { return nearest }
        return Rational(Int64((min(max(rate.value, 1), 240) * 1000).rounded()), 1000)
    }
}

/// When a file's pictures come.
struct FileVideoTimes {
    var frameRate: Rational
    var timeBase: Rational
}
