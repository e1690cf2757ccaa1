import Media
import Testing

@testable import Container

/// When a unit has arrived. A packet that was lost and sent again arrives after packets that follow it in the stream,
/// so that arrival times do not rise in the stream's order.
@Suite struct ArrivalTests {
    /// How a multiplex lays units into PES packets.
    enum Habit: CaseIterable {
        case lengths, noLengths
        /// Several PES packets to a unit, and several units to a PES packet.
        case slices, bundles
    }

    /// Units, and for each the packets that hold its bytes.
    private func units(
        _ habit: Habit, into stream: inout SyntheticStream, _ random: inout SplitMix64
    ) -> [ClosedRange<Int>] {
        var packets: [ClosedRange<Int>] = []
        for index in 0..<24 {
            let (first, pts) = (stream.packets.count, 90_000 + Int64(index) * 9000)
            func unit(_ size: Int) -> [UInt8] {
                SyntheticPicture.unit(size: size, isKey: packets.isEmpty, slices: habit == .slices ? 3 : 1, &random)
            }
            switch habit {
            case .lengths, .noLengths:
                stream.addPES(unit(Int.random(in: 500...1500, using: &random)), pts: pts, bounded: habit == .lengths)
                packets.append(first...stream.packets.count - 1)
            case .slices:
                let whole = unit(Int.random(in: 1000...1500, using: &random))
                for (at, part) in stride(from: 0, to: whole.count, by: 400).enumerated() {
                    stream.addPES(Array(whole[part...].prefix(400)), pts: at == 0 ? pts : nil, bounded: index % 2 == 0)
                }
                packets.append(first...stream.packets.count - 1)
            case .bundles:
                // The second begins in the middle of a packet, the third with one. The header has 14 bytes.
                let three = [300, 184 * 5 - 314, 500].map { unit($0) }
                stream.addPES(three.flatMap { $0 }, pts: pts)
                packets += [first...first + 1, first + 1...first + 4, first + 5...stream.packets.count - 1]
            }
        }
        return packets
    }

    @Test(arguments: Habit.allCases) func aUnitHasArrivedWhenTheLastOfItsPacketsHas(habit: Habit) {
        var random = SplitMix64(seed: 51)
        var stream = SyntheticStream()
        let units = units(habit, into: &stream, &random)
        let arrivals = stream.packets.map { _ in Int64.random(in: 1...1000, using: &random) }
        let harvest = Self.harvest(stream, arrivals)
        #expect(harvest.video.count == units.count && harvest.torn.isEmpty)
        for (unit, packets) in zip(harvest.video, units) {
            #expect(unit.firstArrival == arrivals[packets.lowerBound], "unit \(unit.serial)")
            #expect(unit.lastArrival == arrivals[packets].max(), "unit \(unit.serial) by \(unit.evidence)")
        }
        // With a length the end is known at the last packet, without at the next unit's first.
        if habit == .lengths { #expect(harvest.video.contains { $0.evidence == .length }) }
    }

    @Test(arguments: [true, false]) func aPassedUnitHasArrivedWhenTheLastOfItsPacketsHas(bounded: Bool) {
        var random = SplitMix64(seed: 52)
        var stream = SyntheticStream(tables: false)
        let sound = SyntheticStream.videoID + 1
        stream.addTables(streams: [(SyntheticStream.videoID, 0x1B, []), (sound, 0x0F, [])])
        let units = (0..<24).map { index in
            let first = stream.packets.count
            let payload = (0..<Int.random(in: 100...900, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
            stream.addPES(payload, pts: 90_000 + Int64(index) * 1920, bounded: bounded, id: sound)
            return first...stream.packets.count - 1
        }
        let arrivals = stream.packets.map { _ in Int64.random(in: 1...1000, using: &random) }
        let harvest = Self.harvest(stream, arrivals)
        #expect(harvest.others.count == units.count)
        for (unit, packets) in zip(harvest.others, units) {
            #expect(unit.firstArrival == arrivals[packets.lowerBound], "unit \(unit.serial)")
            #expect(unit.lastArrival == arrivals[packets].max(), "unit \(unit.serial)")
        }
    }

    /// Pushes each packet as a message of its own, at its time.
    private static func harvest(_ stream: SyntheticStream, _ arrivals: [Int64]) -> Harvest {
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        for (packet, arrival) in zip(stream.packets, arrivals) {
            packet.withUnsafeBytes {
                demuxer.push(
                    $0, arrival: MonotonicTime(nanoseconds: arrival), sourceTime: nil, handler: harvest.add)
            }
        }
        demuxer.finish(handler: harvest.add)
        return harvest
    }
}
