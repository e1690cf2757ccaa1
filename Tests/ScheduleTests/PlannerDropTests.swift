import Media
import Schedule
import Testing

/// Which frames are dropped, and which are not.
extension PlannerTests {
    @Test func anOriginalIsNotDroppedAlone() {
        var (planner, now) = trained()
        // There is too little time, but it does not make the next original late. No frame would gain by its drop.
        let late = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(5), synthesised: 1, tiles: 60))
        #expect(late.drop == nil && late.tiles == 0 && late.synthesised == 0)
        // This one makes the next original late. It is dropped, because frames that have not waited have enough time.
        #expect(planner.plan(FrameRequest(now: now, emitBy: now - .milliseconds(40), tiles: 60)).drop == .late)
        // After a freeze it goes on all the same.
        now = now + .milliseconds(300)
        #expect(planner.plan(FrameRequest(now: now, emitBy: now - .milliseconds(40), tiles: 60)).drop == nil)
    }

    /// When all originals are late, a late one is encoded if no other waits for the encoder, however slow the machine is.
    @Test(arguments: [(budget: 60.0, isKept: false), (budget: 30.0, isKept: true)])
    func theEncoderAcceptsLateOriginalsWhenNoneCanBeInTime(budget: Double, isKept: Bool) {
        var (planner, now) = trained()
        for _ in 0..<40 { planner.observe(.encode, .milliseconds(40)) }
        for _ in 0..<200 {
            now = now + .milliseconds(33.3)
            _ = planner.plan(FrameRequest(now: now, emitBy: now + .milliseconds(budget), tiles: 0))
            _ = planner.encode(
                EncodeRequest(now: now + .milliseconds(3), emitBy: now + .milliseconds(budget), kind: .original))
        }
        // The slack of the first frames is forgotten by now, and one has just been encoded.
        let reason = planner.encode(
            EncodeRequest(now: now + .milliseconds(30), emitBy: now + .milliseconds(budget), kind: .original))
        #expect((reason == nil) == isKept)
    }

    /// Others wait behind an original that will be late, and they can be in time after it.
    @Test func aLateOriginalGoesOnWhenNoFrameGainsByItsDrop() {
        var (planner, now) = trained()
        func drop(_ slack: Double, waiting: Int) -> DropReason? {
            var copy = planner
            let newest = now + .milliseconds(slack + 33.3 * Double(waiting))
            return copy.plan(
                FrameRequest(
                    now: now, emitBy: now + .milliseconds(slack), tiles: 60, waiting: waiting, newestEmitBy: newest)
            ).drop
        }
        #expect(drop(5, waiting: 1) == nil && drop(5, waiting: 3) == nil)
        #expect(drop(-20, waiting: 1) == .late)
        // The threads cannot keep up. Then the emitted originals should be in time.
        for _ in 0..<20 { planner.observe(.encode, .milliseconds(40)) }
        #expect(drop(5, waiting: 1) == .late)
    }

    @Test func theNewestIsPreferred() {
        var (planner, now) = trained()
        let due = now + .milliseconds(60)
        var emitted: [Int] = []
        for index in 0..<20 {  // A burst of twenty, all due at the same time.
            let plan = planner.plan(
                FrameRequest(now: now, emitBy: due, tiles: 60, waiting: 19 - index, newestEmitBy: due))
            if plan.isDropped { continue }
            emitted.append(index)
            now = now + .milliseconds(8)
        }
        #expect(emitted.last == 19)
        #expect(emitted == Array((20 - emitted.count)..<20), "the oldest are dropped")
        #expect(emitted.count >= 4, "no more are dropped than necessary")
    }

    @Test func aSynthesisedFrameYieldsToAnOriginal() {
        var (planner, now) = trained()
        let due = now + .milliseconds(40)
        #expect(planner.plan(FrameRequest(now: now, emitBy: due, synthesised: 1, tiles: 60)).synthesised == 1)
        var busy = FrameRequest(now: now, emitBy: due, synthesised: 1, tiles: 60, encoderQueue: 2)
        busy.encoderBusySince = now
        busy.waiting = 2
        busy.newestEmitBy = due
        #expect(planner.plan(busy).synthesised == 0)
        now = now + .milliseconds(30)
        let request = EncodeRequest(now: now, emitBy: due, kind: .synthesised, nextOriginalEmitBy: due)
        #expect(planner.encode(request) == .late)
        #expect(planner.encode(EncodeRequest(now: now, emitBy: due, kind: .original)) == nil)
    }

    /// After one encoding that was kept waiting, the next synthesised frame could be kept waiting too, and its original behind
    /// it.
    @Test func aSynthesisedFrameIsDroppedAfterOneLongEncoding() {
        var (planner, now) = trained()
        func verdict(_ kind: FrameKind, _ time: Double) -> DropReason? {
            let due = now + .milliseconds(time)
            return planner.encode(
                EncodeRequest(
                    now: now, emitBy: due, kind: kind,
                    nextOriginalEmitBy: kind == .original ? due + Self.frameTime : due))
        }
        #expect(verdict(.synthesised, 45) == nil)
        planner.observe(.encode, .milliseconds(36))
        #expect(verdict(.synthesised, 45) == .late)
        // An original is worth the risk while the one behind it can follow.
        #expect(verdict(.original, 10) == nil)
        #expect(verdict(.original, 6) == .late)
        for _ in 0..<120 { step(&planner, &now, 1) }
        #expect(verdict(.synthesised, 45) == nil)
    }

    /// 240 originals a second take 20 ms each to encode. The encoder should get the newest.
    @Test func aSwampedEncoderGetsTheNewest() {
        var planner = Planner(configuration())
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        func request(waiting: Int) -> FrameRequest {
            var request = FrameRequest(now: now, emitBy: now + .milliseconds(70), tiles: 0, waiting: waiting)
            request.newestEmitBy = request.emitBy + .milliseconds(4.2 * Double(waiting))
            return request
        }
        for frame in 0..<120 {
            now = now + .milliseconds(21)
            var next = request(waiting: 3)
            next.arrived = 5 * frame
            _ = planner.plan(next)
            planner.observe(.decode, .milliseconds(1))
            planner.observe(.base, .milliseconds(2))
            planner.observe(.encode, .milliseconds(20))
            planner.emitted(slack: .milliseconds(30))
        }
        // The encoder is busy until the next original is ready, so that one goes on.
        var busy = request(waiting: 1)
        busy.encoderBusySince = now - .milliseconds(5)
        #expect(planner.plan(busy).drop == .overload)
        // The encoder is nearly free, so this one goes on.
        busy.encoderBusySince = now - .milliseconds(19)
        #expect(planner.plan(busy).drop == nil)
        // There is no newer one.
        busy = request(waiting: 0)
        busy.encoderBusySince = now - .milliseconds(5)
        #expect(planner.plan(busy).drop == nil)
        let due = now + .milliseconds(60)
        #expect(planner.encode(EncodeRequest(now: now, emitBy: due, kind: .original)) == nil)
        let next = due + .milliseconds(4.2)
        #expect(
            planner.encode(EncodeRequest(now: now, emitBy: due, kind: .original, nextOriginalEmitBy: next)) == .overload)
    }

    /// Some frames go on however high the estimate is, because only they can show that it is too high.
    @Test func aHighEstimateDoesNotFreezeThePicture() {
        var (planner, now) = trained()
        planner.observe(.encode, .milliseconds(64))
        planner.observe(.encode, .milliseconds(150))
        var tried: [MonotonicTime] = []
        let start = now
        for _ in 0..<400 {
            now = now + .milliseconds(5)
            let due = now + .milliseconds(60)
            let busy = FrameRequest(now: now, emitBy: due, tiles: 0, waiting: 2, newestEmitBy: due, encoderQueue: 2)
            if planner.plan(busy).drop == nil { tried.append(now) }
        }
        let gaps = zip([start] + tried, tried + [now]).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 <= .milliseconds(260) }, "\(gaps)")
    }

    /// When frames come faster than they can be encoded, one that may be late is dropped for one that will be in time.
    @Test func anOriginalIsDroppedOnlyWhenTheNextOneGains() {
        var (planner, now) = trained()
        planner.observe(.encode, .milliseconds(36))
        now = now + .milliseconds(8)
        let due = now + .milliseconds(12)
        func verdict(next: Nanoseconds) -> DropReason? {
            planner.encode(EncodeRequest(now: now, emitBy: due, kind: .original, nextOriginalEmitBy: due + next))
        }
        #expect(verdict(next: .milliseconds(4)) == .late)
        #expect(verdict(next: .milliseconds(33)) == nil)
    }

    /// An interpolated frame is made and encoded before the original behind it. Only one of the two overlaps with other work.
    @Test func theOriginalBehindIsCountedWithBothEncodings() {
        func made(_ order: SynthesisOrder) -> Int {
            var (planner, now) = trained()
            now = now + Self.frameTime
            let due = now + .milliseconds(30)
            // The original takes 2.5 + 8 ms, the one behind it 8 ms. A synthesised frame adds 6 + 8 ms before the original, or
            // 8 ms after it.
            return planner.plan(
                FrameRequest(now: now, emitBy: due, synthesised: 1, order: order, tiles: 0, waiting: 1, newestEmitBy: due)
            ).synthesised
        }
        #expect(made(.beforeOriginal) == 0)
        #expect(made(.afterOriginal) == 1)
    }

    @Test func theDecoderSkipsOnlyFramesThatNoOtherNeeds() {
        var planner = Planner(configuration())
        let now = MonotonicTime(nanoseconds: 0)
        func unit(_ change: (inout UnitRequest) -> Void) -> UnitRequest {
            var unit = UnitRequest(now: now, emitBy: now + .milliseconds(80), isKeyframe: false)
            change(&unit)
            return unit
        }
        #expect(planner.admit(unit { _ in }) == .decode)
        #expect(
            planner.admit(
                unit {
                    $0.waiting = 50; $0.emitBy = now - .seconds(1)
                }) == .decode)
        let late = unit {
            $0.waiting = 50; $0.emitBy = now - .seconds(1); $0.keyframeWaiting = true
        }
        #expect(planner.admit(late) == .drop(.late))
        #expect(planner.admit(unit { $0.keyframeWaiting = true }) == .drop(.late), "it refers to one that was dropped")
        #expect(planner.admit(unit { $0.isKeyframe = true }) == .decode)
        #expect(planner.admit(unit { $0.waiting = 121 }) == .drop(.noKeyframe))
        #expect(planner.admit(unit { _ in }) == .drop(.noKeyframe), "until the next keyframe")
        #expect(planner.admit(unit { $0.isKeyframe = true }) == .decode)
        #expect(planner.admit(unit { _ in }) == .decode)
    }

    @Test func theLastRungSkipsFramesThatNoOtherNeedsWhileItIsBehind() {
        var (planner, now) = trained(60, factor: 12)
        #expect(!planner.level.decodesAll)
        var unit = UnitRequest(now: now, emitBy: now + .milliseconds(80), isKeyframe: false, waiting: 3)
        #expect(planner.admit(unit) == .decodeIfReferred)
        unit.waiting = 0
        #expect(planner.admit(unit) == .decode, "none waits, and there is time")
        unit.emitBy = now - .milliseconds(1)
        #expect(planner.admit(unit) == .decodeIfReferred)
        unit.waiting = 3
        for _ in 0..<240 { step(&planner, &now, 1) }
        #expect(planner.level.decodesAll && planner.admit(unit) == .decode)
    }
}
