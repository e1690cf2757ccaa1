import Media
import Schedule
import Simulation
import Telemetry
import Testing

@Suite struct NamedLoadTests {
    private func load(_ name: String) throws -> Load { try #require(Load.named(name)) }

    @Test func aSteadyStreamIsAtTheTopWithinASecondAndStaysThere() throws {
        let outcome = try Simulation.run(load("steady"), timeline: true)[0]
        #expect(outcome.missed == 0)
        #expect(outcome.timeline.dropFirst(30).allSatisfy { $0.rung == 0 && $0.synthesised == 1 && $0.tiles > 0 })
    }

    /// Other programs keep both cores busy for 20 s, in the middle of a minute of 360p30 → 720p60 within 80 ms.
    @Test func twoBusyLoopsCostQualityOnly() throws {
        let load = try load("cores-taken")
        let outcome = Simulation.run(load, timeline: true)[0]
        #expect(outcome.missed == 0)
        #expect(outcome.latency.quantile(0.99) < load.deadline.budget)
        func rungs(_ from: Double, _ to: Double) -> [Int] {
            outcome.timeline.filter { (from..<to).contains(Double($0.arrival.nanoseconds) / 1e9) }.map(\.rung)
        }
        #expect(rungs(5, 20).allSatisfy { $0 == 0 })
        #expect(rungs(21, 40).allSatisfy { $0 > 0 })
        #expect(rungs(42, 60).allSatisfy { $0 == 0 }, "back at the former tier within 2 s")
        #expect(outcome.rungChanges < 12)
    }

    /// The time of the other program counts once, as missing cores, and not in the stream's work as well.
    @Test func oneBusyLoopCostsTilesAndNoSynthesisedFrames() throws {
        let load = try load("core-taken")
        let outcome = Simulation.run(load)[0]
        #expect(outcome.missed == 0)
        #expect(Double(outcome.synthesised) > 0.98 * Double(load.frames))
    }

    @Test(arguments: ["overload-5x", "overload-60fps"])
    func overloadIsShedAndLatencyStaysWithinTheBudget(name: String) throws {
        let load = try load(name)
        let outcome = Simulation.run(load)[0]
        #expect(outcome.latency.quantile(0.99) <= load.deadline.budget)
        #expect(outcome.dropped(.late) + outcome.dropped(.overload) == outcome.originals - outcome.emittedOriginals)
        // The encoder alone limits the rate to a frame each 40 (32) ms. At least three fifths of that are emitted.
        let least = Double(load.frames) * load.interval.seconds / (load.costs.encode / 1e9)
        #expect(Double(outcome.emittedOriginals) > 0.6 * least)
        #expect(outcome.longestFreeze < .milliseconds(250))
    }

    /// Four streams for which there is not enough of the machine to synthesise all frames.
    @Test func dealtCoresAreSharedEvenlyAndCostNothing() throws {
        let alone = try Simulation.run(load("four-lighter-streams"))
        let dealt = try Simulation.run(load("four-lighter-streams-dealt"))
        let counts = dealt.map(\.synthesised)
        #expect(Double(counts.max()!) < 1.5 * Double(counts.min()!), "\(counts)")
        #expect(counts.reduce(0, +) >= alone.map(\.synthesised).reduce(0, +))
        #expect(dealt.allSatisfy { $0.missed == 0 && $0.rungChanges <= 2 })
    }

    /// Streams whose costs say that there is no room, on a machine that has some.
    @Test func idleTimeIsUsedAlthoughReportedCostsFillTheMachine() throws {
        let plain = try Simulation.run(load("four-lighter-streams-dealt")).map(\.synthesised)
        let dealt = try Simulation.run(load("four-overstating-streams-dealt"))
        let counts = dealt.map(\.synthesised)
        #expect(Double(counts.max()!) < 1.5 * Double(counts.min()!), "\(counts)")
        #expect(Double(counts.reduce(0, +)) >= 0.9 * Double(plain.reduce(0, +)), "\(counts) \(plain)")
        #expect(dealt.allSatisfy { $0.missed == 0 })
    }

    @Test func twoStreamsWithRoomForAllTheirWorkDoAllOfIt() throws {
        let load = try load("two-streams-dealt")
        // Optional work begins when the streams have settled.
        let frames = load.frames - Int(OptionalPool.settlingTime.seconds / load.interval.seconds)
        for outcome in Simulation.run(load) {
            #expect(outcome.missed == 0)
            #expect(Double(outcome.synthesised) > 0.98 * Double(frames))
            #expect(outcome.framesByTier[Int(Tier.neuralM.rawValue)] > load.frames * 9 / 10)
        }
    }

    @Test func aBudgetSmallerThanAFramesCostIsMissedByThatFrameOnly() throws {
        let outcome = try Simulation.run(load("tiny-budget"))[0]
        #expect(outcome.emittedOriginals == outcome.originals, "nothing is gained by dropping")
        #expect(outcome.lateOriginals == outcome.originals)
        #expect(outcome.latency.largest < .milliseconds(20) && outcome.synthesised == 0)
    }

    /// The encoder alone takes longer than the budget and nearly as long as an interval. So all frames can be emitted, and none
    /// of them in time.
    @Test func aLateFrameIsNotDroppedOnlyBecauseTheEncoderIsBusy() {
        var load = Load.usual("slow encoder", seconds: 20, framesPerSecond: 60)
        load.cores = 4
        load.costs.decode = 2e6
        load.costs.base = 2.5e6
        load.costs.encode = 16e6
        load.noise = 0
        load.jitter = .zero
        load.synthesised = 0
        load.ceiling = .base
        load.deadline.budget = .milliseconds(12)
        let outcome = Simulation.run(load)[0]
        #expect(outcome.emittedOriginals == outcome.originals && outcome.latency.largest < .milliseconds(30))
    }

    @Test func fourStreamsShareTheMachineEvenly() throws {
        let outcomes = try Simulation.run(load("four-streams"))
        #expect(outcomes.allSatisfy { $0.missed == 0 })
        let medians = outcomes.map { $0.latency.quantile(0.5).count }
        #expect(medians.max()! < medians.min()! * 11 / 10)
    }

    /// Frames that arrive after their deadline are lost by the network. The stream emits the rest of the burst, above all the
    /// newest frames, and does not lose quality.
    @Test func aStreamCatchesUpAtOnceAfterAStall() throws {
        let load = try load("bursts")
        let outcome = Simulation.run(load)[0]
        let least = load.leastOutcome().best
        #expect(outcome.missed <= least.missed + 10)
        #expect(outcome.longestFreeze < .milliseconds(600), "the stall itself is 500 ms")
        #expect(outcome.deepestRawQueue <= 2)
    }

    /// A sender that begins with half a second or a second at once, and stays ahead.
    @Test(arguments: ["early-start", "early-start-30"]) func aSenderThatBeginsWithABurstLosesNothing(name: String) throws {
        let load = try load(name)
        for seed in 1...10 as ClosedRange<UInt64> {
            var start = load
            start.seed = seed
            let outcome = Simulation.run(start, timeline: true)[0]
            #expect(outcome.missed == 0)
            let later = outcome.timeline.dropFirst(load.burst + 60)
            #expect(later.allSatisfy { $0.latency! <= load.deadline.budget }, "normal within two seconds")
        }
    }

    /// The same with twice the costs, of which the least work takes nearly half of the machine.
    @Test func aBurstOnABusyMachineCostsAtMostAFrame() throws {
        let load = try load("early-start-heavy")
        let outcome = Simulation.run(load, timeline: true)[0]
        #expect(outcome.missed <= 1)
        #expect(outcome.timeline.dropFirst(load.burst + 60).allSatisfy { $0.latency! <= load.deadline.budget })
    }

    @Test func aBurstIsWorkedOffBeforeFramesAreSynthesised() throws {
        let outcome = try Simulation.run(load("early-start"), timeline: true)[0]
        #expect(outcome.timeline.prefix(10).allSatisfy { $0.synthesised == 0 && $0.tiles == 0 })
        #expect(outcome.timeline.dropFirst(60).allSatisfy { $0.synthesised == 1 && $0.rung == 0 })
    }

    /// A sender that sends half a second at once, each half second.
    @Test func aSenderOfChunksLosesNothing() throws {
        let outcome = try Simulation.run(load("chunks"))[0]
        #expect(outcome.missed == 0)
    }

    @Test(arguments: [0.999, 1.001])
    func aSourceThatIsFastOrSlowIsFollowed(rate: Double) {
        // The configuration says 30 frames a second. Deadlines come from the source's own times, so no delay builds up.
        var load = Load.usual("fast", seconds: 120)
        load.interval = Nanoseconds(Int64(Double(load.interval.count) / rate))
        let outcome = Simulation.run(load) { configuration in
            var stale = configuration
            stale.interval = .seconds(1 / 30.0)
            return Planner(stale)
        }[0]
        #expect(outcome.missed == 0 && outcome.latency.largest < load.deadline.budget)
    }

    @Test func theSameLoadGivesTheSameOutcome() throws {
        let load = try load("spikes")
        let (a, b) = (Simulation.run(load, timeline: true)[0], Simulation.run(load, timeline: true)[0])
        #expect(a.timeline.map(\.latency) == b.timeline.map(\.latency))
    }
}
