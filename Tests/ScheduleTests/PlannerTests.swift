import Media
import Schedule
import Testing

@Suite struct PlannerTests {
    static let frameTime = Nanoseconds.seconds(1 / 30.0)

    func configuration() -> Planner.Configuration {
        let size = PictureSize(width: 640, height: 360)
        return Planner.Configuration(input: size, output: size.scaled(by: 2), interval: Self.frameTime)
    }

    /// A planner after `frames` frames of the given cost, each in time.
    func trained(_ frames: Int = 120, factor: Double = 1, caution: Double = 1) -> (Planner, MonotonicTime) {
        var configuration = configuration()
        configuration.weights.caution = caution
        var planner = Planner(configuration)
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        for _ in 0..<frames { step(&planner, &now, factor) }
        return (planner, now)
    }

    @discardableResult
    func step(_ planner: inout Planner, _ now: inout MonotonicTime, _ factor: Double) -> FramePlan {
        now = now + Self.frameTime
        let plan = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(75), synthesised: 1, tiles: 60))
        planner.observe(.decode, .milliseconds(2 * factor))
        planner.observe(.base, .milliseconds(2.5 * factor))
        let work = plan.tier == .quality ? 0.9 : 0.1
        if plan.tier > .base { planner.observe(.tile(plan.tier), .milliseconds(work * factor), units: 1) }
        if plan.synthesised > 0 { planner.observe(.synthesise, .milliseconds(6 * factor)) }
        planner.observe(.encode, .milliseconds(8 * factor))
        planner.emitted(slack: .milliseconds(30))
        return plan
    }

    /// Estimates survive, and the new limits hold at once.
    @Test func settingsChangeBetweenTwoPlans() {
        var (planner, now) = trained()
        let costs = planner.costs[.encode].mean
        #expect(planner.level.tier == .neuralM && planner.level.synthesises)
        planner.change(ceiling: .neuralS, synthesises: false, caution: 2)
        let plan = step(&planner, &now, 1)
        #expect(plan.drop == nil && plan.tier == .neuralS && plan.synthesised == 0)
        #expect(planner.configuration.weights.caution == 2 && abs(planner.costs[.encode].mean - costs) < costs / 10)
        planner.change(ceiling: .neuralM, synthesises: true, caution: 1)
        #expect(step(&planner, &now, 1).synthesised == 1)
        for _ in 0..<60 { step(&planner, &now, 1) }
        #expect(planner.level.tier == .neuralM)
    }

    /// The largest network is used where somebody asks for it and there is time, and where it brings more than the one below.
    @Test func theLargestTierIsUsedWhereThereIsTime() {
        for (factor, expected) in [(0.4, Tier.quality), (1.0, .neuralM)] {
            var (planner, now) = trained(factor: factor)
            #expect(planner.level.tier == .neuralM)
            planner.change(ceiling: .quality, synthesises: true, caution: 1)
            var drops = 0
            for _ in 0..<120 { drops += step(&planner, &now, factor).drop == nil ? 0 : 1 }
            #expect(planner.level.tier == expected && drops == 0, "\(planner.level)")
        }
    }

    /// Where much of the pictures changes for less than a second, the cheaper network would do more of them.
    @Test func aTierIsLeftForACheaperOneOnlyWhereThatBringsMoreOnTheMean() {
        var planner = Planner(configuration())
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        func run(_ frames: Int, tiles: Int) {
            for _ in 0..<frames {
                now = now + Self.frameTime
                let plan = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(75), tiles: tiles))
                planner.observe(.decode, .milliseconds(2.0))
                planner.observe(.base, .milliseconds(2.5))
                if plan.tier > .base { planner.observe(.tile(plan.tier), .milliseconds(plan.tier == .neuralM ? 0.4 : 0.04)) }
                planner.observe(.encode, .milliseconds(8.0))
                planner.emitted(slack: .milliseconds(30))
            }
        }
        run(200, tiles: 60)
        #expect(planner.level.tier == .neuralM)
        for _ in 0..<5 {
            run(24, tiles: 600)
            #expect(planner.level.tier == .neuralM)
            run(60, tiles: 60)
        }
        run(200, tiles: 600)
        #expect(planner.level.tier == .neuralS)
    }

    /// A sender whose buffer is not full keeps a small picture until the next one comes. Nothing is lost where both are refined.
    @Test func picturesThatComeInPairsAreAllRefined() {
        var planner = Planner(configuration())
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        var refined = 0
        for frame in 0..<240 {
            let isFirst = frame % 2 == 0
            let due = start + Nanoseconds(Self.frameTime.count * Int64(frame)) + .milliseconds(200)
            // The first comes with the second, and takes 20 ms.
            let now = start + Nanoseconds(Self.frameTime.count * Int64(frame | 1)) + .milliseconds(isFirst ? 0 : 20)
            let plan = planner.plan(
                FrameRequest(
                    now: now, emitBy: due, tiles: 60, waiting: isFirst ? 1 : 0,
                    newestEmitBy: isFirst ? due + Self.frameTime : due, arrived: (frame | 1) + 1))
            refined += frame >= 120 && plan.tier > .base && plan.tiles == 60 ? 1 : 0
            planner.observe(.decode, .milliseconds(2.0))
            planner.observe(.base, .milliseconds(6.0))
            if plan.tiles > 0 { planner.observe(.tile(plan.tier), .milliseconds(0.15)) }
            planner.observe(.encode, .milliseconds(14.0))
            planner.emitted(slack: .milliseconds(120))
        }
        #expect(refined == 120)
    }

    /// Where threads wait for each other's, their times overstate the cores that they use. Tiles get what is left of the machine.
    @Test func timesThatThreadsWaitLeaveRoomForTiles() {
        func tiles(processors: Double?) -> Int {
            var planner = Planner(configuration())
            var now = MonotonicTime(nanoseconds: 1_000_000_000)
            var (tiles, had) = (0, 0.0)
            for frame in 0..<240 {
                now = now + Self.frameTime
                let plan = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(190), tiles: 800))
                planner.observe(.decode, .milliseconds(7.0))
                planner.observe(.base, .milliseconds(6.0))
                if plan.tiles > 0 {
                    planner.observe(.tile(plan.tier), .milliseconds(0.03 * Double(plan.tiles)), units: plan.tiles)
                }
                planner.observe(.encode, .milliseconds(18.0))
                planner.emitted(slack: .milliseconds(120))
                // Workers are two threads; the one that encodes is one.
                had += 7 + 12 + 0.06 * Double(plan.tiles) + 18
                if frame % 6 == 0, let processors { planner.observe(processorTime: .milliseconds(processors * had)) }
                if frame >= 180 { tiles += plan.tiles }
            }
            return tiles
        }
        let (unknown, all, less) = (tiles(processors: nil), tiles(processors: 1), tiles(processors: 0.8))
        #expect(all == unknown && Double(less) > 1.5 * Double(all) && less < 60 * 800, "\(unknown) \(all) \(less)")
    }

    /// For half a second the encoder takes more than twice as long beside tiles. Frames in trouble have none, so it is fast again, and the
    /// stream keeps its rung. Where it stays slow without tiles, the rung goes.
    @Test(arguments: [true, false]) func tilesGoBeforeTheRung(isSlowByTiles: Bool) {
        var (planner, now) = trained()
        var (tiles, synthesised) = (0, 0)
        var last = 0
        for frame in 0..<60 {
            now = now + Self.frameTime
            let plan = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(75), synthesised: 1, tiles: 60))
            tiles += plan.tiles > 0 ? 1 : 0
            synthesised += plan.synthesised
            last = plan.synthesised
            let encode = Nanoseconds.milliseconds(isSlowByTiles && (plan.tiles == 0 || frame >= 15) ? 8.0 : 20)
            planner.observe(.decode, .milliseconds(2.0))
            planner.observe(.base, .milliseconds(2.5))
            if plan.tiles > 0 { planner.observe(.tile(plan.tier), .milliseconds(0.1)) }
            if plan.synthesised > 0 { planner.observe(.synthesise, .milliseconds(6.0)) }
            for _ in 0...plan.synthesised { planner.observe(.encode, encode) }
            planner.emitted(slack: .milliseconds(30))
        }
        if isSlowByTiles {
            #expect(planner.rung == 0 && (15..<60).contains(tiles) && last == 1, "\(planner.level) \(tiles) \(synthesised)")
        } else {
            #expect(!planner.level.synthesises && tiles <= 2 && synthesised <= 4, "\(planner.level) \(tiles) \(synthesised)")
        }
    }

    /// The rung on which a stream ends whose encoder was too slow for a while, or that has too high an estimate of synthesis.
    private func rungAtTheEnd(isConstantRate: Bool, wasSlow: Bool, estimate: Double) -> Rung {
        var configuration = configuration()
        configuration.ceiling = .base
        configuration.seeds.synthesise = estimate
        var planner = Planner(configuration)
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        for frame in 0..<600 {
            now = now + Self.frameTime
            let plan = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(200), synthesised: 1, tiles: 0))
            planner.observe(.decode, .milliseconds(4))
            planner.observe(.base, .milliseconds(1))
            planner.observe(encoding: .came, .milliseconds(wasSlow && frame < 60 ? 32 : 14))
            if plan.synthesised > 0 {
                planner.observe(synthesis: .milliseconds(6), working: .milliseconds(8))
                planner.observe(encoding: .synthesised, .milliseconds(14))
            } else if isConstantRate {
                planner.observe(encoding: .repeated, .milliseconds(13))
            }
            planner.emitted(slack: .milliseconds(100))
        }
        return planner.level
    }

    /// Two encodes take 0.84 of the time between two pictures: too much to climb to, if a repeat did not take as long.
    @Test(arguments: [false, true]) func synthesisedFramesTakeTheTimeOfRepeats(isConstantRate: Bool) {
        let rung = rungAtTheEnd(isConstantRate: isConstantRate, wasSlow: true, estimate: 10)
        #expect(rung.synthesises == isConstantRate, "\(rung)")
    }

    /// Too high an estimate of what was never done would never be found out.
    @Test(arguments: [false, true]) func synthesisIsTriedInPlaceOfRepeats(isConstantRate: Bool) {
        let rung = rungAtTheEnd(isConstantRate: isConstantRate, wasSlow: false, estimate: 40)
        #expect(rung.synthesises == isConstantRate, "\(rung)")
    }

    /// Another budget moves all deadlines at once, which is no longer time between originals.
    @Test func anotherBudgetDoesNotChangeTheInterval() {
        var (planner, now) = trained()
        func demand(_ budget: Nanoseconds) -> Double {
            for index in 0..<10 {
                now = now + Self.frameTime
                _ = planner.plan(
                    FrameRequest(
                        now: now, emitBy: now + budget, tiles: 60, newestEmitBy: now + budget, budget: budget,
                        arrived: 120 + index))
            }
            return planner.demand.least
        }
        let usual = demand(.milliseconds(75))
        #expect(abs(demand(.milliseconds(400)) / usual - 1) < 0.01)
        #expect(abs(demand(.milliseconds(40)) / usual - 1) < 0.01)
    }

    /// After the plan and before the synthesised frame, two stages show that all work takes three times as long. The time left
    /// is enough for two encodings at the old cost, but not at the new one.
    @Test func aFrameWhoseCostRoseSinceThePlanIsNotMade() {
        var (planner, now) = trained()
        now = now + Self.frameTime
        let plan = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(60), synthesised: 1, tiles: 0))
        let request = SynthesisRequest(now: now + .milliseconds(3), plan: plan, order: .beforeOriginal)
        #expect(plan.synthesised == 1 && request.now <= plan.synthesiseBy && planner.synthesise(request))
        planner.observe(.decode, .milliseconds(6))
        #expect(planner.synthesise(request), "one stage alone shows no slowdown")
        planner.observe(.base, .milliseconds(7.5))
        #expect(!planner.synthesise(request))
        // With more time the same slowdown does no harm. After its original, the frame delays only the next original.
        var behind = request
        behind.order = .afterOriginal
        behind.plan.emitBy = behind.plan.emitBy + .milliseconds(60)
        #expect(planner.synthesise(behind))
        behind.now = behind.now + .milliseconds(60)
        behind.plan.synthesiseBy = behind.now
        #expect(!planner.synthesise(behind))
        var early = request
        early.plan.emitBy = early.plan.emitBy + .milliseconds(60)
        #expect(planner.synthesise(early))
    }

    /// The same check before tiles, with the cost of the base upscale that was just done.
    @Test func noTileIsBegunWhenTheMachineHasJustBecomeSlower() {
        var (planner, now) = trained()
        now = now + Self.frameTime
        let plan = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(75), tiles: 60))
        #expect(plan.tiles > 0 && plan.stop > now + .milliseconds(10))
        func stop(base milliseconds: Double) -> MonotonicTime {
            let base = Nanoseconds.milliseconds(milliseconds)
            return planner.refine(RefinementRequest(now: now + base, plan: plan, base: base))
        }
        #expect(stop(base: 7.5) == plan.stop, "one stage alone shows no slowdown")
        planner.observe(.decode, .milliseconds(6))
        #expect(stop(base: 7.5) == now + .milliseconds(7.5))
        #expect(stop(base: 2.5) == plan.stop, "a keyframe")
    }

    /// The same check before the encoder, for a synthesised frame that is already made.
    @Test func aSynthesisedFrameIsDroppedWhenTheMachineHasJustBecomeSlower() {
        var (planner, now) = trained()
        let original = now + .milliseconds(30)
        let frame = EncodeRequest(now: now, emitBy: original, kind: .synthesised, nextOriginalEmitBy: original)
        #expect(planner.encode(frame) == nil)
        planner.observe(.decode, .milliseconds(6))
        planner.observe(.base, .milliseconds(7.5))
        #expect(planner.encode(frame) == .late)
    }

    @Test func anotherSizeKeepsTheRung() {
        var (planner, now) = trained()
        let size = PictureSize(width: 320, height: 180)
        planner.resize(input: size, output: size.scaled(by: 2))
        #expect(step(&planner, &now, 0.25).rung == 0)
        #expect(planner.configuration.input == size)
    }

    @Test func climbsOneRungAtATime() {
        var planner = Planner(configuration())
        var now = MonotonicTime(nanoseconds: 0)
        var rungs: [Int] = []
        for _ in 0..<60 { rungs.append(step(&planner, &now, 1).rung) }
        #expect(zip(rungs, rungs.dropFirst()).allSatisfy { $1 == $0 || $1 == $0 - 1 })
        #expect(rungs.first == 3 && rungs.last == 0)
    }

    @Test func sacrificesInTheStatedOrderAndRecovers() {
        var (planner, now) = trained()
        #expect(planner.rung == 0)
        var seen: [Rung] = []
        for factor in stride(from: 1.0, through: 5.0, by: 0.02) {
            step(&planner, &now, factor)
            if seen.last != planner.level { seen.append(planner.level) }
        }
        #expect(seen.last?.synthesises == false)
        #expect(seen == seen.sorted { worth($0) > worth($1) }, "never up while the load rises")
        let end = now
        while planner.rung > 0, now - end < .seconds(4) { step(&planner, &now, 1) }
        #expect(now - end <= .seconds(2))
    }

    /// A rung that can be held for three seconds at a time does not make the stream flicker.
    @Test func aRungThatCanOnlyBeHeldNowAndThenIsTriedLessAndLess() {
        var (planner, now) = trained()
        var climbs: [Double] = []
        var last = planner.rung
        let start = now
        var climbed = now
        while now - start < .seconds(300) {
            // At the top the machine slows down after three seconds. It is fast again as soon as the stream leaves the rung.
            step(&planner, &now, planner.rung == 0 && now - climbed > .seconds(3) ? 2.2 : 1)
            if planner.rung == 0, last > 0 { climbs.append((now - start).seconds) }
            if planner.rung == 0, last > 0 { climbed = now }
            last = planner.rung
        }
        let waits = zip(climbs, climbs.dropFirst()).map { $1 - $0 }
        #expect(climbs.count > 4 && climbs.count < 24, "\(climbs)")
        #expect(waits.last! > 20, "\(waits)")
    }

    func worth(_ rung: Rung) -> Int {
        Int(rung.tier.rawValue) * 4 + (rung.synthesises ? 2 : 0) + (rung.decodesAll ? 1 : 0)
    }

    @Test func moreTimeNeverMeansLess() {
        let (planner, now) = trained()
        var last: FramePlan?
        for microseconds in stride(from: Int64(0), through: 150_000, by: 250) {
            var copy = planner
            let plan = copy.plan(
                FrameRequest(now: now, emitBy: now + .microseconds(microseconds), synthesised: 1, tiles: 60))
            if let last, last.synthesised == plan.synthesised {
                #expect(plan.tiles >= last.tiles && plan.stop - now >= last.stop - now)
            }
            if let last { #expect(plan.synthesised >= last.synthesised) }
            last = plan
        }
        #expect(last?.tiles ?? 0 > 0 && last?.synthesised == 1)
    }

    @Test func workStopsInTimeForEncodingAndSending() {
        let (planner, now) = trained()
        for milliseconds in stride(from: 5.0, through: 100, by: 1) {
            var copy = planner
            let plan = copy.plan(
                FrameRequest(now: now, emitBy: now + .milliseconds(milliseconds), synthesised: 1, tiles: 60))
            guard plan.tiles > 0 else { continue }
            let after = plan.synthesised > 0 ? 8.0 + 6 + 8 : 8
            #expect(plan.emitBy - plan.stop >= .milliseconds(after * 0.95))
        }
    }

    @Test(arguments: [4.0, 120, 400]) func learnsAnIntervalThatNobodySet(milliseconds: Double) {
        var planner = Planner(configuration())
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        for _ in 0..<200 {
            now = now + .milliseconds(milliseconds)
            _ = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(75), tiles: 0))
            planner.observe(.decode, .milliseconds(1))
            planner.observe(.base, .milliseconds(1))
            planner.observe(.encode, .milliseconds(2))
        }
        #expect(abs(planner.demand.least * milliseconds - (1 + 2 * 1 + 2)) < 0.05)
    }

    /// Some networks and senders deliver three frames at a time. That is not a rate of ten thousand a second.
    @Test func burstsAreNoOtherInterval() {
        var planner = Planner(configuration())
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        for frame in 0..<300 {
            if frame % 3 == 0 { now = now + .milliseconds(100) }
            let due = now + .milliseconds(75)
            let waiting = 2 - frame % 3
            _ = planner.plan(
                FrameRequest(
                    now: now, emitBy: due + .microseconds(Int64(frame % 3) * 50), tiles: 0, waiting: waiting,
                    newestEmitBy: due + .microseconds(100), arrived: frame + 1 + waiting))
            planner.observe(.decode, .milliseconds(1))
            planner.observe(.base, .milliseconds(1))
            planner.observe(.encode, .milliseconds(2))
            #expect(abs(planner.demand.least * 33.3 / 5 - 1) < 0.25)
        }
    }

    /// Originals that were dropped before the plan count too.
    @Test func theIntervalIsThatOfAllThatArrive() {
        var planner = Planner(configuration())
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        for frame in 0..<200 {
            now = now + .milliseconds(20)
            let due = now + .milliseconds(75)
            _ = planner.plan(
                FrameRequest(now: now, emitBy: due, tiles: 0, waiting: 1, newestEmitBy: due, arrived: 5 * frame))
            planner.observe(.decode, .milliseconds(1))
            planner.observe(.base, .milliseconds(1))
            planner.observe(.encode, .milliseconds(2))
        }
        #expect(abs(planner.demand.least * 4 - 5) < 0.05)
    }

    /// On one core, two threads that share a piece of work use no more of it than one thread.
    @Test func threadsBeyondTheCoresDoNotCount() {
        func demand(_ change: (inout Planner.Configuration) -> Void) -> Double {
            var configuration = configuration()
            configuration.cores = 1
            change(&configuration)
            return Planner(configuration).demand.least
        }
        let one = demand { $0.workers = 1 }
        #expect(
            demand {
                $0.workers = 2; $0.encoders = 8
            } == one)
        #expect(
            demand {
                $0.cores = 2; $0.encoders = 2
            } > one)
    }

    @Test func deadlinesCountFromTheBestOrigin() {
        let time = MonotonicTime(nanoseconds: 5_000_000_000)
        let deadline = Deadline(budget: .milliseconds(80), recoveryWindow: .milliseconds(120))
        #expect(deadline.emitBy(Origin(.source, time)) - time == .milliseconds(200))
        #expect(deadline.emitBy(Origin(.arrival, time)) - time == .milliseconds(80))
    }

    @Test func timeOnEachRungIsKept() {
        func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }
        var record = RungRecord()
        #expect(record.rung == nil && Rung.all.allSatisfy { record.time(on: $0, until: at(9)) == .zero })
        for (second, rung) in [(1.0, 2), (2, 2), (4, 0), (5, 6), (8, 0)] { record.record(Rung.all[rung], at: at(second)) }
        #expect(record.changes == 3 && record.rung == Rung.all[0])
        #expect(Rung.all.map { record.time(on: $0, until: at(10)).seconds } == [3, 0, 3, 0, 0, 0, 3, 0, 0])
        #expect(Set(Rung.all.map(\.name)).count == 9)
        #expect(Rung.all.map(\.name).first == "quality+synthesis" && Rung.all.last!.name == "skipping")
    }

    /// The end of a load shows in the free cores, even when short work did not show the load.
    @Test func freeCoresCountForWorkThatHasNotRun() {
        var costs = CostModel(
            input: PictureSize(width: 640, height: 360), output: PictureSize(width: 1280, height: 720), tilePixels: 2048,
            cores: 2)
        costs.cores = 0.5
        costs.observe(.synthesise, .milliseconds(24))
        #expect(costs[.synthesise].mean == 24e6)
        costs.cores = 2
        #expect(costs[.synthesise].mean == 6e6)
        costs.cores = 0.25
        #expect(costs[.synthesise].mean == 24e6)
    }

    @Test func capacityAdmitsWhatFits() {
        let capacity = Capacity(cores: 2)
        let stream = Capacity.Demand(least: 0.42, synthesising: 1.2)
        #expect(capacity.admits(stream, beside: Array(repeating: stream, count: 3)))
        #expect(!capacity.admits(stream, beside: Array(repeating: stream, count: 4)))
        #expect(capacity.count(of: stream) == 4)
        #expect(capacity.count(of: Capacity.Demand(least: 1.8, synthesising: 2)) == 0)
        let (planner, _) = trained()
        #expect(abs(planner.demand.least - (2 + 2 * 2.5 + 8) / 33.3) < 0.05)
    }

    /// With a caution of two, every check of optional work asks for twice the time.
    @Test func cautionMultipliesTheTimeThatIsNeeded() {
        for order in [SynthesisOrder.beforeOriginal, .afterOriginal] {
            let ((usual, now), (cautious, _)) = (trained(), trained(caution: 2))
            func least(_ planner: Planner, _ passes: (Planner, Nanoseconds) -> Bool) -> Double {
                for tenths in 0..<4000 where passes(planner, .microseconds(Int64(tenths * 100))) { return Double(tenths) / 10 }
                return .infinity
            }
            let synthesises = { (planner: Planner, time: Nanoseconds) in
                var planner = planner
                return planner.plan(
                    FrameRequest(now: now, emitBy: now + time, synthesised: 1, order: order, tiles: 0)
                ).synthesised > 0
            }
            let tiles = { (planner: Planner, time: Nanoseconds) in
                var planner = planner
                return planner.plan(FrameRequest(now: now, emitBy: now + time, order: order, tiles: 60)).tiles > 0
            }
            let goes = { (planner: Planner, time: Nanoseconds) in
                var planner = planner
                return planner.encode(
                    EncodeRequest(
                        now: now, emitBy: now + .seconds(1), kind: .synthesised, nextOriginalEmitBy: now + time)) == nil
            }
            for (what, passes) in [("plan", synthesises), ("tiles", tiles), ("encode", goes)] {
                let (one, two) = (least(usual, passes), least(cautious, passes))
                // An extrapolated frame is due half an interval after its original.
                let later = order == .afterOriginal && what == "plan" ? 0.5 * Self.frameTime.milliseconds : 0
                #expect(one < 100 && two > 1.6 * one, "\(what) \(order): \(one) \(two)")
                #expect(two <= 2 * one + later + 0.2, "\(what) \(order): \(one) \(two)")
            }
        }
    }
}
