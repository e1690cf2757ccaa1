import Container
import Foundation
import Media
import TestStreams
import Testing
import Transport
@testable import Relay

/// What is missing or useless in an input that does not tell of its own losses: a file stands for UDP and pipes too.
@Suite(.timeLimit(.minutes(10))) struct InputLossTests {
    /// Where the packets of the video are, counted in packets.
    private func videoPackets(of stream: [UInt8]) -> [Int] {
        (0..<stream.count / 188).filter {
            let at = $0 * 188
            return Int(stream[at + 1] & 0x1F) << 8 | Int(stream[at + 2]) == TransportStreamLayout().videoPID
                && stream[at + 3] & 0x10 != 0
        }
    }

    @Test func packetsThatAreMissingAreCounted() throws {
        var stream = try TestStream.video(frames: 20)
        let video = videoPackets(of: stream)
        for packet in [video[10], video[30], video[31], video[50]].reversed() {
            stream.removeSubrange(packet * 188..<packet * 188 + 188)
        }
        let report = try relay(stream, try Scratch())
        #expect(report.counters["input_gaps"] == 3 && report.counters["input_packets_lost"] == 4)
        #expect((report.counters["pictures_damaged"] ?? 0) > 0)
        #expect(report.text.contains("not received: input gaps 3, input packets lost 4"), "\(report.text)")
    }

    @Test func brokenAndScrambledPacketsAreCounted() throws {
        var stream = try TestStream.video(frames: 20)
        let video = videoPackets(of: stream)
        stream[video[20] * 188 + 1] |= 0x80
        stream[video[40] * 188 + 3] |= 0x80
        let report = try relay(stream, try Scratch())
        #expect(report.counters["input_packets_broken"] == 1 && report.counters["input_packets_scrambled"] == 1)
        // What is broken is as good as missing.
        #expect(report.counters["input_packets_lost"] == 1)
    }

    /// Programs that are not relayed, and tables such as the services' names.
    @Test func packetsOfOtherProgramsAreCounted() throws {
        let stream = try TestStream.video(frames: 20)
        var other: [UInt8] = []
        for index: UInt8 in 0..<37 {
            other += [0x47, 0x02, 0x10, 0x10 | index & 15]
            other += [UInt8](repeating: index, count: 184)
        }
        var mixed = stream
        mixed.insert(contentsOf: other, at: 188 * 10)
        let report = try relay(mixed, try Scratch())
        #expect(report.counters["input_packets_unused"] == 37 && report.frames.emitted == 20)
        #expect(report.counters["input_gaps"] == nil)
    }

    @Test func scrambledVideoIsCalledSo() throws {
        var stream = try TestStream.video(frames: 20)
        for packet in videoPackets(of: stream) { stream[packet * 188 + 3] |= 0xC0 }
        let failure = try #require(throws: RelayFailure.self) { _ = try relay(stream, try Scratch()) }
        #expect("\(failure)".contains("scrambled; send it in the clear"), "\(failure)")
        #expect((failure.report?.counters["input_packets_scrambled"] ?? 0) > 20)
    }

    @Test func aPictureThatIsTooLargeIsAFrameAllTheSame() throws {
        let muxer = try TransportStreamMuxer()
        var large: [UInt8] = [0, 0, 0, 1, 9, 0xF0, 0, 0, 0, 1, 0x41, 0x9A]
        large += [UInt8](repeating: 0x55, count: TransportStreamDemuxer.defaultUnitLimit)
        var stream = try TestStream.video(frames: 4)
        let time = MediaTime(ticks: 900_000 + 4 * 3000)
        large.withUnsafeBytes {
            muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: false) {
                stream.append(contentsOf: $0)
            }
        }
        stream += try TestStream.video(frames: 4, start: 10 + 5.0 / 30)
        let report = try relay(stream, try Scratch())
        #expect(report.counters["input_units_oversized"] == 1)
        #expect(report.frames.originals == 9 && report.frames.emitted == 8, "\(report.frames)")
        #expect(report.frames.droppedByReason == ["decode_error": 1])
    }
}
