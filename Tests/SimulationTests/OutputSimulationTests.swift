import Media
import Schedule
import Simulation
import TestSupport
import Testing

/// The choice of the output in the whole pipeline, in virtual time.
@Suite struct OutputSimulationTests {
    /// 1280x720 at 30 frames a second to 2560x1440 with superfast, which takes 3.1 of two cores.
    private func load(seconds: Int, scale: Double = 1, _ disturbances: [Disturbance] = []) -> Load {
        let zero = MonotonicTime(nanoseconds: 0)
        var costs = FrameLoad(arrival: zero, emitBy: zero)
        costs.decode = 8.3e6
        costs.base = 4.6e6
        costs.encode = 44.8e6
        costs.scale(by: scale)
        var load = Load(
            name: "output", frames: seconds * 30, interval: .seconds(1 / 30.0), budget: .milliseconds(80), costs: costs)
        load.input = PictureSize(width: 1280, height: 720)
        load.synthesised = 0
        load.ceiling = .base
        load.encoders = 2
        load.jitter = .milliseconds(4)
        load.keyframeEvery = 30
        load.disturbances = disturbances
        load.output = LoadOutput()
        return load
    }

    private func seconds(_ time: MonotonicTime) -> Double { Double(time.nanoseconds) / 1e9 }

    /// Originals that were dropped or late, by second of their arrival.
    private func missed(_ outcome: StreamOutcome, _ load: Load) -> [Double] {
        outcome.timeline.filter { $0.latency.map { $0 > load.deadline.budget + .milliseconds(4) } ?? true }
            .map { seconds($0.arrival) }
    }

    @Test func aSteadyLoadKeepsTheChoiceOfTheStart() {
        for scale in [0.2, 0.5, 0.8, 1, 1.5, 2, 3, 5, 9] {
            let load = load(seconds: 120, scale: scale)
            let outcome = Simulation.run(load, timeline: true)[0]
            #expect(outcome.outputs.count <= 2, "\(scale): \(outcome.outputs)")
            #expect(missed(outcome, load).isEmpty && outcome.balances, "\(scale): \(outcome.outputs) \(missed(outcome, load))")
        }
    }

    /// What is measured at the start is too low. The stream falls within two seconds, and tries again ever more seldom.
    @Test func aWrongMeasurementIsCorrected() {
        var load = load(seconds: 120, scale: 1.3)
        load.output!.measured = 0.5
        let outcome = Simulation.run(load, timeline: true)[0]
        #expect(outcome.outputs.count <= 4 && outcome.balances, "\(outcome.outputs)")
        #expect(missed(outcome, load).allSatisfy { $0 < 3 }, "\(outcome.outputs) \(missed(outcome, load))")
    }

    @Test func aLoadThatRisesAndFallsIsFollowed() {
        let load = load(
            seconds: 300, scale: 0.5, [Disturbance(.costs(from: 4, to: 4), from: .seconds(30), to: .seconds(90))])
        let outcome = Simulation.run(load, timeline: true)[0]
        let choices = outcome.outputs
        let before = choices.last { seconds($0.at) < 30 }
        #expect(choices.count >= 3 && choices.count <= 8 && choices.last?.choice == before?.choice, "\(choices)")
        #expect(missed(outcome, load).allSatisfy { (30..<33).contains($0) }, "\(choices) \(missed(outcome, load))")
        #expect(outcome.longestFreeze < .milliseconds(300) && outcome.balances)
    }

    @Test func aProgramThatTakesACoreIsFollowed() {
        let load = load(seconds: 300, scale: 0.5, [Disturbance(.otherThreads(1), from: .seconds(30), to: .seconds(90))])
        let outcome = Simulation.run(load, timeline: true)[0]
        #expect(outcome.outputs.count <= 8 && outcome.balances, "\(outcome.outputs)")
        #expect(missed(outcome, load).allSatisfy { (30..<34).contains($0) }, "\(outcome.outputs) \(missed(outcome, load))")
    }

    /// Too much for anything but bypass, for a while. What passes is never lost.
    @Test func bypassCarriesWhatNothingElseDoes() {
        let load = load(
            seconds: 600, scale: 0.5, [Disturbance(.costs(from: 30, to: 30), from: .seconds(20), to: .seconds(60))])
        let outcome = Simulation.run(load, timeline: true)[0]
        #expect(outcome.bypassed > 30 * 30 && outcome.balances, "\(outcome.bypassed)")
        #expect(outcome.outputs.last?.choice.isBypass == false, "\(outcome.outputs)")
        // A try that comes too early may lose some, too.
        #expect(missed(outcome, load).allSatisfy { (20..<62).contains($0) }, "\(missed(outcome, load))")
        #expect(missed(outcome, load).count < 120, "\(missed(outcome, load).count)")
    }

    /// A bypass ends only at a keyframe. The stream comes back where these are far apart, too.
    @Test(arguments: [1.0, 10]) func bypassEndsWithKeyframesFarApart(seconds apart: Double) {
        var load = load(
            seconds: 300, scale: 0.5, [Disturbance(.costs(from: 30, to: 30), from: .seconds(20), to: .seconds(60))])
        load.keyframeEvery = Int(apart * 30)
        load.nonReferenceEvery = 2
        let outcome = Simulation.run(load, timeline: true)[0]
        let choices = outcome.outputs
        #expect(choices.contains { $0.choice.isBypass } && choices.last?.choice.isBypass == false, "\(choices)")
        // A try may fail before the disturbance ends. What it cost is forgotten within two minutes.
        let enhanced = outcome.timeline.filter { seconds($0.arrival) > 200 && $0.latency != nil }
        #expect(enhanced.count > 98 * 30 && outcome.balances, "\(enhanced.count) \(choices)")
    }

    /// 1920x1080 at 24 pictures a second to 72, as long as two cores of 2.5 GHz take. What is not synthesised is repeated.
    private func rateChange(seconds: Int, repeated: Double) -> Load {
        let zero = MonotonicTime(nanoseconds: 0)
        var costs = FrameLoad(arrival: zero, emitBy: zero)
        costs.decode = 9e6
        costs.base = 3e6
        costs.synthesise = 80e6
        // Of 3840x2160 with `superfast`, on two threads.
        costs.encode = 90e6
        costs.encodeSynthesised = 80e6
        costs.encodeRepeated = repeated
        var load = Load(
            name: "rate", frames: seconds * 24, interval: .seconds(1 / 24.0), budget: .milliseconds(150), costs: costs)
        load.input = PictureSize(width: 1920, height: 1080)
        load.synthesised = 2
        load.fillsSlots = true
        load.ceiling = .base
        load.encoders = 2
        load.output = LoadOutput()
        return load
    }

    /// Repeats say nothing of the pictures that come, and the time that they take is planned for.
    @Test(arguments: [10e6, 20e6, 30e6]) func repeatsArePlannedFor(cost: Double) {
        let load = rateChange(seconds: 120, repeated: cost)
        let outcome = Simulation.run(load, timeline: true)[0]
        #expect(outcome.balances && missed(outcome, load).isEmpty, "\(outcome.outputs) \(missed(outcome, load).count)")
        #expect(outcome.outputs.count <= 3, "\(outcome.outputs)")
        // Every slot has a picture, but for the first.
        let pictures = outcome.repeated + outcome.emittedSynthesised
        #expect(pictures >= 2 * (outcome.emittedOriginals - 3), "\(pictures) \(outcome.outputs)")
    }

    /// The processors for another size are made for three seconds on a machine that is too slow. One step is enough.
    @Test func aFallIsNotRepeatedWhileProcessorsAreMade() {
        func run(_ making: Nanoseconds) -> [OutputChoice] {
            var load = load(
                seconds: 60, scale: 0.8, [Disturbance(.costs(from: 2, to: 2), from: .seconds(20), to: .seconds(60))])
            load.nonReferenceEvery = 2
            load.output!.making = making
            return Simulation.run(load)[0].outputs.map(\.choice)
        }
        #expect(run(.seconds(4)) == run(.zero), "\(run(.seconds(4))) \(run(.zero))")
    }

    /// Any load, any disturbance: few changes, books that balance, and nothing lost where a lower choice carries it.
    @Test(arguments: 1...8) func nothingFlickersInRandomScenarios(part: Int) {
        // In parts, which run on different cores.
        for seed in stride(from: UInt64(part), through: UInt64(max(10, Thoroughness.scenarios / 4)), by: 8) {
            var random = SplitMix64(seed: seed)
            var disturbances: [Disturbance] = []
            var at = 20.0
            while at < 160 {
                let length = 2 + 30 * random.unit()
                let kind: Disturbance.Kind =
                    random.unit() < 0.3 ? .otherThreads(1) : .costs(from: 1 + 3 * random.unit(), to: 1 + 3 * random.unit())
                disturbances.append(Disturbance(kind, from: .seconds(at), to: .seconds(at + length)))
                at += length + 20 * random.unit()
            }
            var load = load(seconds: 240, scale: 0.2 + random.unit(), disturbances)
            load.seed = seed
            load.output!.measured = 0.8 + 0.4 * random.unit()
            load.streams = 1 + Int(random.unit() * 2.5)
            load.isSupervised = load.streams > 1
            for outcome in Simulation.run(load, timeline: true) {
                #expect(outcome.balances, "seed \(seed)")
                // A fall for each disturbance, a climb or two back, and a try that fails.
                #expect(
                    outcome.outputs.count <= 6 + 5 * disturbances.count,
                    "seed \(seed): \(outcome.outputs.count) \(outcome.outputs)")
                let lost = missed(outcome, load).filter { second in
                    // Beside changes of the conditions and of the output.
                    let changes =
                        [0] + disturbances.flatMap { [seconds($0.from), seconds($0.to)] }
                        + outcome.outputs.map { seconds($0.at) }
                    return !changes.contains { (-1.5..<4).contains(second - $0) }
                }
                #expect(lost.count <= outcome.originals / 200, "seed \(seed): \(lost) \(outcome.outputs)")
            }
        }
    }
}
