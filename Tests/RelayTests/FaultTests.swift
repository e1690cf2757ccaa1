import Codec
import Endpoint
import Foundation
import Media
import Packets
import Schedule
import Settings
import Synchronization
import TestStreams
import Testing
import Transport
@testable import Relay

/// Failures at every stage: what each does to the stream, and that every frame keeps exactly one fate.
@Suite(.timeLimit(.minutes(3))) struct FaultTests {
    private struct Outcome {
        var frames: RelayReport.Totals
        var notes: [String] = []
        var output: [UInt8]
        var failure: RelayError?
    }

    private func run(_ stream: [UInt8], adjust: (inout RelayConfiguration) -> Void) throws -> Outcome {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        // Other programs on the machine must not make the relay shed frames.
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        adjust(&configuration)
        let relay = try Relay(configuration)
        var notes: [String] = []
        var failure: RelayError?
        var told: RelayReport?
        do throws(RelayFailure) {
            told = try relay.run { if case .event(.message(let text)) = $0 { notes.append(text) } }
        } catch {
            failure = error.reason
            told = error.report
        }
        let frames = try #require(told).frames
        #expect(frames.balance && frames.inFlight == 0, "\(frames)")
        return Outcome(frames: frames, notes: notes, output: try scratch.read("out.ts"), failure: failure)
    }

    // MARK: The encoder

    @Test(arguments: EncodingFault.allCases)
    func aPictureThatTheEncoderFailsOnIsCountedAndTheNextIsAKeyframe(fault: EncodingFault) throws {
        let outcome = try run(try TestStream.video(frames: 12)) {
            $0.makeEncoder = { (configuration) throws(CodecError) in
                try FailingEncoder(configuration) { $0 == 5 ? fault : nil }
            }
        }
        #expect(outcome.failure == nil)
        #expect(outcome.frames.droppedByReason == ["encode_error": 1] && outcome.frames.emitted == 11)
        let units = TestStream.units(in: outcome.output)
        #expect(units.map(\.isKeyframe).enumerated().filter(\.element).map(\.offset) == [0, 5])
    }

    @Test func anEncoderThatFailsForLongIsToldOnceAndTriedAgain() throws {
        let outcome = try run(try TestStream.video(frames: 12)) {
            $0.makeEncoder = { (configuration) throws(CodecError) in
                try FailingEncoder(configuration) { (3..<9).contains($0) ? .refusal : nil }
            }
        }
        #expect(outcome.frames.droppedByReason == ["encode_error": 6] && outcome.frames.emitted == 6)
        #expect(outcome.notes.count { $0.contains("injected") } == 1)
    }

    /// A shortage may pass; a format that no encoder can do is not tried for every picture.
    @Test(arguments: [(CodecError.injected, 4), (.injectedForGood, 1)])
    func anEncoderThatCannotBeOpened(error: CodecError, attempts: Int) throws {
        let opened = Count()
        let outcome = try run(try TestStream.video(frames: 8)) {
            $0.makeEncoder = { (configuration) throws(CodecError) in
                if opened.next() < 3 { throw error }
                return try VideoEncoder(configuration)
            }
        }
        #expect(opened.calls == attempts)
        let lost: UInt64 = error.kind == .library ? 3 : 8
        #expect(outcome.frames.droppedByReason == ["encode_error": lost] && outcome.frames.emitted == 8 - lost)
        #expect(outcome.notes.count { $0.contains("injected") } == 1)
        #expect(TestStream.units(in: outcome.output).first?.isKeyframe ?? true)
    }

    /// Where pictures must not be bypassed, there is nothing to wait for without libx264: the relay ends with that reason, as
    /// without a decoder, and says it once.
    @Test func anEncoderThatIsNotThereEndsTheStreamWithItsReason() throws {
        let missing = CodecError(.unsupportedCodec, operation: "test", message: "no encoder", place: "test")
        let opened = Count()
        let outcome = try run(try TestStream.video(frames: 200)) {
            $0.options.keepSize = true
            $0.makeEncoder = { (configuration) throws(CodecError) in
                _ = opened.next()
                throw missing
            }
        }
        guard case .codec(missing) = outcome.failure else {
            Issue.record("no failure, but \(outcome.frames)")
            return
        }
        #expect(opened.calls == 1 && outcome.notes.isEmpty && outcome.frames.emitted == 0)
        // It did not take the whole stream to find out.
        #expect(outcome.frames.originals < 200)
    }

    /// A size that is refused takes nothing from the sizes after it.
    @Test func anEncoderThatRefusesOneSize() throws {
        let bad = PictureSize(width: 192, height: 128)
        let stream =
            try TestStream.video(frames: 4)
            + TestStream.video(frames: 4, size: PictureSize(width: 96, height: 64), start: 11)
            + TestStream.video(frames: 4, start: 12)
        let outcome = try run(stream) {
            $0.makeEncoder = { (configuration) throws(CodecError) in
                if configuration.size == bad { throw .injectedForGood }
                return try VideoEncoder(configuration)
            }
        }
        #expect(outcome.frames.droppedByReason == ["encode_error": 4] && outcome.frames.emitted == 8)
        let units = TestStream.units(in: outcome.output)
        #expect(units.map(\.isKeyframe).enumerated().filter(\.element).map(\.offset) == [0, 4])
    }

    /// The bits for each picture follow the rate: it is corrected once it is known, where a keyframe is due anyway.
    @Test(arguments: [(60, 25), (15, 60), (30, 30)])
    func aRateThatWasToldWronglyIsCorrectedAtAKeyframe(rate: Int64, told: Int64) throws {
        let rates = Rates()
        let stream = try TestStream.video(frames: 130, rate: rate, keyframeEvery: 10, toldRate: told)
        let outcome = try run(stream) {
            $0.makeEncoder = { (configuration) throws(CodecError) in
                rates.seen.withLock { $0.append(Int64(configuration.frameRate.value.rounded())) }
                return try VideoEncoder(configuration)
            }
        }
        #expect(outcome.frames.emitted == 130)
        let expected = rate == told ? [rate] : [told, rate]
        #expect(rates.seen.withLock { $0 } == expected)
        let units = TestStream.units(in: outcome.output)
        // Of the source's keyframes one a second.
        let spacing = (Int(rate) + 9) / 10 * 10
        #expect(
            units.map(\.isKeyframe).enumerated().filter(\.element).map(\.offset) == Array(stride(from: 0, to: 130, by: spacing))
        )
    }

    private final class Rates: Sendable {
        let seen = Lock<[Int64]>([])
    }

    // MARK: Enhancement and decoder

    /// Wider than any processor's pictures may be.
    @Test func aSizeThatCannotBeEnhancedIsToldOnceAndTheNextOneIsEnhanced() throws {
        let stream =
            try TestStream.video(frames: 3)
            + TestStream.video(frames: 3, size: PictureSize(width: 8256, height: 64), start: 11)
            + TestStream.video(frames: 3, start: 12)
        let outcome = try run(stream) { _ in }
        #expect(outcome.failure == nil)
        #expect(outcome.frames.droppedByReason == ["decode_error": 3] && outcome.frames.emitted == 6)
        #expect(outcome.notes.count { $0.contains("cannot be enhanced") } == 1)
    }

    @Test(arguments: [0, 1, 7]) func aDecoderThatBreaksEndsTheStreamWithItsReason(at number: Int64) throws {
        let outcome = try run(try TestStream.video(frames: 12)) {
            $0.options.keepSize = true
            $0.makeDecoder = { (configuration) throws(CodecError) in
                try FailingDecoder(configuration) { $0 == number }
            }
        }
        guard case .codec(let error) = outcome.failure else {
            Issue.record("no failure, but \(outcome.frames)")
            return
        }
        #expect(error == .injected)
        // What was decoded before it still went out.
        #expect(outcome.frames.emitted == UInt64(number))
    }

    // MARK: Everything at once

    /// Damage, failures and a stop, each at random, with files and with receivers that come and go.
    @Test(arguments: 0..<24) func theBooksBalanceWhateverFails(seed: UInt64) throws {
        var random = SplitMix64(seed: 1000 + seed)
        func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }
        let sizes = [
            PictureSize(width: 160, height: 96), PictureSize(width: 98, height: 66), PictureSize(width: 8256, height: 64),
        ]
        var stream: [UInt8] = []
        for part in 0..<Int.random(in: 1...3, using: &random) {
            stream += try TestStream.video(
                frames: Int.random(in: 6...20, using: &random), size: chance(0.15) ? sizes[2] : sizes[Int(seed % 2)],
                rate: 120, keyframeEvery: Int.random(in: 2...9, using: &random), start: Double(10 + 7 * part))
        }
        if chance(0.6) { TestStream.damage(&stream, seed / 2 % 4, &random) }
        let encoding = chance(0.7) ? Double.random(in: 0...0.3, using: &random) : 0
        let opening = chance(0.5) ? Double.random(in: 0...0.3, using: &random) : 0
        let breaksAt = chance(0.2) ? Int64.random(in: 0..<30, using: &random) : -1
        let stopsAt = chance(0.4) ? Int.random(in: 0..<30, using: &random) : -1
        let dice = Dice(seed: seed)
        let box = RelayBox()
        let encoded = Count()

        let scratch = try Scratch()
        let isLive = seed % 3 == 0
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")),
            output: isLive
                ? try StreamURL("srt://127.0.0.1:0?mode=listener&latency=20") : .file(path: scratch.path("out.ts")))
        configuration.settings.budget = chance(0.5) ? .seconds(60) : .milliseconds(40)
        configuration.pacesFiles = isLive || chance(0.3)
        configuration.settings.interpolate = chance(0.7) ? 2 : 1
        configuration.options.lookahead = chance(0.5) ? 1 : 0
        configuration.settings.pacing = chance(0.3) ? .paced : .eager
        configuration.makeDecoder = { (configuration) throws(CodecError) in
            try FailingDecoder(configuration) { $0 == breaksAt }
        }
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            if dice.hit(opening) { throw dice.hit(0.2) ? .injectedForGood : .injected }
            return try FailingEncoder(configuration) { _ in
                if encoded.next() == stopsAt { box.stop() }
                return dice.hit(encoding) ? (dice.hit(0.5) ? .refusal : .silence) : nil
            }
        }
        let relay = try Relay(configuration)
        box.put(relay)
        defer { box.put(nil) }
        let receivers = isLive ? ComingAndGoing(port: relay.outputPort, seed: seed) : nil
        do throws(RelayFailure) {
            _ = try relay.run { _ in }
        } catch {
            switch error.reason {
            case .codec(let fault): #expect(fault == .injected && breaksAt >= 0)
            // Nothing that could be decoded was left of the file.
            case .input: #expect(error.report?.frames.emitted == 0, "\(error)")
            case .transport: Issue.record(error)
            }
            #expect(error.report?.frames.balance == true)
        }
        receivers?.stop()
        let frames = relay.report(since: .now()).frames
        #expect(frames.balance && frames.inFlight == 0, "\(frames)")
    }
}

/// Receivers that call, take a few messages and hang up, one after the other.
final class ComingAndGoing: Sendable {
    private let stopped = Atomic<Bool>(false)
    private let thread = Lock<StageThread?>(nil)

    init(port: UInt16, seed: UInt64) {
        thread.withLock {
            $0 = StageThread(name: "receivers") { [self] in
                var random = SplitMix64(seed: seed)
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
                defer { buffer.deallocate() }
                while !stopped.load(ordering: .acquiring) {
                    guard let url = try? StreamURL("srt://127.0.0.1:\(port)?latency=20"), let source = try? Source(url)
                    else { return }
                    var left = Int.random(in: 1...40, using: &random)
                    while left > 0, !stopped.load(ordering: .acquiring) {
                        let received = unsafe source.receive(into: buffer, until: .now() + .milliseconds(10))
                        if case .message = received { left -= 1 }
                    }
                }
            }
        }
    }

    func stop() {
        stopped.store(true, ordering: .releasing)
        thread.withLock { $0.take() }?.join()
    }
}
