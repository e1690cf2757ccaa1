import Bitstream
import Media

@testable import Container

/// Keeps what a demultiplexer delivers, for comparison.
final class Harvest {
    struct Unit {
        var stream: Int
        var serial: Int
        var bytes: [UInt8]
        var header: [UInt8]
        var presentation: MediaTime?
        var decode: MediaTime?
        var firstArrival: Int64
        var lastArrival: Int64
        var damage: StreamUnit.Damage
        var evidence: EndEvidence
        var isKeyframe: Bool
        /// How many packets had been pushed when it came.
        var after: Int64

        var checksum: UInt32 { GoldenStream.checksum(bytes) }
    }

    var video: [Unit] = []
    var others: [Unit] = []
    var programs: [ProgramDescription] = []
    var multiplexes: [Multiplex?] = []
    /// Packets of other programs.
    var passed: [UInt8] = []
    var formats: [VideoParameters] = []
    var torn: [Int] = []
    /// What is missing or cannot be used, but for what ``counters`` alone tell.
    var faults: [ContainerFault] = []
    /// The streams whose counters are not believed.
    var wrongCounters: [Int] = []
    var believedSections = 0
    /// The events, counted.
    var counters = Counters()
    /// The time of the latest push.
    var now: Int64 = 0

    struct Counters {
        var skippedBytes = 0
        var syncLosses = 0
        var brokenPackets = 0
        var scrambledPackets = 0
        var duplicatePackets = 0
        var continuityGaps = 0
        var lostPackets = 0
        var sectionFaults = 0
        var oversizedUnits = 0
        var tornUnits = 0
        var orphanBytes = 0
        /// Units of the main video, by how their end was known.
        private var evidence: [EndEvidence: Int] = [:]
        /// From the demultiplexer itself.
        var packets = 0
        var unusedPackets = 0

        subscript(evidence: EndEvidence) -> Int { self.evidence[evidence] ?? 0 }

        mutating func count(_ unit: StreamUnit) { evidence[unit.evidence, default: 0] += 1 }

        mutating func count(_ fault: ContainerFault) {
            switch fault {
            case .unalignedBytes(let count):
                skippedBytes += count
                syncLosses += 1
            case .brokenPacket: brokenPackets += 1
            case .gap(let packets):
                continuityGaps += 1
                lostPackets += packets
            case .duplicatePacket: duplicatePackets += 1
            case .scrambledPacket: scrambledPackets += 1
            case .brokenSection: sectionFaults += 1
            case .brokenHeader, .wrongCounters, .believedSection: break
            case .orphanBytes(let count): orphanBytes += count
            case .oversizedUnit: oversizedUnits += 1
            case .tornUnit: tornUnits += 1
            }
        }
    }

    func add(_ event: ContainerEvent) {
        switch event {
        case .program(let program): programs.append(program)
        case .multiplex(let multiplex): multiplexes.append(multiplex)
        case .packets(let packets): unsafe passed.append(contentsOf: packets.bytes)
        case .format(let format): formats.append(format)
        case .fault(let fault, _):
            counters.count(fault)
            switch fault {
            case .tornUnit(let serial): torn.append(serial)
            case .unalignedBytes, .duplicatePacket, .brokenSection, .brokenHeader, .orphanBytes: break
            case .wrongCounters(let stream): wrongCounters.append(stream)
            case .believedSection: believedSections += 1
            case .brokenPacket, .gap, .scrambledPacket, .oversizedUnit: faults.append(fault)
            }
        case .unit(let unit):
            let kept = Unit(
                stream: unit.stream, serial: unit.serial, bytes: unsafe Array(unit.bytes),
                header: unsafe Array(unit.header), presentation: unit.presentation, decode: unit.decode,
                firstArrival: unit.firstArrival.nanoseconds,
                lastArrival: unit.lastArrival.nanoseconds, damage: unit.damage, evidence: unit.evidence,
                isKeyframe: unit.isKeyframe, after: now)
            if unit.isMainVideo {
                video.append(kept)
                counters.count(unit)
            } else {
                others.append(kept)
            }
        }
    }

    /// Pushes `bytes` in messages of `size` bytes, the time counting the packets before each.
    /// Without optimisation, a `joined()` collection takes a hundred times as long to copy as `flatMap { $0 }`.
    func push(_ bytes: some Collection<UInt8>, into demuxer: inout TransportStreamDemuxer, size: Int) {
        let all = Array(bytes)
        var at = 0
        while at < all.count {
            let end = min(at + size, all.count)
            now = Int64(at / 188)
            all[at..<end].withUnsafeBytes {
                unsafe demuxer.push($0, arrival: MonotonicTime(nanoseconds: now), sourceTime: nil, handler: add)
            }
            at = end
        }
    }

    /// All of `bytes`, to the end.
    static func of(
        _ bytes: some Collection<UInt8>, size: Int = 1316, unitLimit: Int = TransportStreamDemuxer.defaultUnitLimit
    ) -> (harvest: Harvest, counters: Counters, diagnosis: StreamDiagnosis) {
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer(unitLimit: unitLimit)
        harvest.push(bytes, into: &demuxer, size: size)
        demuxer.finish(handler: harvest.add)
        harvest.counters.packets = demuxer.packets
        harvest.counters.unusedPackets = demuxer.unusedPackets
        return (harvest, harvest.counters, demuxer.diagnosis)
    }
}

extension TransportStreamDemuxer {
    /// What has been learnt of the ends of the main video's units.
    var trust: EndOfUnitTrust { streams.lazy.compactMap { $0.video?.trust }.first ?? EndOfUnitTrust() }
}

extension EndOfUnitTrust {
    /// Signs that were followed by more of the same unit.
    var contradictions: Int { length.contradictions + stuffing.contradictions + flush.contradictions }
}
