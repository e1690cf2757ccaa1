import Bitstream
import Codec
import Media
import Settings
import TestSupport
import Testing

@testable import Relay

/// The best picture of the last seconds of the past.
@Suite(.timeLimit(.minutes(5))) struct PastBestTests {
    private static let size = PictureSize(width: 320, height: 192)

    /// What a picture shows: from black to a scene, and that scene blurred or faded.
    private enum Shown: CaseIterable { case scene, black, faded, blurred }

    private func picture(_ shown: Shown, _ index: Int) -> Picture {
        let picture = Picture(size: Self.size)
        let view = picture.mutableView
        for y in 0..<Self.size.height {
            for x in 0..<Self.size.width {
                // Squares of eight samples, or ways between them.
                let (column, row) = (Double(x + index) / 8, Double(y) / 8)
                let square = (Int(column) * 7 + Int(row) * 5) % 6
                view.y.row(y)[x] =
                    switch shown {
                    case .scene: UInt8(50 + 26 * square)
                    case .black: 16
                    case .faded: UInt8(110 + 2 * square)
                    case .blurred: UInt8(115 + 50 * x / Self.size.width)
                    }
            }
        }
        for y in 0..<Self.size.chroma.height {
            for x in 0..<Self.size.chroma.width {
                view.u.row(y)[x] = shown == .scene ? UInt8(100 + x % 50) : 128
                view.v.row(y)[x] = shown == .scene ? UInt8(110 + y % 40) : 128
            }
        }
        return picture
    }

    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    /// A past whose output shows these, a tenth of a second apart.
    private func past(_ shown: [Shown], keyframeEvery: Int, mask: Int = 0) throws -> Past {
        var options = StreamOptions()
        (options.past, options.pastMemory) = (.seconds(600), 16_000_000)
        let past = try #require(Past(options))
        let encoder = try VideoEncoder(VideoEncoderConfiguration(size: Self.size, frameRate: Rational(10)))
        for (index, shown) in shown.enumerated() {
            let time = MediaTime(ticks: Int64(index) * 9000)
            try encoder.encode(
                picture(shown, index).view, id: Int64(index), at: time, asKeyframe: index % keyframeEvery == 0
            ) { coded in
                var unit = PastUnit(
                    presentation: time, decode: time, time: Self.start + .milliseconds(Double(index) * 100))
                (unit.frame, unit.codec, unit.isEntry, unit.maskNumber) = (UInt64(index), .h264, coded.isKeyframe, mask)
                past.output.keep(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), coded.bytes)
            }
        }
        return past
    }

    /// Asks for the best since so many tenths of a second.
    private func ask(
        _ past: Past, since tenths: Int64, _ side: StreamPicture.Side = .after, format: PastPicture.Format = .jpeg
    ) -> Result<PastPicture, PastFault>? {
        let desk = PastDesk(past, LiveSettings(StreamSettings()))
        defer { desk.close() }
        let answers = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1)
        desk.request(
            PastDesk.Request(
                side: side, place: .best(since: Self.start + .milliseconds(Double(tenths) * 100)), format: format, width: 160,
                stampBases: [], keep: nil
            ) { _ = answers.push($0) })
        return answers.pop(until: .now() + .seconds(120))
    }

    @Test(arguments: [1, 5, 100]) func theSceneIsFound(keyframeEvery: Int) throws {
        // The scene begins at a keyframe, unless there is only the first one.
        let shown: [Shown] = (0..<60).map { [Shown.black, .faded, .scene, .blurred][$0 / 5 % 4] }
        let past = try past(shown, keyframeEvery: keyframeEvery)
        for since: Int64 in [-1000, 20] {
            let best = try #require(ask(past, since: since)).get()
            #expect(shown[Int(best.frame)] == .scene && Int64(best.frame) >= since, "frame \(best.frame)")
            #expect(best.size == PictureSize(width: 160, height: 96) && best.bytes.starts(with: [0xFF, 0xD8]))
            #expect(best.presentation == MediaTime(ticks: Int64(best.frame) * 9000))
        }
        // Of what is left nothing is good, and one is given.
        let poor = try #require(ask(past, since: 56, format: .png)).get()
        #expect(poor.frame >= 56 && poor.bytes.starts(with: [0x89, 0x50]))
    }

    @Test func fewPicturesAreDecoded() throws {
        let ring = PastRing(byteCount: 1 << 24, duration: .seconds(600))
        func keep(_ index: Int, isEntry: Bool) {
            let time = MediaTime(ticks: Int64(index) * 3000)
            var unit = PastUnit(presentation: time, decode: time, time: Self.start + .milliseconds(Double(index) * 33))
            (unit.frame, unit.codec, unit.isEntry) = (UInt64(index), .h264, isEntry)
            ring.keep(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), UnsafeRawBufferPointer(start: nil, count: 0))
        }
        func candidates(_ since: Int) -> [PastRun] {
            ring.withUnits { $0.candidates(since: Self.start + .milliseconds(Double(since) * 33)) }
        }
        #expect(candidates(0).isEmpty)
        for index in 0..<2000 { keep(index, isEntry: index % 60 == 0) }
        // Keyframes alone, evenly, from the oldest to the newest.
        #expect(candidates(0).map(\.entry).first == 0 && candidates(0).map(\.entry).last == 1980)
        #expect(candidates(0).count == 12 && candidates(0).allSatisfy { $0.candidates == [$0.entry] })
        #expect(candidates(1750).map(\.entry) == [1800, 1860, 1920, 1980])
        // Of three groups and the rest of the one before them.
        let few = candidates(1850)
        #expect(few.map(\.entry) == [1800, 1860, 1920, 1980])
        #expect(few[0].candidates == [1850, 1853, 1856] && few[1].candidates == [1860, 1880, 1900])
        // One endless group is not decoded to its end.
        for index in 2000..<5000 { keep(index, isEntry: false) }
        #expect(candidates(1990).map(\.candidates.count) == [12])
        #expect(candidates(1990)[0].candidates.allSatisfy { (1990..<2580).contains($0) })
        #expect(candidates(4000).isEmpty && candidates(6000).isEmpty)
    }

    @Test func faultsAreThoseOfStills() throws {
        let past = try past([.scene, .black], keyframeEvery: 1)
        func kind(_ result: Result<PastPicture, PastFault>?) -> PastFault.Kind? {
            if case .failure(let fault)? = result { fault.kind } else { nil }
        }
        #expect(kind(ask(past, since: 2)) == .missing)
        #expect(kind(ask(past, since: 0, .before)) == .conflict, "nothing came")
        past.input.close()
        guard case .failure(.masked)? = ask(past, since: 0, .before) else { return #expect(Bool(false)) }
        // What has an older mask is forgotten.
        past.output.forget(masksBefore: 1)
        #expect(kind(ask(past, since: 0)) == .conflict)
        // What cannot be decoded is no picture.
        var options = StreamOptions()
        (options.past, options.pastMemory) = (.seconds(9), 1_000_000)
        let broken = try #require(Past(options))
        var unit = PastUnit(presentation: .init(ticks: 0), decode: .init(ticks: 0), time: Self.start)
        (unit.frame, unit.codec, unit.isEntry) = (1, .h264, true)
        [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            broken.output.keep(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), $0)
        }
        #expect(kind(ask(broken, since: 0)) == .conflict)
    }
}
