import Enhance
import Media
import Testing

/// Which slots of a constant rate get which pictures.
@Suite struct RatePlanTests {
    private static let film = Rational(24000, 1001)

    private func phase(_ slot: RatePlan.Slot) -> Rational {
        switch slot.source {
        case .earlier: Rational(0)
        case .between(let phase): phase
        case .later: Rational(1)
        }
    }

    /// An hour, in times of several units. No slot is left out or repeated, and every phase is what the slot's number says.
    @Test(
        arguments: [
            (film, Rational(60)), (Rational(25), Rational(60)), (Rational(30000, 1001), Rational(24)),
            (Rational(60), film), (Rational(24), Rational(60000, 1001)),
        ], [1, 1001])
    func anHourDoesNotDrift(_ rates: (Rational, Rational), ticks: Int64) throws {
        let (source, rate) = rates
        let count = Int64(3600 * source.value)
        var plan = RatePlan(
            timeBase: Rational(source.denominator, source.numerator * ticks), to: rate)
        var next: Int64 = 0
        for picture in 0..<count {
            for slot in plan.add(picture * ticks + 7) {
                #expect(slot.number == next)
                next += 1
                // The slot in pictures: a whole number and the exact phase.
                let place = Rational(slot.number * source.numerator * rate.denominator, source.denominator * rate.numerator)
                let exact = Rational(place.numerator - (picture - 1) * place.denominator, place.denominator)
                let shown = phase(slot)
                if case .between = slot.source {
                    #expect(shown == exact)
                } else {
                    // In slots.
                    let off = abs(exact.value - shown.value) * rate.value / source.value
                    #expect(off <= 1.0 / 16 + 1e-9)
                }
            }
        }
        #expect(abs(Double(next) / rate.value - 3600) < 0.1)
    }

    /// 59.94 to 60 a second and back, and pictures whose times are not exact: originals stay, and none is shown twice.
    @Test func aboutAsManyPicturesStayOriginals() {
        for (source, rate) in [(Rational(60000, 1001), Rational(60)), (Rational(60), Rational(60000, 1001))] {
            var plan = RatePlan(from: source, to: rate)
            var (later, other) = (0, 0)
            for picture in 0..<Int64(6006) {
                let slots = plan.add(picture)
                #expect(slots.filter { $0.source == .later }.count <= 1)
                later += slots.count { $0.source == .later }
                other += slots.count { $0.source != .later }
            }
            #expect(later >= 5999 && other <= 6, "\(later), \(other)")
        }
        var plan = RatePlan(timeBase: Rational(1, 1000), to: Rational(30))
        for picture in 0..<Int64(300) {
            #expect(plan.add((picture * 1000 + 15) / 30).map(\.source) == [.later])
        }
    }

    /// Between pictures far apart, and while one rests, the earlier one is shown.
    @Test func nothingMovesAcrossAGap() {
        var plan = RatePlan(from: Rational(20), to: Rational(20))
        _ = plan.add(0)
        #expect(plan.add(20).map(\.source) == Array(repeating: .earlier, count: 19) + [.later])
        // A picture that rests until 30, and moves until 32.
        var slots = plan.add(32, heldUntil: 30)
        #expect(slots.map(\.number) == Array(21...32))
        #expect(slots.map(\.source) == Array(repeating: .earlier, count: 10) + [.between(Rational(1, 2)), .later])
        slots = plan.hold(until: 34)
        #expect(slots.map(\.number) == [33, 34] && slots.allSatisfy { $0.source == .earlier })
        #expect(plan.hold(until: 35, isExcluded: true).isEmpty)
    }

    /// A gap that stays has no slots, and the picture behind it is shown wherever it lies.
    @Test func aGapMayStay() {
        var plan = RatePlan(timeBase: Rational(1, 1000), to: Rational(20))
        func shown(_ slots: [RatePlan.Slot]) -> [Int64] { slots.filter { $0.source == .later }.map(\.number) }
        #expect(plan.resume(at: 0).map(\.number) == [0])
        #expect(plan.add(50).map(\.number) == [1])
        #expect(shown(plan.resume(at: 3_600_060)) == [72_001])
        // Nearer to the slot after it; and so near to the one before that both would have the same.
        #expect(shown(plan.resume(at: 3_601_030)) == [72_021])
        #expect(shown(plan.resume(at: 3_601_040)) == [72_022])
        #expect(shown(plan.add(3_601_150)) == [72_023])
        #expect(plan.add(3_601_225).map(\.source) == [.between(Rational(2, 3))])
    }

    @Test func phasesAreMadeInOneCall() throws {
        let size = PictureSize(width: 96, height: 64)
        let session = try FrameRateConversion(FrameInterpolationConfiguration(size: size))
        for index in 0..<4 {
            let picture = MotionScene().picture(size, movedBy: Double(index) * 3, 0)
            try session.push(picture.view, enhanced: picture.view)
        }
        let (several, single) = ([TestPicture(size), TestPicture(size)], TestPicture(size))
        let results = try session.synthesise(phases: [0.25, 0.6], into: several.map(\.mutableView))
        #expect(results.count == 2)
        try session.synthesise(phase: 0.6, into: single.mutableView)
        #expect(several[1].difference(from: single) == nil && several[0].difference(from: single) != nil)
        #expect(throws: EnhanceError.self) { try session.synthesise(phases: [0.5], into: several.map(\.mutableView)) }
        withExtendedLifetime(several) {}
    }
}
