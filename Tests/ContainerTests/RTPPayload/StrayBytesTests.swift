import Bitstream
import Media
import TestSupport
import Testing

@testable import Container

/// Bytes in payloads that belong to nothing damage no picture. They are skipped and counted.
struct StrayBytesTests {
    private typealias Collected = RTPPayloadTests.Collected

    private static let (start, delimiter) = (RTPPayloadTests.start, RTPPayloadTests.delimiter)
    private static let (sequenceSet, pictureSet) = (RTPPayloadTests.sequenceSet, RTPPayloadTests.pictureSet)
    private static let slice: [UInt8] = [0x65, 0x88, 0x84, 1, 2, 3, 4, 5]
    private static let whole = delimiter + start + sequenceSet + start + pictureSet + start + slice

    /// Each is one picture, and how many of its packets hold such bytes.
    static let pictures: [(name: String, payloads: [[UInt8]], stray: Int)] = [
        ("zeros behind an aggregation", [[0x78, 0, 6] + sequenceSet + [0, 4] + pictureSet + [0, 0, 0, 0, 0, 0], slice], 1),
        ("a single zero behind it", [[0x78, 0, 6] + sequenceSet + [0, 4] + pictureSet + [0], slice], 1),
        ("an aggregation of nothing", [sequenceSet, pictureSet, [0x78], slice], 1),
        ("reserved types", [sequenceSet, [0x00, 1, 2], pictureSet, [0x7e, 9], slice, [0x7f, 1, 2, 3]], 3),
        ("a reserved type in an aggregation", [[0x78, 0, 6] + sequenceSet + [0, 2, 0x7e, 1, 0, 4] + pictureSet, slice], 1),
        (
            "a reserved type in parts", [sequenceSet, pictureSet, [0x7c, 0x9e, 1], [0x7c, 0x1e, 2], [0x7c, 0x5e, 3], slice], 3
        ),
        (
            "empty parts",
            [sequenceSet, pictureSet, [0x7c, 0x85] + slice[1..<4], [0x7c, 0x05], [0x7c, 0x05] + slice[4...], [0x7c, 0x45]], 2
        ),
        (
            "an empty first part",
            [sequenceSet, pictureSet, [0x7c, 0x85], [0x7c, 0x05] + slice[1..<4], [0x7c, 0x45] + slice[4...]], 1
        ),
        ("half an indicator", [sequenceSet, pictureSet, [0x7c], slice], 1),
    ]

    @Test(arguments: pictures.indices) func theyDamageNothing(index: Int) {
        let picture = Self.pictures[index]
        let collected = Collected()
        for number in 0..<3 {
            for (place, payload) in picture.payloads.enumerated() {
                collected.push(payload, timestamp: UInt32(number * 3_000), isMarked: place == picture.payloads.count - 1)
            }
        }
        #expect(collected.units.map(\.bytes) == [Self.whole, Self.whole, Self.whole], "\(picture.name)")
        #expect(collected.units.allSatisfy(\.damage.isEmpty) && !collected.needsKeyframe, "\(picture.name)")
        #expect(collected.faults == Array(repeating: .brokenPacket, count: 3 * picture.stray), "\(picture.name)")
    }

    /// NAL units that keep the start codes of a byte stream: each one's own, one for all, and in parts of a larger one.
    @Test(arguments: [[0, 0, 0, 1], [0, 0, 1]] as [[UInt8]]) func startCodesAreRemoved(code: [UInt8]) {
        let largeSlice = Self.slice + [UInt8](repeating: 0x55, count: 60)
        let large = code + largeSlice
        let (sequence, picture) = (code + Self.sequenceSet, code + Self.pictureSet)
        var aggregation: [UInt8] = [0x78]
        for set in [sequence, picture] { aggregation += [0, UInt8(set.count)] + set }
        var whole: [UInt8] = Self.sequenceSet
        for unit in [picture, large] { whole += unit }
        // The first byte of the start code was read as the NAL unit's header.
        let beginning: [UInt8] = [0x1c, 0x80] + large[1..<30]
        let end: [UInt8] = [0x1c, 0x40] + large[30...]
        let forms: [[[UInt8]]] = [
            [sequence, picture, large], [aggregation, large], [whole], [code + whole], [sequence, picture, beginning, end],
        ]
        for form in forms {
            let collected = Collected()
            for (place, payload) in form.enumerated() { collected.push(payload, isMarked: place == form.count - 1) }
            #expect(collected.units.count == 1 && collected.units[0].isKeyframe && collected.faults.isEmpty, "\(form)")
            #expect(collected.units[0].damage.isEmpty && !collected.needsKeyframe)
            let found = Self.units(of: collected.units[0].bytes)
            #expect(found == [[9, 0xf0], Self.sequenceSet, Self.pictureSet, largeSlice], "\(form)")
        }
    }

    private static func units(of bytes: [UInt8]) -> [[UInt8]] {
        let starts = bytes.indices.dropLast(3).filter { bytes[$0...].starts(with: [0, 0, 1]) }
        return zip(starts, starts.dropFirst().map { bytes[$0 - 1] == 0 ? $0 - 1 : $0 } + [bytes.count])
            .map { Array(bytes[($0 + 3)..<$1]) }
    }

    /// A picture in one NAL unit behind its parameter sets, in parts.
    @Test func aPictureInsideAParameterSetIsFound() {
        let unit = Self.sequenceSet + Self.start + Self.pictureSet + Self.start + Self.slice
        let collected = Collected()
        collected.push([0x7c, 0x87] + unit[1..<9], isMarked: false)
        collected.push([0x7c, 0x47] + unit[9...])
        #expect(collected.units.map(\.bytes) == [Self.whole] && collected.units[0].isKeyframe && collected.faults.isEmpty)
    }

    /// A single part that is the first and the last one.
    @Test func aUnitInOnePartIsWhole() {
        let collected = Collected()
        for payload in [Self.sequenceSet, Self.pictureSet] { collected.push(payload, isMarked: false) }
        collected.push([0x7c, 0xc5] + Self.slice[1...])
        #expect(collected.units.map(\.bytes) == [Self.whole] && collected.faults.isEmpty)
    }

    /// A receiver that comes in the middle of a NAL unit.
    @Test func theRestOfAUnitIsNone() {
        let collected = Collected()
        collected.push([0x7c, 0x05, 1, 2, 3], isMarked: false)
        collected.push([0x7c, 0x45, 4, 5])
        #expect(collected.units.isEmpty && collected.needsKeyframe && collected.faults == [.tornUnit(serial: 0)])
        collected.push([0x41, 0x9a, 1], timestamp: 3_000)
        #expect(collected.units.count == 1 && collected.needsKeyframe)
    }

    /// A description that is older than the stream says nothing of pictures before a keyframe.
    @Test func anOldDescriptionIsNotBelieved() {
        let sets = H264Stream.parameterSets()
        let collected = Collected(sets: [Array(sets[4..<(sets.count - 8)]), Array(sets.suffix(4))])
        collected.push([0x41, 0x9a, 1])
        #expect(collected.units.count == 1 && collected.formats.isEmpty)
        collected.push(Self.slice, timestamp: 3_000)
        #expect(collected.formats.map(\.size) == [PictureSize(width: 128, height: 96)])
    }

    /// A NAL unit that is cut off is the only thing that damages.
    @Test(arguments: [[0x78, 0, 9, 0x65, 0x88], [0x7c, 0x85, 0x88, 1], [0x7c, 0x05, 1]] as [[UInt8]])
    func aTornUnitDamages(payload: [UInt8]) {
        let collected = Collected()
        for part in [[0x7c, 0x85] + Self.slice[1..<4], [0x7c, 0x45] + Self.slice[4...]] {
            collected.push(part, isMarked: part[1] != 0x85)
        }
        let torn = collected.faults.count
        collected.push(payload, timestamp: 3_000)
        #expect(collected.faults.count > torn && collected.needsKeyframe)
        #expect(collected.faults.last == .tornUnit(serial: 1))
    }

    @Test func parametersOfTheDescriptionStandBeforeARecoveryPoint() {
        let collected = Collected(sets: [Self.sequenceSet, Self.pictureSet])
        let message = Array(H264Stream.recoveryPoint.dropFirst(3))
        collected.push(message, isMarked: false)
        collected.push([0x41, 0x9a, 1])
        collected.push([0x41, 0x9a, 2], timestamp: 3_000)
        let sets = Self.start + Self.sequenceSet + Self.start + Self.pictureSet
        #expect(
            collected.units.map(\.bytes) == [
                Self.delimiter + sets + Self.start + message + Self.start + [0x41, 0x9a, 1],
                Self.delimiter + Self.start + [0x41, 0x9a, 2],
            ])
        #expect(collected.units.map(\.isKeyframe) == [true, false])
    }

    /// Sets that came in the stream count from then on.
    @Test func newerSetsTakeThePlacesOfTheDescriptions() {
        let sets = H264Stream.parameterSets()
        let (sequenceSet, pictureSet) = (Array(sets[4..<(sets.count - 8)]), Array(sets.suffix(4)))
        let collected = Collected(sets: [Self.sequenceSet, Self.pictureSet])
        for payload in [sequenceSet, pictureSet, Self.slice] { collected.push(payload, isMarked: payload == Self.slice) }
        collected.push(Self.slice, timestamp: 3_000)
        // Zeros behind a set belong to none.
        var found: [[[UInt8]]] = []
        for unit in collected.units {
            var units = Self.units(of: unit.bytes)
            for index in units.indices { while units[index].last == 0 { units[index].removeLast() } }
            found.append(units)
        }
        let expected = [[9, 0xf0], sequenceSet, pictureSet, Self.slice]
        #expect(found == [expected, expected])
    }
}
