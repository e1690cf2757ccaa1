import Bitstream
import Container
import Media
import TestSupport
import Testing

@testable import Codec

/// AV1 in a transport stream. No program here writes it, so the test does (AOM, Carriage of AV1 in MPEG-2 TS).
@Suite struct AV1TransportTests {
    private func multiplexed(_ units: [[UInt8]]) throws -> [UInt8] {
        var layout = TransportStreamLayout()
        layout.video = .init(streamType: 0x06, descriptors: [0x05, 4] + Array("AV01".utf8) + [0x80, 4, 0x81, 0, 0x0C, 0])
        let muxer = try TransportStreamMuxer(layout)
        var stream: [UInt8] = []
        for (index, unit) in units.enumerated() {
            let time = MediaTime(ticks: 90_000 + Int64(index) * 3000)
            unit.withUnsafeBytes {
                muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: false) { stream += Array($0) }
            }
        }
        return stream
    }

    @Test(arguments: ["av1.ivf", "av1-hidden.ivf"], [true, false])
    func everyUnitComesOutAndIsDecoded(name: String, isPlain: Bool) throws {
        let golden = try GoldenUnits(name)
        let coded = golden.units.map { AV1Stream.withStartCodes($0, keepsSizes: isPlain, dropsDelimiters: !isPlain) }
        let stream = try multiplexed(coded)
        var units: [[UInt8]] = []
        var times: [Int64?] = []
        var entries: [Int] = []
        var format: VideoParameters?
        var demuxer = TransportStreamDemuxer()
        let handler: TransportStreamDemuxer.Handler = { event in
            switch event {
            case .format(let new): format = new
            case .unit(let unit):
                if unit.isKeyframe { entries.append(units.count) }
                units.append(Array(unit.bytes))
                times.append(unit.presentation?.ticks)
                #expect(unit.codec == .av1 && unit.damage.isEmpty)
            default: break
            }
        }
        stride(from: 0, to: stream.count, by: 1316).forEach { at in
            stream[at..<min(at + 1316, stream.count)].withUnsafeBytes {
                demuxer.push($0, arrival: MonotonicTime(nanoseconds: Int64(at)), sourceTime: nil, handler: handler)
            }
        }
        #expect(!demuxer.parameterSets.isEmpty)
        demuxer.finish(handler: handler)
        #expect(units == coded)
        // Also a unit of a few bytes, which shows a stored frame, has its own.
        let expectedTimes: [Int64?] = coded.indices.map { 90_000 + Int64($0) * 3_000 }
        #expect(times == expectedTimes)
        #expect(format?.size == PictureSize(width: 128, height: 96) && format?.codec == .av1 && format?.reordering == 0)
        #expect(entries == (name == "av1.ivf" ? [0, 15] : [0, 12]))

        let outcome = try FormatTests.decode(units, .av1)
        let expected = try FormatTests.decode(golden.units, .av1)
        #expect(outcome.pictures.map(\.luma) == expected.pictures.map(\.luma) && outcome.faults.isEmpty)
        #expect(outcome.pictures.map(\.quantiser) == expected.pictures.map(\.quantiser))
    }

    @Test func startCodesAreRemovedExactly() throws {
        let golden = try GoldenUnits("av1.ivf")
        // A unit with bytes that look like start codes.
        let hostile: [UInt8] = [0x2A, 9, 0, 0, 1, 0, 0, 3, 0, 0, 0]
        for unit in golden.units + [hostile] {
            for keepsSizes in [true, false] {
                let coded = AV1Stream.withStartCodes(unit, keepsSizes: keepsSizes)
                #expect(!coded.dropFirst(3).elementsEqual(unit) && AV1TransportTests.isUsed(coded))
                var plain: [UInt8] = [1, 2, 3]
                coded.withUnsafeBytes { AV1StartCodes.remove(from: $0, into: &plain) }
                #expect(plain == unit)
            }
            #expect(!AV1TransportTests.isUsed(unit))
        }
    }

    private static func isUsed(_ unit: [UInt8]) -> Bool { unit.withUnsafeBytes { AV1StartCodes.isUsed(in: $0) } }
}
