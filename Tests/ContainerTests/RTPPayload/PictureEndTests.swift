import Bitstream
import Media
import TestSupport
import Testing

@testable import Container

/// Where the pictures of senders end whose markers are right, wrong, or missing.
struct PictureEndTests {
    private typealias Collected = RTPPayloadTests.Collected

    private static let sets = units(of: H264Stream.parameterSets())
    private static let (sequenceSet, pictureSet) = (sets[0], sets[1])

    /// NAL units of a byte stream, without start codes.
    private static func units(of bytes: [UInt8]) -> [[UInt8]] {
        let starts = bytes.indices.dropLast(3).filter { bytes[$0...].starts(with: [0, 0, 1]) }
        return zip(starts, starts.dropFirst().map { bytes[$0 - 1] == 0 ? $0 - 1 : $0 } + [bytes.count])
            .map { Array(bytes[($0 + 3)..<$1]) }
    }

    private static func slice(_ frame: Int, at place: Int = 0, isRefresh: Bool = false) -> [UInt8] {
        Array(H264Stream.slice(frame: frame, firstMacroblock: place, isRefresh: isRefresh).dropFirst(3))
    }

    private static func stream(_ units: [[UInt8]]) -> [UInt8] {
        RTPPayloadTests.delimiter + units.flatMap { RTPPayloadTests.start + $0 }
    }

    /// A packet of a picture: what it holds, whether it is marked, and its stamp beside the picture's, in ticks.
    struct Packet {
        var bytes: [UInt8]
        var isMarked = false
        var offset = 0
    }

    private static func push(_ picture: [Packet], at stamp: Int, to collected: Collected, lost: Int = 0) {
        for (index, packet) in picture.enumerated() {
            collected.push(
                packet.bytes, timestamp: UInt32(90_000 + stamp + packet.offset), isMarked: packet.isMarked,
                lost: index == 0 ? lost : 0)
        }
    }

    /// What many cameras send.
    enum Habit: String, CaseIterable {
        case right, eachUnit, eachSlice, eachPacket, none, stampsOfTheirOwn, setsBefore, setsAlone

        var isMisleading: Bool { self == .eachUnit || self == .eachSlice || self == .eachPacket || self == .stampsOfTheirOwn }

        /// Two slices, the second one in two parts; parameter sets before a refresh.
        func packets(_ frame: Int, isRefresh: Bool) -> [Packet] {
            let (first, second) = (slice(frame, isRefresh: isRefresh), slice(frame, at: 24, isRefresh: isRefresh))
            let kind = second[0] & 31
            let parts = [[0x7c, 0x80 | kind] + second[1..<20], [0x7c, 0x40 | kind] + second[20...]]
            var packets = isRefresh ? [Packet(bytes: sequenceSet), Packet(bytes: pictureSet)] : []
            packets += [Packet(bytes: first), Packet(bytes: parts[0]), Packet(bytes: parts[1])]
            let slices = packets.count - 3
            switch self {
            case .right: packets[packets.count - 1].isMarked = true
            case .eachUnit: for index in packets.indices where index != packets.count - 2 { packets[index].isMarked = true }
            case .eachSlice: for index in [slices, packets.count - 1] { packets[index].isMarked = true }
            case .eachPacket: for index in packets.indices { packets[index].isMarked = true }
            case .none: break
            case .stampsOfTheirOwn:
                for index in [slices, packets.count - 1] { packets[index].isMarked = true }
                for index in packets.indices.suffix(2) { packets[index].offset = 7 }
            case .setsBefore, .setsAlone:
                packets[packets.count - 1].isMarked = true
                for index in 0..<slices {
                    packets[index].offset = self == .setsBefore ? -3_000 : -40
                    packets[index].isMarked = self == .setsAlone || index == 0
                }
            }
            return packets
        }
    }

    private static func slice(_ frame: Int, isRefresh: Bool) -> [UInt8] { slice(frame, at: 0, isRefresh: isRefresh) }

    @Test(arguments: Habit.allCases) func everyPictureIsWhole(habit: Habit) {
        let collected = Collected(waits: false)
        var expected: [[UInt8]] = []
        for frame in 0..<12 {
            let isRefresh = frame % 6 == 0
            Self.push(habit.packets(frame % 6, isRefresh: isRefresh), at: frame * 3_000, to: collected)
            let slices = [
                Self.slice(frame % 6, isRefresh: isRefresh), Self.slice(frame % 6, at: 24, isRefresh: isRefresh),
            ]
            expected.append(Self.stream((isRefresh ? [Self.sequenceSet, Self.pictureSet] : []) + slices))
        }
        if let timer = collected.timer { collected.wait(until: timer) }
        if collected.units.count < 12 { collected.finish() }
        #expect(collected.units.map(\.bytes) == expected, "\(habit)")
        #expect(collected.units.allSatisfy { $0.damage.isEmpty })
        #expect(!collected.faults.contains { if case .tornUnit = $0 { true } else { false } })
        #expect(collected.units.map(\.presentation) == (0..<12).map { MediaTime(ticks: 90_000 + Int64($0) * 3_000) })
        #expect(collected.formats.map(\.size) == [PictureSize(width: 128, height: 96)])
    }

    /// From the second picture on it is complete with its marked packet.
    @Test(arguments: Habit.allCases) func markersThatAreRightEndPicturesAtOnce(habit: Habit) {
        let collected = Collected(waits: false)
        var counts: [Int] = []
        for frame in 0..<4 {
            Self.push(habit.packets(frame, isRefresh: frame == 0), at: frame * 3_000, to: collected)
            counts.append(collected.units.count)
        }
        let isLate = habit.isMisleading || habit == .none
        #expect(counts == (isLate ? [0, 1, 2, 3] : [0, 2, 3, 4]), "\(habit)")
        #expect(collected.ends.suffix(2).allSatisfy { $0 == (isLate ? .nextStart : .marker) })
    }

    /// One slice a picture, and a marker on each NAL unit: nothing contradicts the slices' markers.
    @Test func markersOfParameterSetsAreNoContradiction() {
        let collected = Collected(waits: false)
        for frame in 0..<3 {
            let units = (frame == 0 ? [Self.sequenceSet, Self.pictureSet] : []) + [Self.slice(frame, isRefresh: frame == 0)]
            Self.push(units.map { Packet(bytes: $0, isMarked: true) }, at: frame * 3_000, to: collected)
        }
        #expect(collected.units.count == 3 && collected.ends.last == .marker)
        #expect(collected.units.map(\.isKeyframe) == [true, false, false] && !collected.needsKeyframe)
    }

    /// Nothing shows whether the first marker is right but a short silence behind it.
    @Test func aFirstPictureIsCompleteAfterASilence() throws {
        let collected = Collected(waits: false)
        Self.push(Habit.right.packets(0, isRefresh: true), at: 0, to: collected)
        let timer = try #require(collected.timer)
        #expect(timer == MonotonicTime(nanoseconds: 90_000) + .milliseconds(20))
        collected.wait(until: timer + .microseconds(-1))
        #expect(collected.units.isEmpty)
        collected.wait(until: timer)
        #expect(collected.ends == [.timer] && collected.timer == nil)
        Self.push(Habit.right.packets(1, isRefresh: false), at: 3_000, to: collected)
        #expect(collected.ends == [.timer, .marker])
    }

    /// A sender whose keyframe is one slice, and whose later pictures are not: one picture is torn, and none after the next keyframe.
    @Test func aMarkerThatProvesWrongLaterTearsOnePicture() {
        let collected = Collected(waits: false)
        var whole = [Self.sequenceSet, Self.pictureSet, Self.slice(0, isRefresh: true)].map { Packet(bytes: $0) }
        whole[2].isMarked = true
        Self.push(whole, at: 0, to: collected)
        Self.push(Habit.eachSlice.packets(1, isRefresh: false), at: 3_000, to: collected)
        #expect(collected.units.count == 2 && collected.faults == [.tornUnit(serial: 1)] && collected.needsKeyframe)
        for frame in 2..<6 {
            Self.push(Habit.eachSlice.packets(frame, isRefresh: frame == 4), at: frame * 3_000, to: collected)
        }
        collected.finish()
        #expect(collected.units.map(\.damage) == [[], [], .followsTorn, .followsTorn, [], []])
        #expect(
            collected.faults.count == 1
                && collected.units.last?.bytes
                    == Self.stream([
                        Self.slice(5, isRefresh: false), Self.slice(5, at: 24),
                    ])
        )
    }

    /// The rest of a picture is lost behind a marker: the slices of the next one are no contradiction.
    @Test func aLossContradictsNoMarker() {
        let collected = Collected(waits: false)
        Self.push(Habit.right.packets(0, isRefresh: true), at: 0, to: collected)
        Self.push(Habit.right.packets(1, isRefresh: false), at: 3_000, to: collected)
        Self.push(Array(Habit.right.packets(2, isRefresh: false).dropFirst()), at: 6_000, to: collected, lost: 1)
        #expect(collected.units.count == 3 && collected.units[2].damage.contains(.packetsLost))
        Self.push(Habit.right.packets(3, isRefresh: true), at: 9_000, to: collected)
        #expect(collected.ends.last == .marker && collected.units[3].damage.isEmpty)
    }

    /// A set that is lost between others is missed, and one before them is not.
    @Test func aLossAmongParameterSetsTearsTheirPicture() {
        let collected = Collected()
        collected.push(Self.sequenceSet, isMarked: false)
        collected.push(Self.slice(0, isRefresh: true), lost: 1)
        #expect(collected.units.count == 1 && collected.units[0].damage.contains(.packetsLost) && collected.needsKeyframe)
        collected.push(Self.sequenceSet, timestamp: 3_000, isMarked: false, lost: 3)
        collected.push(Self.pictureSet, timestamp: 3_000, isMarked: false)
        collected.push(Self.slice(0, isRefresh: true), timestamp: 3_000)
        #expect(collected.units.count == 2 && collected.units[1].damage.isEmpty && !collected.needsKeyframe)
    }

    /// Senders of which no part of a NAL unit says that it is the last one.
    @Test func whoMarksNoLastPartIsUnderstood() {
        let collected = Collected(waits: false)
        for frame in 0..<3 {
            let slice = Self.slice(frame, isRefresh: frame == 0)
            let kind = slice[0] & 31
            let sets = frame == 0 ? [Packet(bytes: Self.sequenceSet), Packet(bytes: Self.pictureSet)] : []
            let parts = [[0x7c, 0x80 | kind] + slice[1..<20], [0x7c, kind] + slice[20...]]
            Self.push(
                sets + [Packet(bytes: parts[0]), Packet(bytes: parts[1], isMarked: true)], at: frame * 3_000, to: collected)
        }
        #expect(collected.units.count == 3 && collected.units.allSatisfy(\.damage.isEmpty) && collected.ends.last == .marker)
    }

    /// Frames of VP8 in parts that are all marked.
    @Test func framesOfVP8WhosePartsAreAllMarkedAreWhole() {
        let key: [UInt8] = [0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0x68, 1] + [UInt8](repeating: 7, count: 30)
        let collected = Collected(format: .vp8, waits: false)
        for frame in 0..<3 {
            collected.push([0x10] + key[..<20], format: .vp8, timestamp: UInt32(frame * 3_000))
            collected.push([0x00] + key[20...], format: .vp8, timestamp: UInt32(frame * 3_000))
        }
        collected.finish()
        #expect(collected.units.map(\.bytes) == [key, key, key] && collected.units.allSatisfy(\.damage.isEmpty))
    }
}
