import Bitstream
import Codec
import Container
import Media
import Settings
import TestStreams
import TestSupport
import Testing

@testable import Relay

/// Stills and better clips of formats that a transport stream does not carry, or not as it is kept.
@Suite(.timeLimit(.minutes(3))) struct PastFormatTests {
    struct Format: Sendable, CustomTestStringConvertible {
        var file: String
        var codec: VideoCodec
        /// The form that it has in a transport stream.
        var hasStartCodes = false
        var keyframeEvery = 15

        var testDescription: String { file + (hasStartCodes ? " with start codes" : "") }
    }

    static let formats = [
        Format(file: "vp8.ivf", codec: .vp8), Format(file: "vp9.ivf", codec: .vp9, keyframeEvery: 12),
        Format(file: "av1.ivf", codec: .av1), Format(file: "av1.ivf", codec: .av1, hasStartCodes: true),
    ]

    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)
    /// Beyond what the 33 bits of a stamp hold.
    private static let origin: Int64 = 1 << 33 + 900_000

    private func units(_ format: Format) throws -> [[UInt8]] {
        AV1Stream.units(ofIVF: try TestStream.golden(format.file)).map {
            format.hasStartCodes ? AV1Stream.withStartCodes($0) : $0
        }
    }

    private func time(_ index: Int) -> MediaTime { MediaTime(ticks: Self.origin + Int64(index) * 3000) }

    /// A past with these pictures, a thirtieth of a second apart, and sound beside what went out.
    private func past(_ format: Format, hasSound: Bool) throws -> (Past, [[UInt8]]) {
        let units = try units(format)
        var options = StreamOptions()
        (options.past, options.pastMemory) = (.seconds(600), 8_000_000)
        let past = try #require(Past(options))
        var layout = TransportStreamLayout()
        layout.passedStreams = hasSound ? [.aac] : []
        let number = past.output.add(layout)
        var sound = try TestSound.aac(frames: 40, start: time(0))[...]
        for (index, bytes) in units.enumerated() {
            var unit = PastUnit(
                presentation: time(index), decode: time(index), time: Self.start + .milliseconds(Double(index) * 33))
            (unit.frame, unit.codec, unit.isEntry) = (UInt64(index), format.codec, index % format.keyframeEvery == 0)
            (unit.layout, unit.maskNumber) = (number, .max)
            bytes.withUnsafeBytes {
                past.input.keep(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), $0)
                // What is in it does not matter.
                past.output.keep(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), $0)
            }
            while hasSound, let next = sound.first, next.time <= time(index) {
                sound.removeFirst()
                var unit = PastUnit(presentation: next.time, decode: next.time, time: unit.time)
                (unit.stream, unit.layout) = (0, number)
                next.bytes.withUnsafeBytes {
                    past.output.keep(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), $0)
                }
            }
        }
        return (past, units)
    }

    /// What is shown, picture for picture.
    private func shown(_ units: [[UInt8]], _ codec: VideoCodec) throws -> [[UInt8]] {
        var configuration = VideoDecoder.Configuration()
        configuration.codec = codec
        let decoder = try VideoDecoder(configuration)
        var pictures: [[UInt8]] = []
        func collect() throws {
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                pictures.append(try JPEGEncoder.encode(picture.view, picture.color, width: 3840))
            }
        }
        for (index, unit) in units.enumerated() {
            _ = try unit.withUnsafeBytes { try decoder.decode($0, id: Int64(index)) }
            try collect()
        }
        decoder.drain()
        try collect()
        return pictures
    }

    @Test(arguments: formats, [true, false]) func aBetterClipHasThePicturesAndTheSound(format: Format, hasSound: Bool) throws {
        let (past, units) = try past(format, hasSound: hasSound)
        let desk = ClipDesk(past)
        defer { desk.close() }
        let answers = BoundedQueue<Result<PastClip, PastFault>>(capacity: 1)
        let file = WrittenFile()
        // From the second group on, so that the sound before it is to be left out.
        _ = desk.request(
            ClipDesk.Request(
                from: Self.start + .milliseconds(33 * Double(format.keyframeEvery) + 1), to: .now(), container: .ts,
                isOfInput: true, write: file.write, answer: { _ = answers.push($0) }))
        let clip = try #require(try answers.pop(until: .now() + .seconds(120))?.get())
        let meant = Array(units[format.keyframeEvery...])
        #expect(clip.pictures == meant.count && clip.refused == 0)
        let scratch = try Scratch()
        let reader = try FileReader(path: try scratch.write(file.bytes, to: "clip.part"))
        #expect(reader.audioStreamCount == (hasSound ? 1 : 0))
        var (pictures, times, packets): ([[UInt8]], [Int64], Int) = ([], [], 0)
        while let item = try reader.next() {
            switch consume item {
            case .picture(let picture, let time):
                pictures.append(try JPEGEncoder.encode(picture.view, picture.color, width: 3840))
                times.append(time)
            case .passed: packets += 1
            }
        }
        let expected = try shown(meant, format.codec)
        #expect(pictures == expected)
        let base = reader.video.timeBase
        let length = Double(times.last! - times[0]) * Double(base.numerator) / Double(base.denominator)
        #expect(abs(length - Double(pictures.count - 1) / 30) < 0.002)
        // A frame lasts 1,024 samples.
        if hasSound { #expect(abs(packets - meant.count * 48_000 / 30 / 1024) <= 1, "\(packets)") }
    }

    /// A still, and what makes it anew.
    @Test(arguments: formats) func eachPictureIsThere(format: Format) throws {
        let (past, units) = try past(format, hasSound: false)
        let shown = try shown(units, format.codec)
        try #require(shown.count == units.count)
        let desk = PastDesk(past, LiveSettings(StreamSettings()))
        defer { desk.close() }
        for index in units.indices {
            let answers = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1)
            let files = BoundedQueue<[UInt8]>(capacity: 1)
            desk.request(
                PastDesk.Request(
                    side: .before, place: .frame(UInt64(index)), format: .jpeg, width: 3840, stampBases: [],
                    keep: { files.offer($0) == nil ? nil : "full" }, answer: { _ = answers.push($0) }))
            #expect(try answers.pop(until: .now() + .seconds(60))?.get().bytes == shown[index], "\(index)")
            let file = try UnitFile(reading: try #require(files.pop(until: .now())))
            let place = try #require(file.units.firstIndex { $0.id == file.target })
            let again = try self.shown(file.units.map { Array(file.bytes[$0.range]) }, format.codec)
            #expect(file.codec == format.codec && again[place] == shown[index], "\(index)")
        }
    }

    /// A disk that fills, and a first picture that nobody can decode.
    @Test func whatCannotBeWrittenIsAClearFault() throws {
        let (past, _) = try past(Self.formats[0], hasSound: true)
        func fault(_ past: Past, room: Int) throws -> PastFault? {
            let desk = ClipDesk(past)
            defer { desk.close() }
            let answers = BoundedQueue<Result<PastClip, PastFault>>(capacity: 1)
            _ = desk.request(
                ClipDesk.Request(
                    from: Self.start, to: .now(), container: .ts, isOfInput: true, write: WrittenFile(room: room).write,
                    answer: { _ = answers.push($0) }))
            if case .failure(let fault)? = answers.pop(until: .now() + .seconds(60)) { return fault }
            return nil
        }
        #expect(try fault(past, room: 2000)?.description.contains("No space left") == true)
        var options = StreamOptions()
        (options.past, options.pastMemory) = (.seconds(600), 1_000_000)
        let broken = try #require(Past(options))
        var unit = PastUnit(presentation: time(0), decode: time(0), time: Self.start)
        (unit.frame, unit.codec, unit.isEntry, unit.maskNumber) = (1, .vp8, true, .max)
        [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            broken.input.keep(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), $0)
        }
        #expect(try fault(broken, room: .max)?.kind == .conflict)
    }
}
