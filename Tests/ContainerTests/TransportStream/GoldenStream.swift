import Bitstream
import Foundation
import Media

@testable import Container

/// A transport stream that another program made, and libavformat's view of its main video (tools/make/golden-streams).
struct GoldenStream {
    struct Reference: Equatable {
        var decode: Int64
        var presentation: Int64
        var size: Int
        var checksum: UInt32
    }

    let bytes: [UInt8]
    let units: [Reference]

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "GoldenStreams")

    init(_ name: String) throws {
        bytes = try Array(Data(contentsOf: Self.folder.appending(path: name + ".ts")))
        let text = (try? String(contentsOf: Self.folder.appending(path: name + ".ref"), encoding: .utf8)) ?? ""
        units = text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return Reference(
                decode: Int64(words[0])!, presentation: Int64(words[1])!, size: Int(words[2])!,
                checksum: UInt32(words[3].dropFirst(2), radix: 16)!)
        }
    }

    var packets: [[UInt8]] { stride(from: 0, to: bytes.count, by: 188).map { Array(bytes[$0..<($0 + 188)]) } }

    /// Adler-32 as framecrc writes it: begun at 0.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var (a, b): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            a = (a + UInt32(byte)) % 65521
            b = (b + a) % 65521
        }
        return b << 16 | a
    }
}

/// Keeps what a demuxer gives, for comparison.
final class Harvest {
    struct Unit {
        var stream: Int
        var serial: Int
        var bytes: [UInt8]
        var presentation: MediaTime?
        var decode: MediaTime?
        var firstArrival: Int64
        var lastArrival: Int64
        var randomAccess: StreamUnit.RandomAccess
        var isDiscontinuity: Bool
        var damage: StreamUnit.Damage
        var evidence: EndEvidence
        /// How many packets had been pushed when it came.
        var after: Int64

        var checksum: UInt32 { GoldenStream.checksum(bytes) }
    }

    var video: [Unit] = []
    var others: [Unit] = []
    var programs: [ProgramDescription] = []
    var formats: [SequenceParameterSet] = []
    var torn: [Int] = []
    var faults: [StreamFault] = []
    /// The time of the latest push.
    var now: Int64 = 0

    func take(_ event: TransportStreamEvent) {
        switch event {
        case .program(let program): programs.append(program)
        case .format(let format): formats.append(format)
        case .torn(let serial): torn.append(serial)
        case .fault(let fault, _): faults.append(fault)
        case .unit(let unit):
            let kept = Unit(
                stream: unit.stream, serial: unit.serial, bytes: unsafe Array(unit.bytes),
                presentation: unit.presentation, decode: unit.decode, firstArrival: unit.firstArrival.nanoseconds,
                lastArrival: unit.lastArrival.nanoseconds, randomAccess: unit.randomAccess,
                isDiscontinuity: unit.isDiscontinuity, damage: unit.damage, evidence: unit.evidence, after: now)
            if unit.isMainVideo { video.append(kept) } else { others.append(kept) }
        }
    }

    /// Pushes `bytes` in messages of `size` bytes, the time counting the packets before each.
    func push(_ bytes: some Collection<UInt8>, into demuxer: inout TransportStreamDemuxer, size: Int) {
        let all = Array(bytes)
        var at = 0
        while at < all.count {
            let end = min(at + size, all.count)
            now = Int64(at / 188)
            all[at..<end].withUnsafeBytes {
                unsafe demuxer.push($0, arrival: MonotonicTime(nanoseconds: now), sourceTime: nil, handler: take)
            }
            at = end
        }
    }

    /// All of `bytes`, to the end.
    static func of(
        _ bytes: some Collection<UInt8>, size: Int = 1316, options: TransportStreamDemuxer.Options = .init()
    ) -> (harvest: Harvest, counters: TransportStreamCounters, diagnosis: StreamDiagnosis) {
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer(options: options)
        harvest.push(bytes, into: &demuxer, size: size)
        demuxer.finish(handler: harvest.take)
        return (harvest, demuxer.counters, demuxer.diagnosis)
    }
}
