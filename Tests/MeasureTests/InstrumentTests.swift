import Container
import Endpoint
import Foundation
import Glibc
import Media
import Synchronization
import Testing
import Transport
@testable import Measure

private let now = WallTime(microseconds: 1_795_263_000_123_456)

@Suite(.timeLimit(.minutes(2))) struct InstrumentTests {
    /// Source and probe over SRT on this machine: every picture and every piece of audio comes, and in step.
    @Test(arguments: [true, false]) func everyFrameArrivesOverALoopback(writesPESLengths: Bool) throws {
        let source = try Source(try StreamURL("srt://127.0.0.1:0?mode=listener&latency=120"))
        let port = source.localPort
        let frames: Int64 = 40
        let sender = StageThread(name: "sender") {
            do {
                let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)?latency=120"))
                try sink.awaitConnection(until: .now() + .seconds(30))
                var configuration = TestSourceConfiguration()
                configuration.size = PictureSize(width: 320, height: 180)
                configuration.rate = Rational(50)
                configuration.frames = frames
                configuration.hasAudio = true
                configuration.writesPESLengths = writesPESLengths
                let report = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
                #expect(report.frames == frames && report.messagesUnconnected == 0 && report.messagesRefused == 0)
                sink.flush(until: .now() + .seconds(30))
            } catch {
                Issue.record(error)
            }
        }
        var seen: Int64 = 0
        let probe = try LiveProbe(
            source, statistics: ProbeStatistics(),
            each: {
                seen += 1
                // The test pattern's mean, as it is sent.
                #expect((90...150).contains($0.level), "\($0.level)")
            })
        let report = try probe.run(limit: nil, pictureTimeout: .seconds(30), stopped: { seen == frames })
        sender.join()
        #expect(report.received == 40 && report.unique == 40 && report.lost == 0 && report.outOfOrder == 0)
        #expect(report.width == 320 && report.height == 180)
        #expect(report.timestampSteps.least == 20 && report.timestampSteps.greatest == 20)
        let offset = try #require(report.audioOffset)
        #expect(offset.count > 20 && abs(offset.least) < 0.1 && abs(offset.greatest) < 0.1)
    }

    @Test(arguments: RawFormat.allCases) func rawPicturesGoThroughAPipe(format: RawFormat) throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (input, output) = (ends[0], ends[1])
        let size = PictureSize(width: 162, height: 91)
        let writer = StageThread(name: "writer") {
            do {
                let count = try RawTestSource.run(
                    descriptor: output, size: size, rate: Rational(100), frames: 20, format: format,
                    stopped: { false })
                #expect(count == 20)
            } catch {
                Issue.record(error)
            }
            close(output)
        }
        var statistics = ProbeStatistics()
        try RawProbe.run(
            descriptor: input, size: size, format: format, statistics: &statistics, limit: nil, stopped: { false },
            each: { _ in })
        writer.join()
        close(input)
        let report = statistics.report()
        #expect(report.received == 20 && report.unique == 20 && report.lost == 0)
    }

    @Test func aStopReachesAReaderThatWaits() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        var picture = RawVideo(descriptor: ends[0], size: PictureSize(width: 64, height: 64), format: .gray)
        var asked = 0
        let more = try picture.read {
            asked += 1
            return asked > 1
        }
        #expect(!more)
    }
}

@Suite struct AudioTrackTests {
    /// One frame after the other, as ADTS.
    private func frames(seconds: Int64, from start: WallTime) throws -> [(bytes: [UInt8], captured: WallTime)] {
        let track = try AudioTrack(from: start)
        var frames: [([UInt8], WallTime)] = []
        // In the small steps of a live source.
        for step in 1...seconds * 25 {
            try track.advance(to: start + step * 40_000) { frames.append((Array($0), $1)) }
        }
        return frames
    }

    @Test func framesCarryTheirCaptureTimes() throws {
        let frames = try frames(seconds: 1, from: now)
        for (bytes, captured) in frames {
            let code = bytes.withUnsafeBytes { AudioTrack.timeCode(in: $0, near: now) }
            #expect(code?.captured == captured)
            // The header tells the frame's length.
            #expect(Int(bytes[3] & 3) << 11 | Int(bytes[4]) << 3 | Int(bytes[5] >> 5) == bytes.count)
        }
        // 46.875 frames a second, and only whole ones.
        let times = frames.map(\.captured)
        #expect(times.count == 46 && times.first == now && times.last == now + 960_000)
    }

    /// The decoded sound is heard on the second, and only there.
    @Test func theBeepIsWhereTheLampIsLit() throws {
        let start = WallTime(microseconds: 1_795_263_000_700_000)
        let file = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString).aac")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(try frames(seconds: 3, from: start).flatMap(\.bytes)).write(to: file)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-v", "error", "-i", file.path, "-f", "f32le", "-"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let samples = bytes.withUnsafeBytes { $0.bindMemory(to: Float.self).map(abs) }
        #expect(samples.count > 2 * 48_000)
        // The loudest sample of each millisecond.
        let loudness = stride(from: 0, to: samples.count - 48, by: 48).map { samples[$0..<$0 + 48].max()! }
        let times = loudness.indices.map { ($0 + 700) % 1000 }
        // AAC smears a little over each edge.
        let missing = zip(times, loudness).filter { (5..<95).contains($0) && $1 < 0.15 }
        let misplaced = zip(times, loudness).filter { (130..<970).contains($0) && $1 > 0.05 }
        #expect(missing.isEmpty && misplaced.isEmpty, "milliseconds of the second \(missing), \(misplaced)")
    }

    @Test func otherBytesAreNoFrame() {
        var random = SplitMix64(seed: 9)
        for count in 0..<200 {
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            if count > 1 { (bytes[0], bytes[1]) = (0xFF, 0xF1) }
            bytes.withUnsafeBytes { #expect(AudioTrack.timeCode(in: $0, near: now) == nil) }
        }
    }
}

@Suite struct PESLengthEraserTests {
    @Test func onlyTheVideosLengthsGo() throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        let muxer = try TransportStreamMuxer(layout)
        var messages: [[UInt8]] = []
        let unit: [UInt8] = [0, 0, 0, 1, 9, 0xF0] + (0..<3000).map { UInt8($0 & 0x7F) | 1 }
        unit.withUnsafeBytes {
            muxer.writeVideo(
                $0, presentationTime: MediaTime(ticks: 9000), decodeTime: MediaTime(ticks: 9000), isKeyframe: true
            ) { messages.append(Array($0)) }
            muxer.writePassed(
                stream: 0, UnsafeRawBufferPointer(rebasing: $0[..<50]), presentationTime: MediaTime(ticks: 9000)
            ) { messages.append(Array($0)) }
        }
        let eraser = PESLengthEraser(pid: layout.videoPID)
        var changed: [Int] = []
        for message in messages {
            message.withUnsafeBytes { original in
                eraser.erase(in: original) { erased in
                    #expect(erased.count == original.count)
                    for i in 0..<original.count where original[i] != erased[i] {
                        #expect(erased[i] == 0)
                        changed.append(i % 188)
                    }
                }
            }
        }
        // The two bytes of one length field, side by side.
        #expect(changed.count == 2 && changed[1] == changed[0] + 1)
    }
}
