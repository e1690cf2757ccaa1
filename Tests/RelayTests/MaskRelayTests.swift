import Codec
import Container
import Endpoint
import Enhance
import Foundation
import Measure
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport

@testable import Relay

/// Privacy masks in a relay: no picture leaves without the mask that is set, whatever happens to it.
@Suite(.timeLimit(.minutes(3))) struct MaskRelayTests {
    /// White where the test pattern moves and is dark.
    private static let mask = PrivacyMask([
        PrivacyMask.Area(x: 25, y: 50, width: 50, height: 40, .fill(PrivacyMask.FillColor("white")!))
    ])

    /// For each picture of a stream, whether the area shows nothing but the mask's colour.
    private func masked(_ stream: [UInt8]) throws -> [Bool] {
        let decoder = try VideoDecoder()
        var masked: [Bool] = []
        func collect() throws {
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                let luma = picture.view.y
                // Not at the edges, where the encoder mixes.
                let columns = luma.width * 3 / 10..<luma.width * 7 / 10
                let rows = luma.height * 11 / 20..<luma.height * 17 / 20
                masked.append(rows.allSatisfy { y in columns.allSatisfy { luma.row(y)[$0] > 200 } })
            }
        }
        for (number, unit) in TestStream.payloads(in: stream).enumerated() {
            _ = try unit.withUnsafeBytes { try decoder.decode($0, id: Int64(number)) }
            try collect()
        }
        decoder.drain()
        try collect()
        return masked
    }

    private func dropped(_ report: RelayReport) -> UInt64 { report.frames.droppedByReason["masked"] ?? 0 }

    @Test func theFirstPictureIsMasked() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 20)
        #expect(try masked(stream).allSatisfy { !$0 })
        let (report, _, output) = try relayPictureByPicture(stream, scratch) { $0.settings.steps.mask = Self.mask }
        #expect(report.frames.emitted == 20 && report.frames.dropped == 0, "\(report.frames)")
        #expect(try masked(output) == Array(repeating: true, count: 20))
        #expect(report.steps["mask"]?.pictures == 20)
    }

    /// A mask holds from the next picture on, and goes with the next one. At most the pictures that are on their way are lost.
    @Test func aChangeHoldsFromTheNextPictureOn() throws {
        let scratch = try Scratch()
        let (report, _, output) = try relayPictureByPicture(
            try TestStream.video(frames: 30), scratch,
            changes: [10: { $0.steps.mask = Self.mask }, 20: { $0.steps.mask = nil }])
        #expect(report.frames.emitted + dropped(report) == 30 && dropped(report) <= 2, "\(report.frames)")
        let masked = try masked(output)
        var parts = masked.split { $0 }.map(\.count)
        parts += masked.split { !$0 }.map(\.count)
        #expect(parts.count == 3 && parts.reduce(0, +) == masked.count, "\(masked)")
        #expect(parts.allSatisfy { (7...12).contains($0) }, "\(masked)")
    }

    /// The mask is set while pictures are decoded, enlarged, synthesised, encoded and wait: none of them leaves as it was made.
    @Test(arguments: [0, 1, 2], [StreamSettings.Pacing.eager, .paced])
    func picturesOnTheirWayAreMaskedOrDropped(kind: Int, pacing: StreamSettings.Pacing) throws {
        let scratch = try Scratch()
        let (box, encoded) = (RelayBox(), Count())
        let before = 12
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(try TestStream.video(frames: 60), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.pacing = pacing
        configuration.settings.steps.denoise = 0.5
        configuration.settings.interpolate = kind == 1 ? 2 : 1
        configuration.options.fps = kind == 2 ? Rational(60) : nil
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                if encoded.next() == before { box.change { $0.steps.mask = Self.mask } }
                return nil
            }
        }
        let relay = try Relay(configuration)
        box.put(relay)
        defer { box.put(nil) }
        let report = try relay.run { _ in }
        #expect(report.frames.balance && report.frames.inFlight == 0 && report.output.units?.balance == true)
        let masked = try masked(try scratch.read("out.ts"))
        // The one in the encoder was made without it.
        #expect((1...20).contains(dropped(report)) || pacing == .paced && dropped(report) >= 1, "\(report.frames)")
        #expect(UInt64(masked.count) == report.frames.emitted)
        let first = try #require(masked.firstIndex(of: true))
        #expect(first <= before && masked.count - first > 20, "\(first) of \(masked.count)")
        // A slate is no picture of the source.
        #expect(masked[first...].allSatisfy { $0 } || report.counters["slates"] ?? 0 > 0, "\(masked)")
        #expect(masked[..<first].count { $0 } == 0)
    }

    /// The relay itself refuses what settings never ask for together.
    @Test func modeBypassDoesNotHold() throws {
        let scratch = try Scratch()
        let (report, notes, output) = try relayPictureByPicture(try TestStream.video(frames: 40), scratch) {
            $0.settings.steps.mask = Self.mask
            $0.settings.mode = .bypass
        }
        #expect(report.frames.emitted == 40 && report.frames.bypassed == 0, "\(report.frames)")
        #expect(notes.count { $0.contains("mask forbids mode bypass and hdr pass") } == 1, "\(notes)")
        #expect(try masked(output).allSatisfy { $0 })
    }

    /// A mask that is set while pictures are bypassed holds at once: those up to the next entry point are dropped.
    @Test func aMaskEndsABypass() throws {
        let scratch = try Scratch()
        let (report, _, output) = try relayPictureByPicture(
            try TestStream.video(frames: 60, keyframeEvery: 15), scratch,
            changes: [20: { ($0.mode, $0.steps.mask) = (.enhance, Self.mask) }], whenBypassed: true
        ) { $0.settings.mode = .bypass }
        let frames = report.frames
        // The 20th may be dropped: it may be complete, and not sent, when the mask is set.
        #expect((19...21).contains(frames.bypassed) && frames.emitted == 30, "\(frames)")
        #expect(dropped(report) == 60 - frames.bypassed - frames.emitted, "\(frames)")
        let masked = try masked(output)
        #expect(masked.firstIndex(of: true) == Int(frames.bypassed) && masked.count { $0 } == 30, "\(masked)")
    }

    enum Failure: CaseIterable { case decoder, encoder, mask }

    /// What cannot be enhanced is not sent as it came, and neither is what cannot be masked.
    @Test(arguments: Failure.allCases) func whatCannotBeMaskedIsNotSent(failure: Failure) throws {
        let scratch = try Scratch()
        let (report, notes, output) = try relayPictureByPicture(
            try TestStream.video(frames: 60, keyframeEvery: 10), scratch
        ) {
            $0.settings.steps.mask = Self.mask
            switch failure {
            case .decoder: $0.makeDecoder = { (_) throws(CodecError) in throw .injectedForGood }
            case .encoder: $0.makeEncoder = { (_) throws(CodecError) in throw .injectedForGood }
            case .mask: $0.makeMask = { BrokenMask() }
            }
        }
        #expect(report.frames.bypassed == 0 && report.frames.emitted == 0 && output.isEmpty, "\(report.frames)")
        #expect(dropped(report) == (failure == .mask ? 60 : 50), "\(report.frames)")
        let said = failure == .mask ? "cannot be masked, and are not sent" : "mask forbids that they go out as they come"
        #expect(notes.count { $0.contains(said) } >= 1, "\(notes)")
    }

    private final class BrokenMask: PictureStep {
        let kind = StepKind.mask
        func process(
            _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
        ) throws(EnhanceError) -> StepOutcome { throw EnhanceError(.cancelled, "injected failure") }
    }

    /// Where the output goes on, the slate stands for what cannot be enhanced, while the source still sends.
    @Test func theSlateStandsForWhatIsNotSent() throws {
        let scratch = try Scratch()
        let running = try SRTRelayTests.Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=20", output: scratch.path("out.ts")
        ) {
            $0.options.keepOutput = true
            $0.options.hold = .milliseconds(200)
            $0.settings.budget = .milliseconds(80)
            $0.settings.tier = .base
            $0.settings.steps.mask = Self.mask
            $0.makeDecoder = { (configuration) throws(CodecError) in try FailingDecoder(configuration) { $0 >= 15 } }
        }
        let sink = try Sink(try StreamURL("srt://127.0.0.1:\(running.relay.inputPort)?latency=20"))
        try sink.awaitConnection(until: .now() + .seconds(20))
        var source = TestSourceConfiguration()
        source.size = PictureSize(width: 160, height: 96)
        func slates() -> UInt64 { running.relay.report(since: .now()).counters["slates"] ?? 0 }
        _ = try LiveTestSource(source, to: sink).run(stopped: { slates() >= 10 }, event: { _ in })
        let report = try #require(running.stop())
        #expect(report.frames.bypassed == 0 && dropped(report) > 0 && report.frames.balance, "\(report.frames)")
        #expect(running.events.contains { $0.contains("mask forbids that they go out as they come") })
        // Masked at first, then grey.
        let masked = try masked(try scratch.read("out.ts"))
        #expect(masked.first == true && masked.last == false && UInt64(masked.count { !$0 }) == slates())
    }

    /// Without the mask, pictures that cannot be enhanced go out again from the next entry point on.
    @Test func whatWasHeldBackGoesOutBehindTheMask() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 60, keyframeEvery: 10)
        let (report, _, output) = try relayPictureByPicture(stream, scratch, changes: [34: { $0.steps.mask = nil }]) {
            $0.settings.steps.mask = Self.mask
            $0.makeDecoder = { (_) throws(CodecError) in throw .injectedForGood }
        }
        #expect(report.frames.bypassed == 20 && dropped(report) == 30, "\(report.frames)")
        #expect(TestStream.payloads(in: output) == TestStream.payloads(in: stream).suffix(20))
    }

    /// Other programs of the multiplex are not known to be masked.
    @Test func otherProgramsAreLeftOut() throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 20)
        var events: [String] = []
        let report = try relay(input.bytes, scratch) {
            $0.settings.steps.mask = Self.mask
            $0.settings.tier = .base
        } message: {
            events.append($0)
        }
        let output = try scratch.read("out.ts")
        #expect(TestMultiplex.packets(of: output) { TestMultiplex.otherPIDs.contains($0) }.isEmpty)
        #expect(
            report.counters["other_program_packets_out"] == nil && report.counters["other_program_packets_dropped"] ?? 0 > 0)
        #expect(TestStream.passed(in: output).units == TestStream.passed(in: input.bytes).units, "sound passes")
        #expect(events.count { $0.contains("mask covers the main video alone") } == 1, "\(events)")
    }

    /// Further video of the program is left out, and sound passes.
    @Test func furtherVideoIsLeftOut() throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.init(streamType: 0x1B), .aac, .init(streamType: 0xA5)]
        let muxer = try TransportStreamMuxer(layout)
        let encoder = try VideoEncoder(
            VideoEncoderConfiguration(size: PictureSize(width: 160, height: 96), frameRate: Rational(30)))
        let picture = Picture(size: PictureSize(width: 160, height: 96))
        var stream: [UInt8] = []
        for index in 0..<20 {
            let time = MediaTime(ticks: 900_000 + Int64(index) * 3000)
            try encoder.encode(picture.view, id: Int64(index), at: time) { unit in
                muxer.writeVideo(
                    unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                    isKeyframe: unit.isKeyframe
                ) { stream.append(contentsOf: $0) }
            }
            for passing in 0..<3 {
                Array("stream \(passing), \(index)".utf8).withUnsafeBytes {
                    muxer.writePassed(stream: passing, $0, presentationTime: time) { stream.append(contentsOf: $0) }
                }
            }
        }
        let scratch = try Scratch()
        let report = try relay(stream, scratch) {
            $0.settings.steps.mask = Self.mask
            $0.settings.tier = .base
        }
        #expect(report.counters["passing_units_in"] == 60, "\(report.counters)")
        #expect(report.counters["passing_units_dropped"] == 40 && report.counters["passing_units_out"] == 20)
    }

    /// People see the mask on both sides.
    @Test func picturesToShowAreMasked() throws {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(try TestStream.video(frames: 20), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(600)
        configuration.settings.steps.mask = Self.mask
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.readsFramesOneByOne = true
        configuration.pictureTimeout = .seconds(60)
        let (halt, encoded) = (Halt(), Count())
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                if encoded.next() == 5 { halt.pass() }
                return nil
            }
        }
        let relay = try Relay(configuration)
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        halt.await()
        let answers = BoundedQueue<Result<StreamPicture, PictureFault>>(capacity: 4)
        for side in StreamPicture.Side.allCases { relay.requestPicture(side, width: 320) { _ = answers.push($0) } }
        halt.goOn()
        for number in 0..<2 {
            let shown = try #require(try answers.pop(until: .now() + .seconds(60))?.get())
            let reader = try FileReader(path: try scratch.write(shown.jpeg, to: "\(number).jpg"))
            var pictures = 0
            while let item = try reader.next() {
                guard case .picture(let picture, _) = consume item else { continue }
                pictures += 1
                let luma = picture.view.y
                #expect(luma.row(luma.height * 2 / 3)[luma.width / 2] > 220)
            }
            #expect(pictures == 1)
        }
        thread.join()
    }

    /// A picture that was handed over before a mask was set is not shown: the next one is.
    @Test func aPictureFromBeforeTheMaskIsNotShown() throws {
        var settings = StreamSettings()
        settings.steps.mask = Self.mask
        let requests = PictureRequests()
        let desk = PictureDesk(requests, LiveSettings(settings), timeout: .seconds(60))
        defer { desk.close() }
        let answers = BoundedQueue<Result<StreamPicture, PictureFault>>(capacity: 1)
        desk.request(.before, width: 100) { _ = answers.push($0) }
        let decoder = try VideoDecoder()
        for (number, unit) in TestStream.payloads(in: try TestStream.video(frames: 1)).enumerated() {
            _ = try unit.withUnsafeBytes { try decoder.decode($0, id: Int64(number)) }
        }
        decoder.drain()
        var record = FrameRecord(id: 7, kind: .original, presentation: MediaTime(ticks: 0))
        while let output = try decoder.next() {
            guard case .picture(let picture) = consume output else { continue }
            for _ in 0..<2 {
                while !requests.isWanted {}
                requests.offer(record, before: picture)
                record.id += 1
                record.maskNumber = 1
            }
            break
        }
        #expect(try answers.pop(until: .now() + .seconds(60))?.get().frame == 8)
    }

    /// A mask's number grows where more is hidden, and a picture that nobody has masked has none.
    @Test func masksHaveNumbers() {
        var settings = StreamSettings()
        let live = LiveSettings(settings)
        var copy = LiveSettings.Copy(of: live)
        #expect(live.maskNumber == 0 && !live.holdsBypass)
        func change(_ mask: PrivacyMask?) -> Int {
            settings.steps.mask = mask
            live.change(to: settings)
            #expect(copy.refresh() && copy.maskNumber == live.maskNumber && live.holdsBypass == (mask != nil))
            return live.maskNumber
        }
        let other = PrivacyMask.Area(x: 0, y: 0, width: 10, height: 10, .blur(8))
        #expect(change(Self.mask) == 1 && change(PrivacyMask(Self.mask.areas + [other])) == 2)
        #expect(change(Self.mask) == 2 && change(nil) == 2 && change(PrivacyMask([other])) == 3)
        #expect(LiveSettings(settings).maskNumber == 1)
    }
}
