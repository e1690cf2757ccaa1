import Bitstream
import Container
import Media
import Testing

@testable import Codec

/// AV1 in a transport stream. No program here writes it, so the test does (AOM, Carriage of AV1 in MPEG-2 TS).
@Suite struct AV1TransportTests {
    /// Gives each unit of a temporal unit a start code and prevents start codes inside.
    static func withStartCodes(_ unit: [UInt8], keepsSizes: Bool = true, dropsDelimiters: Bool = false) -> [UInt8] {
        var out: [UInt8] = []
        var at = 0
        while at < unit.count {
            let header = unit[at]
            let headerBytes = header & 4 != 0 ? 2 : 1
            var (size, place, sizeBytes) = (0, 0, 0)
            repeat {
                size |= Int(unit[at + headerBytes + sizeBytes] & 0x7F) << place
                place += 7
                sizeBytes += 1
            } while unit[at + headerBytes + sizeBytes - 1] & 0x80 != 0
            let end = at + headerBytes + sizeBytes + size
            var plain = Array(unit[at..<end])
            if !keepsSizes {
                plain.removeSubrange(headerBytes..<(headerBytes + sizeBytes))
                plain[0] &= ~2
            }
            if !(dropsDelimiters && header >> 3 & 15 == 2) {
                out += [0, 0, 1]
                var zeros = 0
                for byte in plain {
                    if zeros >= 2, byte <= 3 {
                        out.append(3)
                        zeros = 0
                    }
                    out.append(byte)
                    zeros = byte == 0 ? zeros + 1 : 0
                }
            }
            at = end
        }
        return out
    }

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
        let coded = golden.units.map { Self.withStartCodes($0, keepsSizes: isPlain, dropsDelimiters: !isPlain) }
        let stream = try multiplexed(coded)
        var units: [[UInt8]] = []
        var entries: [Int] = []
        var format: VideoParameters?
        var demuxer = TransportStreamDemuxer()
        let handler: TransportStreamDemuxer.Handler = { event in
            switch event {
            case .format(let new): format = new
            case .unit(let unit):
                if unit.isKeyframe { entries.append(units.count) }
                units.append(Array(unit.bytes))
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
                let coded = Self.withStartCodes(unit, keepsSizes: keepsSizes)
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
