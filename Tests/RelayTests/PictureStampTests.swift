import Container
import Foundation
import Media
import Telemetry
import TestStreams
import Testing
@testable import Relay

/// Pictures without a time stamp of their own: all but the first of a PES packet (ISO/IEC 13818-1, 2.4.3.7).
@Suite(.timeLimit(.minutes(10))) struct PictureStampTests {
    private func ticks(_ times: [(Int64?, Int64?)], rate: Rational?, gap: Int? = nil) -> [Int64] {
        var stamps = PictureStamps()
        return times.enumerated().map { index, time in
            stamps.stamp(
                time.0.map { MediaTime(ticks: $0) }, decode: time.1.map { MediaTime(ticks: $0) },
                isAfterGap: index == gap, rate: rate
            ).presentation.ticks
        }
    }

    @Test func theHeadersTellTheFirstStepsAndTheStampsThoseAfter() {
        let sent: [(Int64?, Int64?)] = [(0, nil), (nil, nil), (nil, nil), (5_400, nil), (nil, nil), (nil, nil), (10_800, nil)]
        #expect(ticks(sent, rate: Rational(50)) == [0, 1_800, 3_600, 5_400, 7_200, 9_000, 10_800])
        // Without headers, or with wrong ones, only those of the first packet are a guess.
        #expect(ticks(sent, rate: nil) == [0, 3_000, 6_000, 5_400, 7_800, 9_600, 10_800])
        #expect(ticks(sent, rate: Rational(25)).dropFirst(6) == [10_800])
    }

    @Test func whatIsMissingTeachesNothing() {
        let sent: [(Int64?, Int64?)] = [(0, nil), (nil, nil), (3_600, nil), (nil, nil), (90_000, nil), (nil, nil)]
        #expect(ticks(sent, rate: nil, gap: 4) == [0, 3_000, 3_600, 5_400, 90_000, 91_800])
    }

    @Test func aClockThatGoesBackIsTakenUp() {
        let sent: [(Int64?, Int64?)] = [(9_000_000, nil), (9_003_000, nil), (500, nil), (nil, nil)]
        #expect(ticks(sent, rate: nil) == [9_000_000, 9_003_000, 500, 3_500])
    }

    /// The same stream with a stamp for every picture and with one for three or four of them comes out alike, in the order
    /// that it is shown in.
    @Test(arguments: ["ffmpeg", "ffmpeg-bframes"], [3, 4]) func severalPicturesInAPacketKeepTheirTimes(
        name: String, together: Int
    ) throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "GoldenStreams/\(name).ts")
        let stream = try Data(contentsOf: golden)
        var units: [(bytes: [UInt8], presentation: MediaTime, decode: MediaTime, isKeyframe: Bool)] = []
        func receive(_ event: ContainerEvent) {
            guard case .unit(let unit) = event, unit.isMainVideo, let time = unit.presentation else { return }
            units.append((Array(unit.bytes), time, unit.decode ?? time, unit.isKeyframe))
        }
        var demuxer = TransportStreamDemuxer()
        stream.withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        func packed(by count: Int) throws -> [MediaTime] {
            let muxer = try TransportStreamMuxer()
            var packed: [UInt8] = []
            for start in stride(from: 0, to: units.count, by: count) {
                let part = units[start..<min(units.count, start + count)]
                part.flatMap(\.bytes).withUnsafeBytes {
                    muxer.writeVideo(
                        $0, presentationTime: units[start].presentation, decodeTime: units[start].decode,
                        isKeyframe: part.contains(where: \.isKeyframe)
                    ) { packed.append(contentsOf: $0) }
                }
            }
            let scratch = try Scratch()
            let report = try relay(packed, scratch)
            #expect(report.frames.originals == UInt64(units.count) && report.frames.dropped == 0, "\(report.frames)")
            return TestStream.units(in: try scratch.read("out.ts")).map(\.presentation)
        }
        let expected = try packed(by: 1)
        #expect(expected.count == units.count)
        #expect(try packed(by: together) == expected)
    }
}
