import Codec
import Container
import Endpoint
import Media
import Schedule
import Settings
import Simulation
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// Settings that change while the stream runs: each takes hold between two frames, no frame is lost or repeated, and the time
/// stamps go on.
@Suite(.timeLimit(.minutes(5))) struct LiveSettingsTests {
    /// What a relay did whose settings changed while a picture was encoded.
    private struct Outcome {
        var report: RelayReport
        var units: [TestStream.Unit]
        var bytes: [[UInt8]]
        /// Of originals.
        var records: [TraceRecord]
        /// How many encoders were opened, and the configuration of the last one when the relay ended.
        var encodersOpened: Int
        var encoding: VideoEncoderConfiguration?
        var weights: Planner.Weights?
    }

    /// Counts the encoders, and keeps the last one's configuration.
    private final class Opened: Sendable {
        let count = Count()
        let encoding = Lock<VideoEncoderConfiguration?>(nil)
    }

    /// An encoder that has something done before a picture.
    private final class ObservedEncoder: PictureEncoder {
        private let encoder: VideoEncoder
        private let opened: Opened
        private let before: @Sendable () -> Void

        init(_ configuration: VideoEncoderConfiguration, _ opened: Opened, before: @escaping @Sendable () -> Void)
            throws(CodecError)
        {
            encoder = try VideoEncoder(configuration)
            self.opened = opened
            self.before = before
            _ = opened.count.next()
        }

        var configuration: VideoEncoderConfiguration { encoder.configuration }

        func encode(
            _ picture: PictureView, id: Int64, at time: MediaTime, asKeyframe: Bool, carrying userData: PictureUserData?,
            emit: (borrowing EncodedUnit) -> Void
        ) throws(CodecError) {
            before()
            opened.encoding.withLock { $0 = encoder.configuration }
            unsafe try encoder.encode(picture, id: id, at: time, asKeyframe: asKeyframe, carrying: userData, emit: emit)
        }

        func change(_ rateControl: VideoEncoderConfiguration.RateControl, at frameRate: Rational) -> Bool {
            encoder.change(rateControl, at: frameRate)
        }
    }

    /// Relays frame by frame, with time for everything.
    /// - Parameter changes: the settings before each picture that is encoded, by its number.
    private func relay(
        _ stream: [UInt8], changes: [Int: @Sendable (inout StreamSettings) -> Void],
        adjust: (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> Outcome {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.readsFramesOneByOne = true
        configuration.awaitsProcessors = true
        configuration.weights.keep = 1e9
        configuration.weights.climb = 1e9
        configuration.weights.dwell = .zero
        configuration.tracePath = scratch.path("trace.csv")
        let (box, opened, encoded) = (RelayBox(), Opened(), Count())
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try ObservedEncoder(configuration, opened) {
                if let change = changes[encoded.next()] { box.change(change) }
            }
        }
        adjust(&configuration)
        let relay = try Relay(configuration)
        box.put(relay)
        defer { box.put(nil) }
        let report = try relay.run { _ in }
        #expect(report.frames.balance && report.frames.inFlight == 0 && report.frames.dropped == 0, "\(report.frames)")
        let sent = try scratch.read("out.ts")
        let units = TestStream.units(in: sent)
        #expect(units.count == Int(report.frames.emitted))
        #expect(zip(units.dropFirst(), units).allSatisfy { $0.presentation > $1.presentation })
        return Outcome(
            report: report, units: units, bytes: TestStream.payloads(in: sent),
            records: try Trace.read(String(decoding: try scratch.read("trace.csv"), as: UTF8.self))
                .filter { $0.kind == .original },
            encodersOpened: opened.count.calls, encoding: opened.encoding.withLock { $0 },
            weights: relay.channels.schedule.withScheduler { $0.policy.configuration.weights })
    }

    /// The networks come and go. Nothing else of the output changes.
    @Test(arguments: [StreamOptions.Scale.double, .oneAndHalf]) func theTierChangesBetweenTwoFrames(
        scale: StreamOptions.Scale
    ) throws {
        let outcome = try relay(
            try TestStream.video(frames: 60),
            changes: [14: { $0.tier = .neuralM }, 34: { $0.tier = .base }, 49: { $0.tier = .neuralS }]
        ) { $0.options.scale = scale }
        let tiles = outcome.records.map(\.tiles)
        #expect(tiles.count == 60 && outcome.units.count == 60)
        #expect(tiles[..<15].allSatisfy { $0 == 0 } && tiles[35..<50].allSatisfy { $0 == 0 })
        // A picture that has just begun to be refined may find no time for tiles whose cost is not known.
        #expect(tiles[17..<35].contains { $0 > 0 } && tiles[52...].contains { $0 > 0 })
        #expect(outcome.records[17..<35].contains { $0.tier == .neuralM })
        #expect(outcome.records[52...].allSatisfy { $0.tier <= .neuralS })
        #expect(outcome.encodersOpened == 1 && outcome.units.map(\.isKeyframe).indices(where: { $0 }).ranges.count == 2)
    }

    @Test func sharpnessChangesWithTheNextPicture() throws {
        let stream = try TestStream.video(frames: 20)
        // With several threads libx264 does not code the same pictures the same each time.
        let plain = try relay(stream, changes: [:]) { $0.options.encodeThreads = 1 }
        let changed = try relay(stream, changes: [9: { $0.steps.sharpness = 1 }]) { $0.options.encodeThreads = 1 }
        #expect(plain.bytes.count == 20 && changed.bytes.count == 20)
        #expect(zip(plain.bytes, changed.bytes).map { $0 == $1 }.firstIndex(of: false) == 10)
    }

    /// Every step on single pictures comes with the picture behind the change, and changes nothing before. It goes with the next one.
    @Test(arguments: StepKind.allCases.filter { $0.facts.seed != nil && $0 != .reactions }) func aStepComesAndGoes(
        kind: StepKind
    ) throws {
        // Colours have several settings.
        let key = try #require(StreamKeys.named(kind == .color ? "contrast" : kind.name))
        var on = StreamValues()
        if case .text(let example) = key.kind { try key.read(example, &on) } else { try key.read("0.5", &on) }
        // What reading the files would give.
        let white = OverlayImage(size: PictureSize(width: 8, height: 8), samples: [UInt8](repeating: 255, count: 256))
        on.settings.steps.overlay?.material = OverlayMaterial(images: ["/srv/media/logo.png": white])
        #expect(on.settings.steps.active(at: kind.facts.place) == [kind])
        let stream = try TestStream.video(frames: 30)
        let settings = on.settings.steps
        let outcomes = try [[:], [9: settings, 19: StreamSettings().steps]].map { changes in
            try relay(stream, changes: changes.mapValues { steps in { $0.steps = steps } }) { $0.options.encodeThreads = 1 }
        }
        let (plain, changed) = (outcomes[0], outcomes[1])
        #expect(plain.bytes.count == 30 && changed.bytes.count == 30 && changed.encodersOpened == 1)
        #expect(zip(plain.bytes, changed.bytes).map { $0 == $1 }.firstIndex(of: false) == 10)
    }

    /// Nothing is lost, and no encoder is opened anew.
    @Test func reactionsComeAndGo() throws {
        let stream = try TestStream.video(frames: 30)
        let rain = Reaction(.rain, length: .seconds(600), begins: .now(), seed: 1)
        let outcomes = try [[], [rain]].map { reactions in
            try relay(stream, changes: [9: { $0.steps.reactions = reactions }, 19: { $0.steps.reactions = [] }]) {
                $0.options.encodeThreads = 1
            }
        }
        let (plain, changed) = (outcomes[0], outcomes[1])
        #expect(plain.bytes.count == 30 && changed.bytes.count == 30 && changed.encodersOpened == 1)
        #expect(zip(plain.bytes, changed.bytes).map { $0 == $1 }.firstIndex(of: false) == 10)
        #expect((1...10).contains(changed.report.steps["reactions"]?.pictures ?? 0))
    }

    @Test func onlyEnlargedPicturesAreSharpened() throws {
        let stream = try TestStream.video(frames: 6)
        for (scale, isSharpened) in [(StreamOptions.Scale.same, false), (.oneAndHalf, true), (.double, true)] {
            let outcomes = try [0, StreamSettings().steps.sharpness].map { sharpness in
                try relay(stream, changes: [:]) {
                    $0.options.encodeThreads = 1
                    $0.options.scale = scale
                    $0.settings.steps.sharpness = sharpness
                }.bytes
            }
            #expect(outcomes[0].count == 6 && (outcomes[0] != outcomes[1]) == isSharpened, "\(scale)")
        }
    }

    @Test(arguments: [0, 1]) func interpolationBeginsAndEnds(lookahead: Int) throws {
        let outcome = try relay(
            try TestStream.video(frames: 75), changes: [14: { $0.interpolate = 2 }, 54: { $0.interpolate = 1 }]
        ) { $0.options.lookahead = lookahead }
        let steps = zip(outcome.units.dropFirst(), outcome.units).map { ($0.presentation - $1.presentation) }
        let doubled = steps.indices.filter { steps[$0] == 1500 }
        #expect(steps.allSatisfy { $0 == 1500 || $0 == 3000 }, "\(steps)")
        #expect(outcome.report.frames.synthesised > 10 && doubled.count == 2 * Int(outcome.report.frames.synthesised))
        #expect(try #require(doubled.first) >= 14 && steps.suffix(10).allSatisfy { $0 == 3000 })
        #expect(outcome.report.frames.originals == 75)
        // Another rate costs no keyframe of its own: those that go out are the source's, one a second.
        #expect(outcome.units.filter(\.isKeyframe).map(\.presentation).count == 3)
        #expect(outcome.encoding?.frameRate == Rational(30))
    }

    @Test func theBudgetHoldsFromTheNextUnitOn() throws {
        let outcome = try relay(try TestStream.video(frames: 20), changes: [9: { $0.budget = .seconds(30) }])
        let budgets = outcome.records.map { ($0.emitBy - $0.arrival).seconds.rounded() }
        #expect(budgets == Array(repeating: 60, count: 10) + Array(repeating: 30, count: 10))
    }

    @Test func cautionReachesThePlanner() throws {
        let stream = try TestStream.video(frames: 10)
        #expect(try relay(stream, changes: [:]).weights?.caution == 1)
        #expect(try relay(stream, changes: [4: { $0.caution = 3 }]).weights?.caution == 3)
    }

    /// The encoder that is open goes on, without a keyframe.
    @Test func theBitRateChangesWithoutAnotherEncoder() throws {
        let outcome = try relay(
            try TestStream.video(frames: 30), changes: [9: { $0.bitRate = 200_000 }, 19: { $0.bitRate = 100_000 }])
        #expect(outcome.encodersOpened == 1 && outcome.units.count { $0.isKeyframe } == 1)
        #expect(outcome.encoding?.rateControl == .rate(100_000, bufferFrames: 4))
    }

    /// Whatever changes whenever, each frame has one fate and its place in time.
    @Test(arguments: 0..<8) func changesAtRandom(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let scratch = try Scratch()
        let stream =
            try TestStream.video(frames: 60) + TestStream.video(frames: 60, size: PictureSize(width: 96, height: 64), start: 12)
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.options.lookahead = Int.random(in: 0...1, using: &random)
        configuration.options.scale =
            Bool.random(using: &random) || seed < 4 ? .double : [.same, .oneAndHalf, .triple].randomElement(using: &random)!
        if seed % 4 == 3 { configuration.options.fps = Rational(60) }
        let (box, dice) = (RelayBox(), Dice(seed: seed))
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                if dice.hit(0.5) { box.change { $0.randomise(dice) } }
                return nil
            }
        }
        let relay = try Relay(configuration)
        box.put(relay)
        defer { box.put(nil) }
        let report = try relay.run { _ in }
        #expect(report.frames.balance && report.frames.inFlight == 0, "\(report.frames)")
        #expect(report.frames.originals == 120 && report.output.units?.balance == true)
        let units = TestStream.units(in: try scratch.read("out.ts"))
        #expect(units.count == Int(report.frames.emitted) && units.count > 60)
        #expect(zip(units.dropFirst(), units).allSatisfy { $0.presentation > $1.presentation })
    }

    /// A reader sees each change whole.
    @Test func aReaderSeesOneChangeAtATime() {
        let live = LiveSettings(StreamSettings())
        let writers = (1...2).map { writer in
            StageThread(name: "writer") {
                var settings = StreamSettings()
                for number in 1...2000 {
                    settings.bitRate = writer * 10_000 + number
                    settings.budget = Nanoseconds(Int64(writer * 10_000 + number))
                    live.change(to: settings)
                }
            }
        }
        var copy = LiveSettings.Copy(of: live)
        var whole = true
        func look() {
            guard copy.refresh(), let bitRate = copy.value.bitRate else { return }
            whole = whole && copy.value.budget == Nanoseconds(Int64(bitRate))
        }
        for _ in 0..<10_000 { look() }
        for writer in writers { writer.join() }
        look()
        #expect(whole && copy.value == live.current && !copy.refresh())
    }
}

extension StreamSettings {
    /// Changes a few of them to some other value.
    fileprivate mutating func randomise(_ dice: Dice) {
        if dice.hit(0.3) { tier = dice.hit(0.4) ? .base : dice.hit(0.5) ? .neuralS : .neuralM }
        if dice.hit(0.3) { content = dice.hit(0.5) ? .general : .calls }
        if dice.hit(0.3) { steps.sharpness = dice.hit(0.5) ? 0 : 0.7 }
        if dice.hit(0.3) { interpolate = dice.hit(0.5) ? 1 : 2 }
        if dice.hit(0.3) { budget = dice.hit(0.5) ? .seconds(60) : .seconds(20) }
        if dice.hit(0.3) { caution = dice.hit(0.5) ? 1 : 4 }
        if dice.hit(0.3) { pacing = dice.hit(0.5) ? .eager : .paced }
        if dice.hit(0.3) { bitRate = dice.hit(0.3) ? nil : dice.hit(0.5) ? 300_000 : 60_000_000 }
    }
}
