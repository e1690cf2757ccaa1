import Bitstream
import CFFmpeg
import Foundation
import Media
import TestSupport
import Testing

@testable import Codec

/// Sound in several formats becomes Opus with its times: what a decoder hears of the packets is where the source had it.
@Suite struct SoundTranscoderTests {
    /// A unit of sound as a transport stream has it.
    struct Unit {
        var bytes: [UInt8]
        var time: MediaTime?
    }

    private struct Packet {
        var bytes: [UInt8]
        var time: MediaTime
    }

    private static let start = MediaTime(ticks: 900_000_001)

    /// A click of a few samples each quarter of a second, in silence.
    private static func click(_ sample: Int, _ rate: Int) -> Float {
        let place = sample % (rate / 4) - rate / 8
        return abs(place) < 8 * rate / 48_000 ? 0.9 : 0
    }

    /// Frames of AAC with one PES packet each. The encoder's delay is taken out of their times.
    private static func aac(seconds: Double, rate: Int, first: Int = 0) throws -> [Unit] {
        let encoder = try AudioEncoder(sampleRate: rate, bitRate: 128_000)
        let index = try #require(SoundFrame.aacSampleRates.firstIndex(of: rate))
        var units: [Unit] = []
        for frame in 0..<Int(seconds * Double(rate)) / 1024 {
            try encoder.encode {
                click(first + frame * 1024 + $0, rate)
            } emit: { block in
                let length = block.count + 7
                let header: [UInt8] = [
                    0xFF, 0xF1, UInt8(1 << 6 | index << 2), UInt8(1 << 6 | length >> 11), UInt8(length >> 3 & 0xFF),
                    UInt8((length & 7) << 5 | 0x1F), 0xFC,
                ]
                // The first frame that comes out is the one before the first samples.
                let sample = Int64(first + (units.count - 1) * 1024)
                units.append(Unit(bytes: header + block, time: start + sample * 90_000 / Int64(rate)))
            }
        }
        return units
    }

    private static func transcode(_ units: [Unit], _ codec: SoundCodec = .aacADTS) throws -> (
        packets: [Packet], outcomes: [SoundTranscoder.Outcome], gaps: Int
    ) {
        let transcoder = try SoundTranscoder(codec)
        var packets: [Packet] = []
        let outcomes = try units.map { unit in
            try unit.bytes.withUnsafeBytes { bytes in
                try transcoder.push(bytes, at: unit.time) { packets.append(Packet(bytes: Array($0), time: $1)) }
            }
        }
        return (packets, outcomes, transcoder.gaps)
    }

    /// Decodes packets of Opus, each where its time says. Times are in samples of 48 kHz from ``start`` on.
    private static func heard(_ packets: [Packet]) throws -> [Int: Float] {
        let decoder = try #require(avcodec_find_decoder_by_name("libopus"))
        var context: UnsafeMutablePointer<AVCodecContext>? = avcodec_alloc_context3(decoder)
        context!.pointee.sample_rate = 48_000
        av_channel_layout_default(&context!.pointee.ch_layout, 2)
        try #require(avcodec_open2(context, decoder, nil) == 0)
        var packet = av_packet_alloc()
        var frame = av_frame_alloc()
        defer {
            av_frame_free(&frame)
            av_packet_free(&packet)
            avcodec_free_context(&context)
        }
        var samples: [Int: Float] = [:]
        for each in packets {
            #expect(av_new_packet(packet, Int32(each.bytes.count)) == 0)
            each.bytes.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(start: packet!.pointee.data, count: $0.count).copyMemory(from: $0)
            }
            #expect(avcodec_send_packet(context, packet) == 0 && avcodec_receive_frame(context, frame) == 0)
            av_packet_unref(packet)
            #expect(frame!.pointee.nb_samples == 480)
            let first = Int((Double(each.time - start) * 48 / 90).rounded())
            let isFloat = frame!.pointee.format == AV_SAMPLE_FMT_FLT.rawValue
            let data = UnsafeRawPointer(frame!.pointee.data.0!)
            for n in 0..<480 {
                samples[first + n] =
                    isFloat
                    ? data.load(fromByteOffset: n * 8, as: Float.self)
                    : Float(data.load(fromByteOffset: n * 4, as: Int16.self)) / 32768
            }
        }
        return samples
    }

    /// The middles of the clicks that can be heard.
    private static func clicks(_ samples: [Int: Float]) -> [Double] {
        var middles: [Double] = []
        let loud = samples.filter { abs($0.value) > 0.15 }.keys.sorted()
        var at = 0
        while at < loud.count {
            var end = at
            while end + 1 < loud.count, loud[end + 1] - loud[at] < 200 { end += 1 }
            let weights = (at...end).map { Double(abs(samples[loud[$0]]!)) }
            let moment = zip(at...end, weights).reduce(0.0) { $0 + Double(loud[$1.0]) * $1.1 }
            middles.append(moment / weights.reduce(0, +))
            at = end + 1
        }
        return middles
    }

    /// Where the source has clicks, in samples of 48 kHz.
    private static func sourceClicks(_ range: Range<Double>) -> [Double] {
        (0..<100).map { Double($0) * 12_000 + 6_000 }.filter { range.contains($0 / 48_000) }
    }

    @Test(arguments: [48_000, 44_100, 32_000]) func aClickIsHeardWhereTheSourceHasIt(rate: Int) throws {
        let (packets, outcomes, gaps) = try Self.transcode(try Self.aac(seconds: 2.2, rate: rate))
        #expect(gaps == 0 && outcomes.allSatisfy { $0 == .transcoded })
        // Each follows the one before, to the tick.
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.time - $0.time == 900 })
        #expect(packets.count > 200)
        let heard = Self.clicks(try Self.heard(packets))
        let expected = Self.sourceClicks(0..<2.05)
        #expect(heard.count >= expected.count, "\(heard)")
        for (a, b) in zip(heard, expected) { #expect(abs(a - b) < 1.5, "\(rate): \(heard)") }
    }

    /// Frames that are missing leave a gap, and what follows is where it was.
    @Test(arguments: [1, 5, 40]) func aGapStaysAGap(missing: Int) throws {
        var units = try Self.aac(seconds: 3, rate: 48_000)
        units.removeSubrange(30..<30 + missing)
        let (packets, outcomes, gaps) = try Self.transcode(units)
        #expect(gaps == 1 && outcomes.allSatisfy { $0 == .transcoded })
        let steps = zip(packets, packets.dropFirst()).map { $1.time - $0.time }
        // The packet before the gap was filled up with silence, so less than a packet of the gap is filled.
        let gap = Int64(missing) * 1920
        #expect(steps.filter { $0 != 900 }.count == 1 && steps.max()! <= gap + 900 && steps.max()! > gap - 900, "\(steps)")
        let resumed = Double(30 + missing) * 1024 / 48_000 + 0.05
        let heard = Self.clicks(try Self.heard(packets)).filter { $0 / 48_000 > resumed }
        let expected = Self.sourceClicks(resumed..<2.9)
        for (a, b) in zip(heard, expected) { #expect(abs(a - b) < 1.5, "\(heard)") }
        #expect(heard.count >= expected.count && !expected.isEmpty)
    }

    /// A frame that cannot be decoded is a gap, too; so is one that is cut off.
    @Test func brokenFramesAreCountedAndLeaveAGap() throws {
        var units = try Self.aac(seconds: 1.5, rate: 48_000)
        for n in 7..<units[20].bytes.count { units[20].bytes[n] = UInt8(truncatingIfNeeded: n &* 167) | 0xE0 }
        units[40].bytes.removeLast(units[40].bytes.count / 2)
        units[50].bytes = [1, 2, 3]
        let (packets, outcomes, gaps) = try Self.transcode(units)
        #expect(outcomes.count { $0 == .broken } >= 1 && gaps >= 1)
        #expect(
            outcomes.indices.filter { outcomes[$0] != .transcoded }.allSatisfy { [20, 40, 41, 50, 51].contains($0) },
            "\(outcomes)")
        #expect(packets.allSatisfy { !$0.bytes.isEmpty })
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.time - $0.time >= 900 })
        #expect(packets.last!.time - Self.start > 90_000)
    }

    /// The source changes its rate in mid-stream: the packets follow each other, and the clicks stay where they are.
    @Test func anotherSampleRateIsFollowed() throws {
        let first = try Self.aac(seconds: 1, rate: 48_000)
        let end = Double(first.last!.time! - Self.start) / 90_000 + 1024.0 / 48_000
        var second = try Self.aac(seconds: 1.5, rate: 44_100)
        // The first frame of the other rate is where the last one ended; the frame of an encoder's beginning is left out.
        let offset = Int64((end * 90_000).rounded()) - (second[1].time! - Self.start)
        second.removeFirst()
        for n in second.indices { second[n].time = second[n].time! + offset }
        let (packets, outcomes, gaps) = try Self.transcode(first + second)
        #expect(gaps == 0 && outcomes.allSatisfy { $0 == .transcoded })
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.time - $0.time == 900 })
        let heard = Self.clicks(try Self.heard(packets))
        let moved = Self.sourceClicks(0..<1.4).map { $0 + Double(offset) * 48 / 90 }
        for expected in Self.sourceClicks(0..<end - 0.1) + moved.filter({ $0 / 48_000 > end + 0.05 }) {
            #expect(heard.contains { abs($0 - expected) < 2 }, "\(expected): \(heard)")
        }
    }

    /// The same sound twice: the second copy has no place.
    @Test func whatComesTwiceIsHeardOnce() throws {
        let units = try Self.aac(seconds: 1, rate: 48_000)
        let (packets, outcomes, gaps) = try Self.transcode(units.flatMap { [$0, $0] })
        #expect(outcomes.count { $0 == .late } == units.count && gaps == 0)
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.time - $0.time == 900 })
    }

    /// Without a time nobody knows where it belongs; behind a timed unit it follows.
    @Test func unitsWithoutTimesFollow() throws {
        var units = try Self.aac(seconds: 1, rate: 48_000)
        for n in units.indices where n % 4 != 2 { units[n].time = nil }
        let (packets, outcomes, gaps) = try Self.transcode(units)
        #expect(outcomes.prefix(3) == [.late, .late, .transcoded] && gaps == 0)
        #expect(outcomes.dropFirst(2).allSatisfy { $0 == .transcoded })
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.time - $0.time == 900 })
        #expect(packets[0].time == Self.start + 1695)
    }

    /// Other formats, other channels, and units that hold several frames or parts of frames, as FFmpeg makes them.
    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["BURNISH_NO_FOREIGN"] == nil
                && (try? runTool(["ffmpeg", "-version"])) != nil,
            "BURNISH_NO_FOREIGN is set, or no ffmpeg on the PATH"),
        arguments: [
            ("mp2", ["-c:a", "mp2", "-ac", "1"], SoundCodec.mpegAudio),
            ("ac3", ["-c:a", "ac3", "-ac", "6"], .ac3), ("eac3", ["-c:a", "eac3"], .eac3),
            ("aac", ["-c:a", "aac", "-ac", "1", "-f", "adts"], .aacADTS),
            ("latm", ["-c:a", "aac", "-f", "latm"], .aacLATM),
        ])
    func otherFormatsAreTranscoded(name: String, options: [String], codec: SoundCodec) throws {
        let format = options.contains("-f") ? [] : ["-f", name]
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2"]
            + options + format + ["-"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let bytes = Array(pipe.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        try #require(process.terminationStatus == 0 && bytes.count > 4_000)
        // Units that begin and end anywhere.
        let units = stride(from: 0, to: bytes.count, by: 700).map {
            Unit(bytes: Array(bytes[$0..<min($0 + 700, bytes.count)]), time: $0 == 0 ? Self.start : nil)
        }
        let (packets, outcomes, gaps) = try Self.transcode(units, codec)
        #expect(gaps == 0 && outcomes.allSatisfy { $0 == .transcoded }, "\(outcomes)")
        // A frame or two may wait for what follows.
        #expect(packets.count > 180 && packets.count < 215, "\(packets.count)")
        let heard = try Self.heard(packets)
        let power = heard.filter { $0.key > 24_000 && $0.key < 72_000 }.values.reduce(0.0) { $0 + Double($1 * $1) } / 48_000
        #expect(power > 0.001, "\(power)")
    }
}
