import Codec
import Container
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// Streams beside the video, from a file to a file.
@Suite(.timeLimit(.minutes(2))) struct PassingStreamTests {
    @Test func audioKeepsItsBytesAndItsTimes() throws {
        let scratch = try Scratch()
        let stream = try TestStream.program([.init(frames: 30, audioStreams: 2)])
        let report = try relay(stream, scratch)
        #expect(report.frames.emitted == 30)
        let (sent, layouts) = TestStream.passed(in: stream)
        #expect(sent.count == 60 && layouts == [2])
        let output = TestStream.passed(in: try scratch.read("out.ts"))
        #expect(output.units == sent && output.layouts == layouts)
    }

    /// A unit of sound in three packets, of which one is missing. Without the first nothing of it can be passed.
    @Test(arguments: 0..<3) func soundThatLacksAPacketPassesAsItIsAndIsCounted(missing: Int) throws {
        let scratch = try Scratch()
        var stream = try TestStream.program([.init(frames: 20, audioStreams: 1, audioPadding: 470)])
        var sent = TestStream.passed(in: stream).units
        let pid = TransportStreamLayout().pid(ofPassedStream: 0)
        let packets = stride(from: 0, to: stream.count, by: 188).filter { TestMultiplex.pid(in: stream, at: $0) == pid }
        #expect(sent.count == 20 && packets.count == 60)
        let lost = packets[3 * 7 + missing]
        stream.removeSubrange(lost..<lost + 188)
        switch missing {
        case 0: sent.remove(at: 7)
        // The PES header takes up 14 bytes of the first packet.
        case 1: sent[7].bytes.removeSubrange(170..<354)
        default: sent[7].bytes.removeSubrange(354...)
        }
        let report = try relay(stream, scratch)
        #expect(TestStream.passed(in: try scratch.read("out.ts")).units == sent)
        #expect(report.counters["passing_units_damaged"] == (missing == 0 ? nil : 1))
        #expect(report.counters["passing_units_in"] == UInt64(sent.count))
        #expect(report.counters["passing_units_out"] == UInt64(sent.count))
        #expect(report.counters["input_packets_lost"] == 1 && report.frames.emitted == 20)
    }

    /// Sound that comes before the first picture, and is ahead of it by no whole number of slots.
    @Test(arguments: [24, 25, 30, 50, 60] as [Int64], [-700, 0, 1_111, 20_011] as [Int64])
    func soundAheadOfThePictureKeepsItsPlaceAtAConstantRate(rate: Int64, ahead: Int64) throws {
        let scratch = try Scratch()
        let stream = try TestStream.soundFirst(frames: Int(rate), rate: rate >= 50 ? rate / 2 : rate, ahead: ahead)
        let report = try relay(stream, scratch) { $0.options.fps = Rational(rate) }
        let output = try scratch.read("out.ts")
        let pictures = TestStream.units(in: output).map(\.presentation)
        let grid = SlotGrid(rate: Rational(rate), start: Timeline.start)
        #expect(pictures.allSatisfy { grid.time(of: grid.slot(at: $0)) == $0 } && pictures.count >= Int(rate))
        let (sent, passed) = (TestStream.passed(in: stream).units, TestStream.passed(in: output).units)
        #expect(passed == sent && sent.count > 20, "\(passed.first?.presentation ?? 0), \(sent[0].presentation)")
        #expect(report.frames.dropped == 0)
    }

    /// What other people's encoders make, and what other people's demuxer makes of our output.
    @Test(arguments: [("aac", "aac"), ("libopus", "opus"), ("mp2", "mp2")])
    func audioOfFFmpegsPassesUntouched(encoder: String, codec: String) throws {
        let scratch = try Scratch()
        let input = scratch.path("source.ts")
        let made = try tool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=30:duration=2", "-f", "lavfi",
            "-i", "sine=frequency=440:sample_rate=48000:duration=2", "-c:v", "libx264", "-preset", "ultrafast", "-bf",
            "0", "-c:a", encoder, "-shortest", input,
        ])
        try #require(made.status == 0, "\(made.text)")
        let stream = try scratch.read("source.ts")
        let report = try relay(stream, scratch)
        #expect(report.frames.emitted == 60 && report.frames.dropped == 0)
        let sent = TestStream.passed(in: stream).units
        #expect(sent.count > 4)
        #expect(TestStream.passed(in: try scratch.read("out.ts")).units == sent)
        let seen = try tool([
            "ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "stream=codec_name", "-of", "csv=p=0",
            scratch.path("out.ts"),
        ])
        #expect(seen.text.contains(codec), "\(seen.text)")
    }

    /// Streams come and go in mid-stream: the output's program follows, and the pictures do not suffer.
    @Test func aLayoutThatChangesIsFollowed() throws {
        let scratch = try Scratch()
        let stream = try TestStream.program([
            .init(frames: 20), .init(frames: 20, audioStreams: 1), .init(frames: 20, audioStreams: 3), .init(frames: 20),
        ])
        let report = try relay(stream, scratch)
        #expect(report.frames.originals == 80 && report.frames.emitted == 80)
        let output = try scratch.read("out.ts")
        let (sent, passed) = (TestStream.passed(in: stream).units, TestStream.passed(in: output))
        #expect(TestStream.units(in: output).count == 80)
        // The output may never show a layout that was over before its first picture came out.
        #expect(passed.layouts.last == 0 && passed.layouts.allSatisfy { [0, 1, 3].contains($0) })
        // What was on its way when the layout changed may be lost, and is counted; nothing is altered or out of place.
        #expect(passed.units.allSatisfy(sent.contains))
        #expect(
            report.counters["passing_units_in"]
                == (report.counters["passing_units_out"] ?? 0) + (report.counters["passing_units_dropped"] ?? 0))
        #expect(UInt64(passed.units.count) == report.counters["passing_units_out"] ?? 0)
    }

    /// The layout changes while a picture is encoded, and units come under it before the next picture.
    @Test(arguments: [false, true]) func unitsOfANewLayoutAreSentUnderItsOwnMap(changesBack: Bool) throws {
        let scratch = try Scratch()
        let path = scratch.path("out.ts")
        func layout(_ streams: Int) -> TransportStreamLayout {
            var layout = TransportStreamLayout()
            layout.passedStreams = Array(repeating: .aac, count: streams)
            return layout
        }
        let (one, two) = (layout(1), layout(2))
        let passing = PassingStreams()
        passing.layout = one
        let calls = Count()
        var configuration = RelayConfiguration(input: .file(path: "unused"), output: .file(path: path))
        configuration.settings.budget = .seconds(60)
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                guard calls.next() == 0 else { return nil }
                passing.layout = two
                let taken = [UInt8](repeating: 7, count: 20).withUnsafeBytes {
                    passing.offer(
                        $0, stream: 0, presentation: Timeline.start, arrival: .now(), sourceTime: nil,
                        emitBy: .now() + .seconds(60))
                }
                #expect(taken)
                if changesBack { passing.layout = one }
                return nil
            }
        }
        let stream = StreamChannels(configuration)
        let finished = BoundedQueue<FinishedFrame>(capacity: 2)
        let size = PictureSize(width: 160, height: 96)
        let pool = PicturePool(size: size, count: 2)
        for index in 0..<2 {
            guard let picture = pool.lease() else { break }
            let ticket = stream.books.ledger.open(.original, presentation: Timeline.start + Int64(index) * 3_000)
            _ = finished.push(
                FinishedFrame(
                    ticket: ticket, picture: picture, color: ColorDescription(), interval: .milliseconds(33),
                    turn: .now(), original: nil))
        }
        finished.close()
        let sink = try Sink(configuration.outputs[0])
        runOutput(finished, passing: passing, sink: sink, stream)
        sink.flush(until: .now() + .seconds(1))
        #expect(stream.books.ledger.books.emitted == 2)

        var events: [String] = []
        var demuxer = TransportStreamDemuxer()
        func receive(_ event: ContainerEvent) {
            switch event {
            case .program(let program): events.append("map of \(program.streams.count - 1)")
            case .unit(let unit): if !unit.isMainVideo { events.append("unit") }
            default: break
            }
        }
        try scratch.read("out.ts").withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        // What belongs to a layout that was over before any picture had it has no map to go under.
        #expect(events == (changesBack ? ["map of 1"] : ["map of 1", "map of 2", "unit"]))
        #expect(stream.books.counters[.passingDropped] == (changesBack ? 1 : 0))
    }

    /// A map may name sound of which nothing comes. Calls get other sound once that has come for a second.
    @Test func callsDoNotWaitForSoundOfWhichNothingComes() {
        func offered(_ units: [(stream: Int, milliseconds: Double)]) -> [Bool] {
            let passing = PassingStreams()
            var layout = TransportStreamLayout()
            layout.passedStreams = [.init(streamType: 6), .aac, .init(streamType: 3)]
            passing.layout = layout
            return units.map { stream, milliseconds in
                let time = MonotonicTime(nanoseconds: 0) + .milliseconds(milliseconds)
                let isTaken = [UInt8](repeating: 7, count: 20).withUnsafeBytes {
                    passing.offer(
                        $0, stream: stream, presentation: Timeline.start, arrival: time, sourceTime: nil, emitBy: time)
                }
                let unit = passing.next()
                #expect(isTaken && unit?.stream == stream)
                return unit?.forCalls != nil
            }
        }
        #expect(
            offered([(0, 0), (2, 0), (2, 990), (0, 1500), (2, 1500), (2, 1600)]) == [false, false, false, false, true, true])
        // From then on it stays that one.
        #expect(offered([(2, 0), (2, 1000), (1, 1100), (2, 1200)]) == [false, true, false, true])
        // What comes in time is what calls get.
        #expect(offered([(2, 0), (1, 900), (2, 1500), (1, 1600)]) == [false, true, false, true])
    }

    /// Another size is another encoder, and nothing beside the pictures is lost.
    @Test func aSizeThatChangesIsFollowedAtAKeyframe() throws {
        let scratch = try Scratch()
        let sizes = [(160, 96), (96, 160), (320, 64)].map { PictureSize(width: $0, height: $1) }
        let stream = try TestStream.program(sizes.map { .init(frames: 10, size: $0, audioStreams: 1) })
        let report = try relay(stream, scratch)
        #expect(report.frames.emitted == 30)
        let output = try scratch.read("out.ts")
        let units = TestStream.units(in: output)
        #expect(units.map(\.isKeyframe).enumerated().filter(\.element).map(\.offset) == [0, 10, 20])
        #expect(zip(units.dropFirst(), units).allSatisfy { $0.presentation - $1.presentation == 3000 })
        #expect(TestStream.size(of: output) == sizes[2].scaled(by: 2))
        #expect(TestStream.passed(in: output).units == TestStream.passed(in: stream).units)
    }

    private func tool(_ arguments: [String]) throws -> (status: Int32, text: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }
}
