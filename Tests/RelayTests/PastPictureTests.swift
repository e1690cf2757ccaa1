import Bitstream
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

/// Stills of the past of a stream.
@Suite(.timeLimit(.minutes(5))) struct PastPictureTests {
    /// Answers, as they come.
    private final class Answers: Sendable {
        private let queue = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1024)
        func take(_ result: Result<PastPicture, PastFault>) { _ = queue.push(result) }
        func next() -> Result<PastPicture, PastFault>? { queue.pop(until: .now() + .seconds(120)) }
    }

    /// A relay whose encoder stops before the picture with this number.
    private func withRelay(
        _ stream: [UInt8], haltingAt halted: Int, _ adjust: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (Relay, Scratch) throws -> Void
    ) throws {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(600)
        configuration.settings.tier = .base
        configuration.options.past = .seconds(600)
        configuration.options.pastMemory = 8_000_000
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.readsFramesOneByOne = true
        adjust(&configuration)
        let (halt, encoded) = (Halt(), Count())
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                if encoded.next() == halted { halt.pass() }
                return nil
            }
        }
        let relay = try Relay(configuration)
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        halt.await()
        defer {
            halt.goOn()
            thread.join()
        }
        try body(relay, scratch)
    }

    private func ask(
        _ relay: Relay, _ side: StreamPicture.Side, _ place: PastPlace, as format: PastPicture.Format = .jpeg, width: Int = 3840
    ) -> Result<PastPicture, PastFault> {
        let answers = Answers()
        relay.requestPast(side, place, as: format, width: width, answers.take)
        return answers.next() ?? .failure(.ended)
    }

    /// The number in the time code of a still.
    private func number(in picture: PastPicture, _ scratch: Scratch) throws -> UInt16? {
        let name = picture.bytes.starts(with: [0xFF, 0xD8]) ? "still.jpg" : "still.png"
        let reader = try FileReader(path: try scratch.write(picture.bytes, to: name))
        while let item = try reader.next() {
            guard case .picture(let shown, _) = consume item else { continue }
            if case .code(let code) = TimeCodeReading(luma: shown.view.y, near: WallTime(microseconds: 0)) {
                return code.number
            }
        }
        return nil
    }

    /// 100 of 100 on both sides, asked for by frame and by time.
    @Test func aHundredStillsShowTheFrameThatWasAskedFor() throws {
        let frames = 130
        try withRelay(try TestStream.video(frames: frames, size: PictureSize(width: 320, height: 180)), haltingAt: 125) {
            relay, scratch in
            let past = try #require(relay.channels.past)
            for (side, ring) in [(StreamPicture.Side.before, past.input), (.after, past.output)] {
                let kept = ring.withUnits { units in (0..<units.count).map { units[$0] } }
                try #require(kept.count >= 120)
                let origin = kept[0].presentation.ticks
                var right = (frame: 0, time: 0)
                for (place, unit) in kept.enumerated().dropFirst(10).prefix(100) {
                    let expected = UInt16((unit.presentation.ticks - origin) / 3000)
                    #expect(Int(expected) == place)
                    let byFrame = try ask(relay, side, .frame(unit.frame), as: place % 10 == 0 ? .png : .jpeg).get()
                    #expect(byFrame.frame == unit.frame && byFrame.presentation == unit.presentation)
                    if try number(in: byFrame, scratch) == expected { right.frame += 1 }
                    // Between its own time and the next one's. Of those that came with one message the last is meant.
                    let next = try #require(kept[place...].first { $0.time > unit.time })
                    let last = kept.lastIndex { $0.time <= unit.time }
                    let byTime = try ask(relay, side, .time(unit.time + (next.time - unit.time) / 2)).get()
                    if try number(in: byTime, scratch) == last.map({ UInt16($0) }) { right.time += 1 }
                }
                #expect(right == (100, 100), "\(side)")
            }
        }
    }

    /// Each picture of a stream as the ring gives it, compared with the same stream decoded from its beginning.
    @Test(arguments: ["ffmpeg-bframes", "hevc-open", "hevc", "mpeg2-bframes", "ffmpeg-slices", "cropped"])
    func stillsAreWhatTheStreamShows(name: String) throws {
        let stream = try TestStream.golden(name + ".ts")
        var units:
            [(bytes: [UInt8], sets: [UInt8], presentation: MediaTime, decode: MediaTime, isEntry: Bool, codec: VideoCodec)] = []
        func receive(_ event: ContainerEvent) {
            guard case .unit(let unit) = event, unit.isMainVideo, let time = unit.presentation, let codec = unit.codec else {
                return
            }
            units.append(
                (Array(unit.bytes), unit.parameterSets?.bytes ?? [], time, unit.decode ?? time, unit.isStart, codec))
        }
        var demuxer = TransportStreamDemuxer()
        stream.withUnsafeBytes { demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive) }
        demuxer.finish(handler: receive)

        var options = StreamOptions()
        (options.past, options.pastMemory) = (.seconds(600), 16_000_000)
        let past = try #require(Past(options))
        var configuration = VideoDecoder.Configuration()
        configuration.codec = units[0].codec
        let decoder = try VideoDecoder(configuration)
        var shown: [Int64: [UInt8]] = [:]
        var orientation = HeldOrientation()
        func collect() throws {
            while let output = try decoder.next() {
                guard case .picture(var picture) = consume output else { continue }
                picture.color.orientation = orientation.next(isKeyframe: picture.isKeyframe, said: picture.statedOrientation)
                if picture.damage.isEmpty {
                    shown[picture.id] = try JPEGEncoder.encode(picture.view, picture.color, width: 3840)
                }
            }
        }
        // Time stamps tell the decoder of the order, as in ingest.
        var reordering = StampedReordering()
        for (index, unit) in units.enumerated() {
            reordering.observe(unit.presentation, decode: unit.decode, isKeyframe: unit.isEntry, interval: nil)
            let flags = UnitFlags.reordering(reordering.depth)
            var kept = PastUnit(
                presentation: unit.presentation, decode: unit.decode, time: MonotonicTime(nanoseconds: Int64(index) * 1_000_000)
            )
            (kept.frame, kept.codec, kept.isEntry, kept.flags) = (UInt64(index), unit.codec, unit.isEntry, flags)
            (unit.isEntry ? unit.sets : []).withUnsafeBytes { sets in
                unit.bytes.withUnsafeBytes { past.input.keep(kept, head: sets, $0) }
            }
            _ = try unit.bytes.withUnsafeBytes { try decoder.decode($0, id: Int64(index), flags: flags) }
            try collect()
        }
        decoder.drain()
        try collect()
        try #require(shown.count > units.count / 2)

        let desk = PastDesk(past, LiveSettings(StreamSettings()))
        defer { desk.close() }
        var same = 0
        for index in shown.keys.sorted() {
            let answers = Answers()
            desk.request(
                PastDesk.Request(
                    side: .before, place: .frame(UInt64(index)), format: .jpeg, width: 3840, stampBases: [], keep: nil,
                    answer: answers.take))
            switch answers.next() {
            case .success(let picture): if picture.bytes == shown[index] { same += 1 }
            case let other: Issue.record("\(name) \(index): \(String(describing: other))")
            }
        }
        #expect(same == shown.count, "\(same) of \(shown.count)")
    }

    /// What is kept of a picture is enough to decode it again, with those around it, whichever side shows it.
    @Test func whatIsKeptMakesThePictureAnew() throws {
        try withRelay(try TestStream.video(frames: 60, size: PictureSize(width: 320, height: 180)), haltingAt: 55) {
            relay, _ in
            let past = try #require(relay.channels.past)
            let kept = past.output.withUnits { units in (0..<units.count).map { units[$0] } }
            for side in [StreamPicture.Side.before, .after] {
                for unit in [kept[3], kept[20], kept[45]] {
                    let (answers, files) = (Answers(), BoundedQueue<[UInt8]>(capacity: 1))
                    relay.requestPast(
                        side, .frame(unit.frame), width: 64, keep: { files.offer($0) == nil ? nil : "full" }, answers.take)
                    #expect(try answers.next()?.get().frame == unit.frame)
                    let file = try UnitFile(reading: try #require(files.pop(until: .now())))
                    let place = try #require(file.units.firstIndex { $0.id == file.target })
                    #expect(file.units[place].presentation == unit.presentation)
                    #expect(file.units.count - place > 8, "those behind it help")
                    let decoder = try VideoDecoder()
                    var shown: [Int64] = []
                    for unit in file.units {
                        try file.bytes[unit.range].withUnsafeBytes {
                            _ = try decoder.decode($0, id: unit.id, flags: unit.flags)
                        }
                        while let output = try decoder.next() {
                            if case .picture(let picture) = consume output, picture.damage.isEmpty { shown.append(picture.id) }
                        }
                    }
                    #expect(shown.contains(file.target))
                }
            }
            // A disk that is full.
            let answers = Answers()
            relay.requestPast(.after, .frame(kept[20].frame), width: 64, keep: { _ in "no space" }, answers.take)
            guard case .failure(let fault)? = answers.next() else { return #expect(Bool(false)) }
            #expect(fault.description.contains("no space"))
        }
    }

    @Test func whatIsNotThereIsAClearFault() throws {
        try withRelay(try TestStream.video(frames: 40), haltingAt: 30) { relay, _ in
            func fault(_ side: StreamPicture.Side, _ place: PastPlace) -> PastFault? {
                if case .failure(let fault) = ask(relay, side, place) { fault } else { nil }
            }
            #expect(fault(.before, .frame(100_000))?.description.contains("has not come yet") == true)
            #expect(fault(.before, .time(.now() + .seconds(60)))?.kind == .conflict)
            #expect(fault(.before, .time(.now() - .seconds(600)))?.kind == .missing)
            #expect(fault(.before, .rtp(1))?.description.contains("no RTP time stamps") == true)
            #expect(fault(.after, .rtp(1))?.kind == .missing)
        }
        try withRelay(try TestStream.video(frames: 10), haltingAt: 5, { $0.options.past = .zero }) { relay, _ in
            #expect(relay.channels.past == nil)
            guard case .failure(.off) = ask(relay, .before, .frame(1)) else { return #expect(Bool(false)) }
        }
    }

    /// The desk takes few at a time, and answers each.
    @Test func aThousandRequestsAreAnsweredOrRefused() throws {
        try withRelay(try TestStream.video(frames: 40), haltingAt: 35) { relay, _ in
            let newest = relay.channels.past!.input.withUnits { $0[$0.count - 1].frame }
            let answers = Answers()
            for _ in 0..<1000 { relay.requestPast(.before, .frame(newest), width: 100, answers.take) }
            var (made, busy) = (0, 0)
            for _ in 0..<1000 {
                switch answers.next() {
                case .success: made += 1
                case .failure(.busy): busy += 1
                case let other: Issue.record("\(String(describing: other))")
                }
            }
            #expect(made >= 8 && made + busy == 1000 && busy > 0, "\(made) \(busy)")
        }
    }

    /// A mask ends what is kept of the input, and what went out before it is forgotten.
    @Test func aMaskForgetsThePast() throws {
        let mask = PrivacyMask([PrivacyMask.Area(x: 25, y: 50, width: 50, height: 40, .fill(PrivacyMask.FillColor("white")!))])
        try withRelay(try TestStream.video(frames: 60), haltingAt: 30) { relay, _ in
            let past = try #require(relay.channels.past)
            guard case .success = ask(relay, .before, .time(.now())), case .success = ask(relay, .after, .time(.now())) else {
                return #expect(Bool(false), "there is a past without a mask")
            }
            var settings = relay.settings
            settings.steps.mask = mask
            relay.change(settings)
            #expect(past.input.extent == PastRing.Extent() && past.output.extent == PastRing.Extent())
            guard case .failure(.masked) = ask(relay, .before, .time(.now())) else { return #expect(Bool(false)) }
            guard case .failure = ask(relay, .after, .time(.now())) else { return #expect(Bool(false)) }
        }
        let scratch = try Scratch()
        let (report, _, _) = try relayPictureByPicture(try TestStream.video(frames: 20), scratch) {
            $0.settings.steps.mask = mask
            $0.options.past = .seconds(20)
        }
        #expect(report.frames.emitted == 20)
    }
}
