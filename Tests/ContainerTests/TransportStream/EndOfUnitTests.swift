import Media
import TestSupport
import Testing

@testable import Container

/// Which signs of a unit's end are trusted, and what happens when a stream misleads.
@Suite struct EndOfUnitTests {
    /// `count` units, one PES each; sizes vary so that some fill their last packet.
    static func plain(
        _ count: Int, bounded: Bool = false, slices: Int = 1, exact: Bool = false, sizes: ClosedRange<Int> = 500...1500,
        into stream: inout SyntheticStream, from start: Int = 0, _ random: inout SplitMix64
    ) -> [[UInt8]] {
        (start..<(start + count)).map { k in
            let size = exact ? 184 * 4 - 14 : Int.random(in: sizes, using: &random)
            let unit = SyntheticPicture.unit(size: size, isKey: k % 30 == 0, slices: slices, &random)
            stream.addPES(unit, pts: 90_000 + Int64(k) * 3000, bounded: bounded)
            return unit
        }
    }

    static func expectExact(_ harvest: Harvest, _ units: [[UInt8]]) {
        #expect(harvest.video.map(\.bytes) == units)
        #expect(harvest.torn.isEmpty)
    }

    @Test func stuffingIsTrustedAfterItsProbation() {
        var random = SplitMix64(seed: 1)
        var stream = SyntheticStream()
        let units = Self.plain(100, into: &stream, &random)
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        #expect(harvest.video.prefix(20).allSatisfy { $0.evidence == .nextStart })
        #expect(counters[.stuffing] > 65)
        #expect(harvest.video.filter { $0.evidence == .stuffing }.allSatisfy { $0.after == $0.lastArrival })
    }

    @Test func lengthIsTrustedAfterThreeUnits() {
        var random = SplitMix64(seed: 2)
        var stream = SyntheticStream()
        let units = Self.plain(40, bounded: true, into: &stream, &random)
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        #expect(counters[.length] == 37 && counters[.nextStart] == 3)
    }

    @Test func exactlyFilledPacketsWaitForTheNextStart() {
        var random = SplitMix64(seed: 3)
        var stream = SyntheticStream()
        var units = Self.plain(60, into: &stream, &random)
        units += Self.plain(20, exact: true, into: &stream, from: 60, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        #expect(harvest.video[60..<79].allSatisfy { $0.evidence == .nextStart })
    }

    @Test func stuffingInTheMiddleIsNeverTrusted() {
        var random = SplitMix64(seed: 4)
        var stream = SyntheticStream()
        let units = (0..<200).map { k in
            let unit = SyntheticPicture.unit(size: 900, isKey: k % 30 == 0, &random)
            // Every tenth unit has a stuffed packet inside.
            stream.addPES(unit, pts: Int64(k) * 3000, parts: k % 10 == 0 ? [184, 100, 184] : [])
            return unit
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        #expect(counters[.stuffing] == 0)
    }

    /// The worst case: a stream that behaves for long, then stuffs the middle of one picture's only slice.
    @Test func aMisleadingStreamIsFoundOutOnce() {
        var random = SplitMix64(seed: 5)
        var stream = SyntheticStream()
        var units = Self.plain(80, into: &stream, &random)
        let misleading = SyntheticPicture.unit(size: 900, &random)
        stream.addPES(misleading, pts: 90_000 + 80 * 3000, parts: [184, 100])
        units.append(misleading)
        units += Self.plain(60, into: &stream, from: 81, &random)
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        #expect(harvest.torn == [80] && counters.tornUnits == 1)
        #expect(harvest.video.count == units.count)
        for (k, unit) in harvest.video.enumerated() where k != 80 { #expect(unit.bytes == units[k]) }
        // Everything up to the next keyframe (90) depends on the torn picture. No sign is trusted afterwards.
        #expect(harvest.video[81..<90].allSatisfy { $0.damage == .followsTorn })
        #expect(harvest.video[90...].allSatisfy { !$0.damage.contains(.followsTorn) })
        #expect(harvest.video[81..<140].allSatisfy { $0.evidence == .nextStart })
    }

    @Test func aContradictionInTheSameMessageTearsNothing() {
        var random = SplitMix64(seed: 6)
        var stream = SyntheticStream()
        var units = Self.plain(80, into: &stream, &random)
        let before = stream.packets.count
        let misleading = SyntheticPicture.unit(size: 900, &random)
        stream.addPES(misleading, pts: 90_000 + 80 * 3000, parts: [184, 100])
        units.append(misleading)
        let after = stream.packets.count
        units += Self.plain(20, into: &stream, from: 81, &random)
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        harvest.push(stream.packets[..<before].flatMap { $0 }, into: &demuxer, size: 188)
        harvest.push(stream.packets[before..<after].flatMap { $0 }, into: &demuxer, size: 7 * 188)
        harvest.push(stream.packets[after...].flatMap { $0 }, into: &demuxer, size: 188)
        demuxer.finish(handler: harvest.add)
        Self.expectExact(harvest, units)
    }

    /// A muxer that begins to flush each slice: the picture's slicing tells that some are missing.
    @Test func aPictureWithoutItsUsualSlicesIsNotDelivered() {
        var random = SplitMix64(seed: 7)
        var stream = SyntheticStream()
        var units = Self.plain(80, slices: 4, into: &stream, &random)
        for k in 80..<100 {
            let unit = SyntheticPicture.unit(size: 1200, slices: 4, &random)
            stream.addPES(unit, pts: 90_000 + Int64(k) * 3000, parts: [184, 130, 184, 122])
            units.append(unit)
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
    }

    @Test func severalPESPacketsToAUnit() {
        var random = SplitMix64(seed: 8)
        var stream = SyntheticStream()
        let units = (0..<60).map { k in
            let slices = (0..<3).map { SyntheticPicture.slice(400, firstMacroblock: $0 * 16, &random) }
            let head = SyntheticPicture.delimiter + slices[0]
            stream.addPES(head, pts: Int64(k) * 3000, bounded: true)
            stream.addPES(slices[1], pts: nil, bounded: true)
            // Cut in the middle of a slice, too.
            stream.addPES(Array(slices[2][..<200]), pts: nil, bounded: true)
            stream.addPES(Array(slices[2][200...]), pts: nil, bounded: true)
            return head + slices[1] + slices[2]
        }
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        #expect(harvest.video.map { $0.presentation?.ticks } == (0..<60).map { Int64($0) * 3000 })
    }

    @Test(arguments: [true, false]) func severalUnitsToAPESPacket(bounded: Bool) {
        var random = SplitMix64(seed: 9)
        var stream = SyntheticStream()
        var units: [[UInt8]] = []
        for k in 0..<40 {
            let three = [0, 1, 2].map { _ in SyntheticPicture.unit(size: 300, &random) }
            stream.addPES(three.flatMap { $0 }, pts: Int64(k) * 9000, bounded: bounded)
            units += three
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        #expect(counters[.delimiter] == 80)
        for (k, unit) in harvest.video.enumerated() {
            #expect(unit.presentation?.ticks == (k % 3 == 0 ? Int64(k / 3) * 9000 : nil))
        }
    }

    /// A unit too large for a PES length, continued in a second PES packet, after a long time of small ones.
    /// Each field in a PES packet of its own, behind frames whose lengths were right: a field ends no unit, and its length
    /// contradicts nothing.
    @Test(arguments: [true, false]) func eachFieldInAPacketOfItsOwn(isMPEG2: Bool) {
        var stream = SyntheticStream(tables: false)
        stream.addTables(streams: [(SyntheticStream.videoID, isMPEG2 ? 0x02 : 0x1B, [])])
        var units: [[UInt8]] = []
        for picture in 0..<40 {
            let time = 90_000 + Int64(picture) * 3_600
            let sets: [UInt8] =
                if picture > 0 { [] } else {
                    isMPEG2 ? MPEG2Stream.sequence(isProgressive: false) : H264Stream.parameterSets(isProgressive: false)
                }
            func coded(_ isBottom: Bool?) -> [UInt8] {
                guard isMPEG2 else {
                    return H264Stream.slice(
                        frame: picture & 15, isRefresh: picture == 0, isBottom: isBottom, isFrame: isBottom == nil)
                }
                let structure = isBottom.map { $0 ? 2 : 1 } ?? 3
                return MPEG2Stream.picture(place: picture, kind: picture == 0 ? 1 : 2, structure: structure)
            }
            let parts = picture < 10 ? [sets + coded(nil)] : [coded(false), coded(true)]
            for (place, part) in parts.enumerated() { stream.addPES(part, pts: place == 0 ? time : nil, bounded: true) }
            units.append(parts.flatMap { $0 })
        }
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        let times: [MediaTime?] = (0..<40).map { MediaTime(ticks: 90_000 + Int64($0) * 3_600) }
        #expect(harvest.video.map(\.presentation) == times)
        #expect(counters[.length] == 37 && counters[.nextStart] == 3)
    }

    @Test func aLengthNearItsLimitIsNotAnEnd() {
        var random = SplitMix64(seed: 10)
        var stream = SyntheticStream()
        var units = Self.plain(20, bounded: true, into: &stream, &random)
        let large = SyntheticPicture.unit(size: 100_000, isKey: true, &random)
        stream.addPES(Array(large[..<65_500]), pts: 90_000 + 20 * 3000, bounded: true)
        stream.addPES(Array(large[65_500...]), pts: nil, bounded: true)
        units.append(large)
        units += Self.plain(10, bounded: true, into: &stream, from: 21, &random)
        let (harvest, _, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
    }

    /// GStreamer's habits: lengths, except for large units, and now and then stuffing in the middle.
    @Test func stuffingMeansNothingInAStreamWithLengths() {
        var random = SplitMix64(seed: 14)
        var stream = SyntheticStream()
        var units = Self.plain(60, bounded: true, into: &stream, &random)
        let large = SyntheticPicture.unit(size: 80_000, isKey: true, &random)
        stream.addPES(large, pts: 90_000 + 60 * 3000, parts: [184, 182])
        units.append(large)
        units += Self.plain(10, bounded: true, into: &stream, from: 61, &random)
        let (harvest, counters, _) = Harvest.of(stream.bytes, size: 188)
        Self.expectExact(harvest, units)
        #expect(counters[.length] == 67 && counters[.stuffing] == 0)
    }

    /// A sender that flushes a short message after each unit, and units that fill their last packet.
    private struct FlushingSender: ~Copyable {
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        var stream = SyntheticStream()
        var units: [[UInt8]] = []
        var random = SplitMix64(seed: 11)

        init() { push(stream.packets, at: 0) }

        mutating func push(_ packets: some Sequence<[UInt8]>, at time: Int64) {
            harvest.now = time
            packets.flatMap { $0 }.withUnsafeBytes {
                unsafe demuxer.push(
                    $0, arrival: MonotonicTime(nanoseconds: time), sourceTime: nil, handler: harvest.add)
            }
        }

        /// Sends a unit in messages of these many packets.
        /// - Returns: when the last of them was sent.
        mutating func send(_ messages: [Int]) -> Int64 {
            let (index, count) = (units.count, messages.reduce(0, +))
            let unit = SyntheticPicture.unit(size: 184 * count - 14, isKey: index == 0, &random)
            units.append(unit)
            stream.packets = []
            stream.addPES(unit, pts: Int64(index) * 3000)
            var (at, time) = (0, Int64(index) * 33_000_000)
            for message in messages {
                push(stream.packets[at..<at + message], at: time)
                at += message
                time += 100_000
            }
            return time - 100_000
        }
    }

    @Test func aFlushedMessageEndsAUnitAfterSilenceAndThenAtOnce() {
        var sender = FlushingSender()
        for k in 0..<120 {
            let sent = sender.send([7, 2])
            if let timer = sender.demuxer.nextTimer {
                #expect(timer > MonotonicTime(nanoseconds: sent))
                sender.demuxer.timeout(timer - Nanoseconds(1), handler: sender.harvest.add)
                #expect(sender.harvest.video.count == k)
                sender.demuxer.timeout(timer, handler: sender.harvest.add)
                #expect(timer < MonotonicTime(nanoseconds: sent + 8_100_000))
            }
            #expect(sender.harvest.video.count == (k < 48 ? k : k + 1))
        }
        sender.demuxer.finish(handler: sender.harvest.add)
        Self.expectExact(sender.harvest, sender.units)
        #expect(sender.harvest.counters[.nextStart] == 48)
        #expect(sender.harvest.counters[.timer] == 24 && sender.harvest.counters[.flush] == 48)
    }

    /// A unit larger than all before it may be flushed in between, and is not torn.
    @Test func aLargeUnitsFlushedMessageIsNoEnd() {
        var sender = FlushingSender()
        for _ in 0..<100 { _ = sender.send([7, 2]) }
        #expect(sender.harvest.video.last?.evidence == .flush)
        _ = sender.send([7, 7, 3, 7, 2])
        for _ in 0..<5 { _ = sender.send([7, 2]) }
        sender.demuxer.finish(handler: sender.harvest.add)
        #expect(sender.harvest.torn.isEmpty)
        Self.expectExact(sender.harvest, sender.units)
    }

    /// When a sender begins to flush messages inside units, one unit is torn, which is reported, and no other.
    @Test func aFlushedMessageInsideAUnitIsTrustedOnce() {
        var sender = FlushingSender()
        for _ in 0..<100 { _ = sender.send([7, 2]) }
        for _ in 0..<300 { _ = sender.send([4, 5]) }
        #expect(sender.harvest.torn == [100])
        #expect(sender.harvest.video.dropFirst(101).allSatisfy { $0.evidence != .flush })
        let known = Set(sender.units)
        #expect(sender.harvest.video.filter { !known.contains($0.bytes) }.count == 1)
    }

    /// When the bytes after a flushed message are lost, nobody knows whether the unit had ended that it delivered.
    @Test(arguments: [60, 100]) func aLossBehindAFlushedMessageRestartsItsRun(probation: Int) {
        var sender = FlushingSender()
        func pass(_ count: Int) {
            for _ in 0..<count {
                _ = sender.send([7, 2])
                if let timer = sender.demuxer.nextTimer { sender.demuxer.timeout(timer, handler: sender.harvest.add) }
            }
        }
        pass(probation)
        #expect(sender.harvest.video.last?.evidence == (probation < 72 ? .timer : .flush))
        #expect(sender.demuxer.trust.flush.isTrusted)
        sender.demuxer.recordLoss()
        #expect(!sender.demuxer.trust.flush.isTrusted && sender.demuxer.trust.contradictions == 0)
        let before = sender.harvest.counters
        pass(120)
        // As at the beginning; the first unit's end is judged by the second's beginning.
        let after = sender.harvest.counters
        #expect(after[.nextStart] - before[.nextStart] == 48)
        #expect(after[.timer] - before[.timer] == 24 && after[.flush] - before[.flush] == 48)
        Self.expectExact(sender.harvest, sender.units)
    }

    /// A loss elsewhere costs no trust, because it is known where the unit ends.
    @Test func aLossInsideAUnitLeavesTheRunOfFlushedMessages() {
        var sender = FlushingSender()
        for _ in 0..<100 { _ = sender.send([7, 2]) }
        sender.stream.packets = []
        let unit = SyntheticPicture.unit(size: 184 * 9 - 14, &sender.random)
        sender.stream.addPES(unit, pts: 100 * 3000)
        sender.push(sender.stream.packets[..<7], at: 100 * 33_000_000)
        sender.demuxer.recordLoss()
        #expect(sender.demuxer.trust.flush.isTrusted)
        _ = sender.send([7, 2])
        #expect(sender.harvest.video.last?.evidence == .flush && sender.harvest.video.count == 102)
        #expect(sender.harvest.torn.isEmpty)
    }

    @Test func anInterruptedStreamIsLearntAnew() {
        var random = SplitMix64(seed: 15)
        var stream = SyntheticStream()
        let units = Self.plain(60, into: &stream, &random)
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        for _ in 0..<2 {
            harvest.push(stream.bytes, into: &demuxer, size: 188)
            #expect(demuxer.trust.trustsStuffing)
            demuxer.finish(handler: harvest.add)
            #expect(!demuxer.trust.trustsStuffing)
        }
        Self.expectExact(harvest, units + units)
        #expect(harvest.video[60..<80].allSatisfy { $0.evidence == .nextStart })
    }

    /// Losing any packet, or repeating it, never makes a wrong unit that passes for a right one.
    @Test(arguments: [(false, 4), (true, 1)]) func anyPacketMayBeLostOrRepeated(bounded: Bool, slices: Int) {
        var random = SplitMix64(seed: 13)
        var stream = SyntheticStream()
        let units = Self.plain(
            36, bounded: bounded, slices: slices, sizes: 250...450, into: &stream, &random)
        let known = Set(units)
        for k in 2..<stream.packets.count {
            var packets = stream.packets
            packets.remove(at: k)
            let (lossy, lossCounters, _) = Harvest.of(packets.flatMap { $0 }, size: 188)
            #expect(lossy.video.allSatisfy { !$0.damage.isEmpty || known.contains($0.bytes) })
            #expect(lossy.torn.isEmpty && lossy.video.count >= units.count - 2)
            #expect(lossCounters.lostPackets == 1 || k == stream.packets.count - 1 || k == 2)
            packets = stream.packets
            packets.insert(packets[k], at: k)
            let (repeated, counters, _) = Harvest.of(packets.flatMap { $0 }, size: 188)
            Self.expectExact(repeated, units)
            #expect(counters.duplicatePackets == 1)
        }
    }
}
