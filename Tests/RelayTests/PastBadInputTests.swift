import Bitstream
import Codec
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import TestStreams
import TestSupport
import Testing

@testable import Relay

/// What was asked for of the past is not there, or not as it is elsewhere.
@Suite(.timeLimit(.minutes(5))) struct PastBadInputTests {
    private static let size = PictureSize(width: 320, height: 180)

    private func ask(
        _ relay: Relay, _ side: StreamPicture.Side, _ place: PastPlace
    ) -> Result<PastPicture, PastFault> {
        let answers = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1)
        relay.requestPast(side, place, width: 3840) { _ = answers.push($0) }
        return answers.pop(until: .now() + .seconds(120)) ?? .failure(.ended)
    }

    private func text(_ result: Result<PastPicture, PastFault>) -> String {
        if case .failure(let fault) = result { "\(fault.kind) \(fault.description)" } else { "a picture" }
    }

    /// Relays a stream to its end, and asks before the relay is gone.
    private func withRelay(
        _ stream: [UInt8], _ adjust: (inout RelayConfiguration) -> Void, _ body: (Relay, Past, Scratch) throws -> Void
    ) throws {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(600)
        configuration.settings.tier = .base
        (configuration.options.past, configuration.options.pastMemory) = (.seconds(600), 8_000_000)
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.readsFramesOneByOne = true
        adjust(&configuration)
        let (halt, encoded) = (Halt(), Count())
        if configuration.settings.mode == .enhance {
            configuration.makeEncoder = { (configuration) throws(CodecError) in
                try FailingEncoder(configuration) { _ in
                    let number = encoded.next()
                    if number == 40 { halt.pass() }
                    return number == 20 ? .silence : nil
                }
            }
        }
        let relay = try Relay(configuration)
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        let past = try #require(relay.channels.past)
        if configuration.settings.mode == .enhance {
            halt.await()
        } else {
            while past.output.withUnits({ $0.count }) < 50 { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }
        defer {
            relay.stop()
            halt.goOn()
            thread.join()
        }
        try body(relay, past, scratch)
    }

    /// A picture that was dropped did not go out. It came in, and is there.
    @Test func aDroppedFrame() throws {
        try withRelay(try TestStream.video(frames: 60, size: Self.size), { _ in }) { relay, past, _ in
            let came = past.input.withUnits { units in (0..<units.count).map { units[$0].frame } }
            let left = Set(past.output.withUnits { units in (0..<units.count).map { units[$0].frame } })
            let dropped = try #require(came.prefix(35).first { !left.contains($0) })
            #expect(text(ask(relay, .after, .frame(dropped))).contains("did not go out, as its record says"))
            #expect(try ask(relay, .before, .frame(dropped)).get().frame == dropped)
        }
    }

    /// A picture that passed is there as it went out.
    @Test func aBypassedFrame() throws {
        try withRelay(
            try TestStream.video(frames: 900, size: Self.size),
            {
                $0.settings.mode = .bypass
                $0.pacesFiles = true
            }
        ) { relay, past, _ in
            let frame = past.output.withUnits { $0[30].frame }
            let (before, after) = (try ask(relay, .before, .frame(frame)).get(), try ask(relay, .after, .frame(frame)).get())
            #expect(before.bytes == after.bytes && after.size == Self.size)
        }
    }

    /// One endless group of pictures, which the ring cannot hold.
    @Test func aGroupThatIsLongerThanTheRing() throws {
        let stream = try TestStream.video(frames: 60, size: PictureSize(width: 640, height: 360), keyframeEvery: 1000)
        try withRelay(stream, { $0.options.pastMemory = 200_000 }) { relay, past, _ in
            #expect(past.input.extent.bytes == 0)
            let fault = text(ask(relay, .before, .time(.now())))
            #expect(fault.hasPrefix("conflict") && fault.contains("keyframes more often"), "\(fault)")
        }
    }

    /// The picture that a still shows is masked, too.
    @Test func aStillOfAMaskedStreamIsMasked() throws {
        let mask = PrivacyMask([PrivacyMask.Area(x: 25, y: 50, width: 50, height: 40, .fill(PrivacyMask.FillColor("white")!))])
        try withRelay(try TestStream.video(frames: 60, size: Self.size), { $0.settings.steps.mask = mask }) {
            relay, past, scratch in
            #expect(text(ask(relay, .before, .time(.now()))).contains("a mask is set"))
            let still = try ask(relay, .after, .time(.now())).get()
            let reader = try FileReader(path: try scratch.write(still.bytes, to: "still.jpg"))
            var levels: [UInt8] = []
            while let item = try reader.next() {
                guard case .picture(let shown, _) = consume item else { continue }
                let luma = shown.view.y
                // The middle of the area.
                for y in shown.size.height * 6 / 10..<shown.size.height * 8 / 10 {
                    levels += (shown.size.width * 4 / 10..<shown.size.width * 6 / 10).map { luma.row(y)[$0] }
                }
            }
            #expect(!levels.isEmpty && levels.allSatisfy { $0 > 225 }, "\(levels.min() ?? 0)")
            // Nor is what makes a better one kept.
            let answers = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1)
            relay.requestPast(.after, .time(.now()), width: 64, keep: { _ in nil }) { _ = answers.push($0) }
            guard case .failure(.maskedLater)? = answers.pop(until: .now() + .seconds(60)) else { return #expect(Bool(false)) }
        }
    }

    private static let canUseFFmpeg =
        ProcessInfo.processInfo.environment["BURNISH_NO_FOREIGN"] == nil
        && ((try? runTool(["ffmpeg", "-version"]).status == 0) ?? false)

    /// A stream that refreshes its pictures little by little, and has no IDR picture: none of those before the first refresh is whole
    /// can be had, all others can.
    @Test(.enabled(if: canUseFFmpeg)) func aGradualRefreshWithoutIDR() throws {
        let scratch = try Scratch()
        let path = scratch.path("refresh.ts")
        let made = try runTool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x192:rate=30", "-frames:v", "90", "-c:v", "libx264",
            "-bf", "0", "-x264-params", "intra-refresh=1:keyint=20:scenecut=0:threads=1", path,
        ])
        #expect(made.status == 0, "\(made.errors)")
        let coded = TestStream.coded(in: try scratch.read("refresh.ts"))
        try #require(coded.count == 90 && coded.dropFirst().contains { $0.isKeyframe })
        // As they are from the beginning.
        let decoder = try VideoDecoder()
        var whole: [Int64: [UInt8]] = [:]
        func collect() throws {
            while let output = try decoder.next() {
                if case .picture(let picture) = consume output { whole[picture.id] = luma(picture.view.y) }
            }
        }
        for (index, unit) in coded.enumerated() {
            _ = try unit.bytes.withUnsafeBytes { try decoder.decode($0, id: Int64(index)) }
            try collect()
        }
        decoder.drain()
        try collect()
        // Whoever came later has not seen the IDR picture.
        var options = StreamOptions()
        (options.past, options.pastMemory) = (.seconds(600), 8_000_000)
        let past = try #require(Past(options))
        for (index, unit) in coded.enumerated().dropFirst(5) {
            var kept = PastUnit(
                presentation: unit.presentation, decode: unit.decode,
                time: MonotonicTime(nanoseconds: 1_000_000_000 + Int64(index) * 33_000_000))
            (kept.frame, kept.codec, kept.isEntry, kept.maskNumber) = (UInt64(index), .h264, unit.isKeyframe, .max)
            unit.bytes.withUnsafeBytes {
                past.input.keep(kept, head: UnsafeRawBufferPointer(start: nil, count: 0), $0)
            }
        }
        let first = Int(past.input.withUnits { $0[0].frame })
        #expect(first > 5, "the ring begins with an entry point")
        let desk = PastDesk(past, LiveSettings(StreamSettings()))
        defer { desk.close() }
        var (faults, right): ([String], Int) = ([], 0)
        for index in first..<90 {
            let answers = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1)
            desk.request(
                PastDesk.Request(
                    side: .before, place: .frame(UInt64(index)), format: .png, width: 3840, stampBases: [], keep: nil,
                    answer: { _ = answers.push($0) }))
            switch answers.pop(until: .now() + .seconds(60)) {
            case .success(let still)?:
                let reader = try FileReader(path: try scratch.write(still.bytes, to: "still.png"))
                while let item = try reader.next() {
                    guard case .picture(let shown, _) = consume item else { continue }
                    let error = meanSquare(luma(shown.view.y), whole[Int64(index)] ?? [])
                    #expect(error < 12, "frame \(index): \(error)")
                    right += 1
                }
            case .failure(let fault)?: faults.append(fault.description)
            case nil: Issue.record("no answer")
            }
        }
        #expect(right > 40 && right + faults.count == 90 - first, "\(right) \(faults)")
        #expect(!faults.isEmpty && faults.allSatisfy { $0.contains("ask for a later") }, "\(faults)")
    }

    private func luma(_ plane: PlaneView) -> [UInt8] {
        (0..<plane.height).flatMap { y in (0..<plane.width).map { plane.row(y)[$0] } }
    }

    private func meanSquare(_ a: [UInt8], _ b: [UInt8]) -> Double {
        guard a.count == b.count, !a.isEmpty else { return .infinity }
        return Double(zip(a, b).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }) / Double(a.count)
    }
}
