import Bitstream
import Media
import Schedule
import Settings
import TestStreams
import Testing

@testable import Codec
@testable import Relay

/// Captions of pictures that are enhanced: all of them come out, in the order of showing, once, with the original's picture.
@Suite(.timeLimit(.minutes(3))) struct CaptionRelayTests {
    /// Two letters that say a picture's place.
    private static func letters(_ index: Int) -> [UInt8] { [UInt8(65 + index % 26), UInt8(97 + index / 26)] }

    private static func captions(_ index: Int) -> PictureUserData {
        let letters = letters(index)
        var data = PictureUserData()
        data.append(0xFC, letters[0], letters[1])
        data.append(0xF8, 0, 0)
        data.activeFormat = 10
        data.bars = PictureBars()
        data.bars?.endOfTop = 12
        return data
    }

    /// A stream with B-frames, each picture of which carries its letters.
    private static func stream() throws -> (bytes: [UInt8], count: Int) {
        var units = TestStream.coded(in: try TestStream.golden("ffmpeg-bframes.ts"))
        let shown = units.map(\.presentation).sorted { $0 < $1 }
        for place in units.indices {
            var messages = UnitMessages(for: .h264)
            messages.append(captions(shown.firstIndex(of: units[place].presentation)!))
            var whole: [UInt8] = []
            units[place].bytes.withUnsafeBytes { messages.insert(into: $0) { whole = Array($0) } }
            units[place].bytes = whole
        }
        return (try TestStream.multiplexed(units), units.count)
    }

    /// What the units of an output carry, in their order; nil for those that carry nothing.
    private func carried(_ stream: [UInt8]) -> [PictureUserData?] {
        TestStream.payloads(in: stream).map { unit in unit.withUnsafeBytes { UserDataReader.read($0, of: .h264) } }
    }

    private func pairs(_ data: PictureUserData?) -> [[UInt8]] {
        guard let data else { return [] }
        return (0..<data.pieces).filter { data[3 * $0] == 0xFC }.map { [data[3 * $0 + 1], data[3 * $0 + 2]] }
    }

    private func run(_ stream: [UInt8], _ scratch: Scratch, adjust: (inout RelayConfiguration) -> Void) throws -> RelayReport {
        try relay(stream, scratch) {
            $0.settings.tier = .base
            $0.readsFramesOneByOne = true
            $0.awaitsProcessors = true
            $0.weights.keep = 1e9
            $0.weights.climb = 1e9
            $0.weights.dwell = .zero
            adjust(&$0)
        }
    }

    @Test(arguments: [1, 2], 0...1) func captionsGoWithTheirPicture(interpolate: Int, lookahead: Int) throws {
        let scratch = try Scratch()
        let (stream, count) = try Self.stream()
        let report = try run(stream, scratch) {
            $0.settings.interpolate = interpolate
            $0.options.lookahead = lookahead
        }
        #expect(report.counters["captions_passed"] == UInt64(count) && report.counters["captions_dropped"] == nil)
        let carried = carried(try scratch.read("out.ts"))
        #expect(carried.flatMap(pairs) == (0..<count).map(Self.letters))
        // One picture, one message: those between originals carry nothing.
        #expect(carried.count { $0 != nil } == count && (interpolate == 1) == (carried.count == count))
        for data in carried.compactMap({ $0 }) {
            #expect(data.pieces == 2 && data.activeFormat == 10 && data.bars?.endOfTop == 24)
        }
    }

    /// At a constant rate some originals are left out, or others stand for them.
    @Test(arguments: [24, 25, 50, 60] as [Int64]) func noneIsLostAtAConstantRate(fps: Int64) throws {
        let scratch = try Scratch()
        let (stream, count) = try Self.stream()
        let report = try run(stream, scratch) { $0.options.fps = Rational(fps) }
        let found = carried(try scratch.read("out.ts")).flatMap(pairs)
        let lost = Int(report.counters["captions_dropped"] ?? 0)
        // What the last picture had may find none that follows.
        #expect(lost <= 1 && found == (0..<count - lost).map(Self.letters), "\(lost) \(found.count)")
        #expect(Int(report.counters["captions_passed"] ?? 0) == found.count)
    }

    /// The next picture carries what one had that could not be encoded.
    @Test(arguments: EncodingFault.allCases) func whatADroppedPictureHadGoesWithTheNext(fault: EncodingFault) throws {
        let scratch = try Scratch()
        let (stream, count) = try Self.stream()
        let pictures = Count()
        let report = try run(stream, scratch) {
            $0.makeEncoder = { (configuration) throws(CodecError) in
                try FailingEncoder(configuration) { _ in [3, 4, 9].contains(pictures.next()) ? fault : nil }
            }
        }
        #expect(report.frames.dropped == 3, "\(report.frames)")
        let carried = carried(try scratch.read("out.ts"))
        #expect(carried.flatMap(pairs) == (0..<count).map(Self.letters))
        #expect(report.counters["captions_passed"] == UInt64(count) && report.counters["captions_dropped"] == nil)
        #expect(carried.map { pairs($0).count }.max() == 3)
    }

    @Test func aStreamWithoutCaptionsGetsNone() throws {
        let scratch = try Scratch()
        let report = try run(try TestStream.video(frames: 10), scratch) { _ in }
        #expect(carried(try scratch.read("out.ts")).allSatisfy { $0 == nil })
        #expect(report.counters["captions_passed"] == nil && report.counters["captions_dropped"] == nil)
    }

    // MARK: Waiting

    private func time(_ index: Int) -> MediaTime { MediaTime(ticks: 90_000 + Int64(index) * 3000) }

    @Test func whatWaitsLeavesInTheOrderOfShowing() {
        var waiting = WaitingCaptions()
        for index in [0, 3, 1, 2] { #expect(waiting.add(Self.captions(index), at: time(index)) == 0) }
        #expect(pairs(waiting.take(upTo: time(0)).data) == [Self.letters(0)])
        // The picture of 1 was dropped.
        #expect(pairs(waiting.take(upTo: time(2)).data) == [Self.letters(1), Self.letters(2)])
        #expect(waiting.take(upTo: time(2)).data == nil)
        #expect(pairs(waiting.take(upTo: time(3)).data) == [Self.letters(3)])
        #expect(waiting.removeAll() == 0)
    }

    @Test func whatOnePictureHasNoRoomForGoesWithTheNext() {
        var waiting = WaitingCaptions()
        for index in 0..<3 {
            var data = PictureUserData()
            for piece in 0..<20 { data.append(0xFC, UInt8(index), UInt8(piece + 1)) }
            _ = waiting.add(data, at: time(index))
        }
        var found: [[UInt8]] = []
        for index in 2..<5 { found += pairs(waiting.take(upTo: time(index)).data) }
        #expect(found == (0..<60).map { (place: Int) -> [UInt8] in [UInt8(place / 20), UInt8(place % 20 + 1)] })
        #expect(waiting.take(upTo: time(9)).data == nil)
    }

    @Test func whatIsTooOldOrTooMuchIsDroppedAndCounted() {
        var waiting = WaitingCaptions()
        _ = waiting.add(Self.captions(0), at: time(0))
        _ = waiting.add(Self.captions(29), at: time(29))
        let late = waiting.take(upTo: time(31))
        #expect(late.dropped == 1 && pairs(late.data) == [Self.letters(29)])
        for index in 0..<WaitingCaptions.capacity { #expect(waiting.add(Self.captions(index), at: time(index)) == 0) }
        #expect(waiting.add(Self.captions(99), at: time(99)) == 1)
        #expect(pairs(waiting.take(upTo: time(1)).data) == [Self.letters(1)])
        #expect(waiting.removeAll() == WaitingCaptions.capacity - 1)
    }
}
