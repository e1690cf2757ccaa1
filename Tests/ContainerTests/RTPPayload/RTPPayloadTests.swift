import Bitstream
import Media
import Testing

@testable import Container

/// Payloads as the standards have them, and units that go through packets and come out the same.
struct RTPPayloadTests {
    /// Everything that a demultiplexer delivers.
    final class Collected {
        private var demuxer: RTPDemuxer
        var units: [(bytes: [UInt8], isKeyframe: Bool, damage: StreamUnit.Damage, presentation: MediaTime?, stream: Int)] = []
        var ends: [EndEvidence] = []
        /// Whether time passes behind a marked packet, so that it counts as a picture's last one.
        private let waits: Bool
        var faults: [ContainerFault] = []
        var formats: [VideoParameters] = []
        var programs: [ProgramDescription] = []

        init(_ streams: [RTPStreamDescription], unitLimit: Int = 1 << 20, waits: Bool = true) {
            demuxer = RTPDemuxer(streams, unitLimit: unitLimit)
            self.waits = waits
        }

        /// A stream of video, and one of sound.
        convenience init(sets: [[UInt8]] = [], format: RTPPayloadFormat = .h264, waits: Bool = true) {
            self.init(
                [
                    RTPStreamDescription(id: 0, format: format, parameterSets: sets),
                    RTPStreamDescription(id: 1, format: .opus),
                ], waits: waits)
        }

        var needsKeyframe: Bool { demuxer.needsKeyframe }
        var diagnosis: StreamDiagnosis { demuxer.diagnosis }
        func restart() { demuxer.restart { self.handle($0) } }
        func finish() { demuxer.finish { self.handle($0) } }
        var timer: MonotonicTime? { demuxer.nextTimer }
        func wait(until time: MonotonicTime) { demuxer.timeout(time) { self.handle($0) } }

        func push(
            _ payload: [UInt8], format: RTPPayloadFormat = .h264, timestamp: UInt32 = 0, isMarked: Bool = true, lost: Int = 0,
            stream: Int = 0
        ) {
            let packet = RTPPacketFacts(
                stream: stream, format: format, timestamp: timestamp, presentation: MediaTime(ticks: Int64(timestamp)),
                isMarked: isMarked, lost: lost, arrival: MonotonicTime(nanoseconds: Int64(timestamp)))
            payload.withUnsafeBytes { demuxer.push($0, packet) { self.handle($0) } }
            if waits, let timer { wait(until: timer) }
        }

        private func handle(_ event: ContainerEvent) {
            switch event {
            case .unit(let unit):
                units.append((Array(unit.bytes), unit.isKeyframe, unit.damage, unit.presentation, unit.stream))
                ends.append(unit.evidence)
            case .fault(let fault, _): faults.append(fault)
            case .format(let format): formats.append(format)
            case .program(let program): programs.append(program)
            case .multiplex, .packets: break
            }
        }
    }

    static let start: [UInt8] = [0, 0, 0, 1]
    static let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xf0]
    static let sequenceSet: [UInt8] = [0x67, 0x42, 0xc0, 0x0a, 0xda, 0x79]
    static let pictureSet: [UInt8] = [0x68, 0xce, 0x38, 0x80]

    /// RFC 6184, 5.6 to 5.8: one NAL unit, several in one packet, one in several.
    @Test func allFormsOfModeOneMakeOneUnit() {
        let (slice, other): ([UInt8], [UInt8]) = ([0x65, 0x88, 0x84, 1, 2, 3], [0x65, 0x08, 0x84, 4, 5, 6, 7, 8])
        let collected = Collected()
        // STAP-A: header, then sizes and NAL units.
        collected.push(
            [0x78, 0, 6] + Self.sequenceSet + [0, 4] + Self.pictureSet, timestamp: 9, isMarked: false)
        collected.push(slice, timestamp: 9, isMarked: false)
        // FU-A: indicator, header with S and E, parts of what is behind the NAL unit's header.
        collected.push([0x7c, 0x85] + other[1..<4], timestamp: 9, isMarked: false)
        collected.push([0x7c, 0x05] + other[4..<6], timestamp: 9, isMarked: false)
        collected.push([0x7c, 0x45] + other[6...], timestamp: 9)
        let expected =
            Self.delimiter + Self.start + Self.sequenceSet + Self.start + Self.pictureSet + Self.start + slice + Self.start
            + other
        #expect(collected.units.map(\.bytes) == [expected])
        #expect(collected.units[0].isKeyframe && collected.units[0].damage.isEmpty)
        #expect(collected.units[0].presentation == MediaTime(ticks: 9))
        #expect(collected.faults.isEmpty && !collected.needsKeyframe)
        #expect(collected.programs.count == 1 && collected.programs[0].mainVideo?.codec == .h264)
    }

    @Test func parameterSetsOfTheDescriptionStandBeforeARefresh() {
        let collected = Collected(sets: [Self.sequenceSet, Self.pictureSet])
        collected.push([0x65, 0x88, 1])
        collected.push([0x41, 0x9a, 1], timestamp: 3000)
        let sets = Self.start + Self.sequenceSet + Self.start + Self.pictureSet
        #expect(
            collected.units.map(\.bytes) == [
                Self.delimiter + sets + Self.start + [0x65, 0x88, 1], Self.delimiter + Self.start + [0x41, 0x9a, 1],
            ])
    }

    @Test func aChangeOfTimeStampEndsAUnitWhoseMarkerIsLost() {
        let collected = Collected()
        collected.push([0x65, 0x88, 1], isMarked: false)
        #expect(collected.units.isEmpty)
        collected.push([0x41, 0x9a, 1], timestamp: 3000)
        #expect(collected.units.count == 2 && collected.units.allSatisfy(\.damage.isEmpty))
    }

    @Test func aLossInsideAUnitTearsIt() {
        let collected = Collected()
        collected.push([0x65, 0x88, 1])
        #expect(!collected.needsKeyframe)
        // The second slice's middle is missing. The first one goes on.
        collected.push([0x41, 0x9a, 1], timestamp: 3000, isMarked: false)
        collected.push([0x5c, 0x81, 0x1a, 2], timestamp: 3000, isMarked: false)
        collected.push([0x5c, 0x41, 3], timestamp: 3000, lost: 2)
        #expect(collected.faults.contains(.gap(packets: 2)) && collected.faults.contains(.tornUnit(serial: 1)))
        #expect(collected.units.count == 2 && collected.units[1].damage.contains(.packetsLost))
        #expect(collected.units[1].bytes == Self.delimiter + Self.start + [0x41, 0x9a, 1])
        #expect(collected.needsKeyframe)
        // What refers to it is wrong as well, until a keyframe comes.
        collected.push([0x41, 0x9a, 4], timestamp: 6000)
        #expect(collected.units[2].damage == .followsTorn && collected.needsKeyframe)
        collected.push([0x65, 0x88, 5], timestamp: 9000)
        #expect(collected.units[3].damage.isEmpty && !collected.needsKeyframe)
    }

    @Test func aLossBetweenUnitsAsksForAKeyframeAndTearsNone() {
        let collected = Collected()
        collected.push([0x65, 0x88, 1])
        collected.push([0x41, 0x9a, 1], timestamp: 6000, lost: 1)
        #expect(collected.units.count == 2 && collected.units[1].damage.isEmpty && collected.needsKeyframe)
        // The first slice of this one is missing.
        collected.push([0x41, 0x1a, 1], timestamp: 9000, lost: 1)
        #expect(collected.units[2].damage.contains(.packetsLost))
    }

    /// What is missing may have been a picture's first slice, whether or not the packet behind it has a payload.
    @Test func aLossBeforeAPacketWithoutPayloadCountsForTheNextPicture() {
        let collected = Collected()
        collected.push([0x65, 0x88, 1])
        collected.push([], isMarked: false, lost: 2)
        #expect(collected.faults == [.gap(packets: 2)] && collected.needsKeyframe)
        collected.push([0x41, 0x1a, 1], timestamp: 3000)
        #expect(collected.units[1].damage.contains(.packetsLost) && collected.needsKeyframe)
        // The next loss is another one.
        collected.push([0x65, 0x88, 5], timestamp: 6000)
        #expect(collected.units[2].damage.isEmpty && !collected.needsKeyframe)
        // In the middle of a picture it tears that one.
        collected.push([0x41, 0x9a, 1], timestamp: 9000, isMarked: false)
        collected.push([], timestamp: 9000, isMarked: false, lost: 1)
        collected.push([0x41, 0x1a, 1], timestamp: 9000)
        #expect(collected.units[3].damage.contains(.packetsLost) && collected.needsKeyframe)
        // Of sound it is reported, too.
        collected.push([], format: .opus, lost: 3, stream: 1)
        #expect(collected.faults.last == .gap(packets: 3))
    }

    @Test(
        arguments: [
            [], [0x00], [0x7c], [0x7c, 0x85], [0x78], [0x78, 0], [0x78, 0, 9, 1], [0x78, 0, 0], [0x78, 0, 1, 0x78],
            [0x79, 1, 2],
            [0x7a, 1, 2], [0x7d, 0x85, 1, 2], [0x7c, 0x05, 1],
        ] as [[UInt8]])
    func whatIsNoPayloadOfModeOneGivesNoUnit(payload: [UInt8]) {
        let collected = Collected()
        collected.push(payload)
        #expect(collected.units.isEmpty && collected.needsKeyframe)
    }

    @Test func oversizedUnitsAreDroppedAndCounted() {
        let collected = Collected([RTPStreamDescription(id: 0, format: .h264)], unitLimit: 100)
        collected.push([0x65, 0x88] + [UInt8](repeating: 1, count: 200))
        #expect(collected.units.isEmpty && collected.needsKeyframe)
        #expect(collected.faults == [.oversizedUnit(presentation: MediaTime(ticks: 0), isKeyframe: false)])
    }

    /// RFC 7741, 4.2: X, then I (7 and 15 bits), L, T with Y, K.
    @Test(
        arguments: [
            ([0x10, 0xaa], 1, nil, nil), ([0x90, 0x80, 0x17, 0xaa], 3, 0x17, nil),
            ([0x90, 0x80, 0x81, 0x17, 0xaa], 4, 0x117, nil),
            ([0x90, 0xe0, 0x80, 0x01, 0x05, 0x60, 0xaa], 6, 1, 1), ([0x90, 0x10, 0x1f, 0xaa], 3, nil, nil),
        ] as [([UInt8], Int, UInt16?, UInt8?)])
    func descriptorsOfVP8AreRead(bytes: [UInt8], count: Int, picture: UInt16?, layer: UInt8?) {
        guard let descriptor = VP8Descriptor(reading: bytes.span) else { return #expect(Bool(false)) }
        #expect(descriptor.byteCount == count && descriptor.beginsFrame)
        #expect(descriptor.picture == picture && descriptor.temporalLayer == layer)
        for length in 0..<bytes.count {
            let cut = Array(bytes[..<length])
            let read = VP8Descriptor(reading: cut.span)
            #expect(read == nil)
        }
    }

    @Test func framesOfVP8SurviveTheirPackets() {
        let collected = Collected(format: .vp8)
        // A keyframe of 640 x 360, then one that refers to it.
        let key: [UInt8] = [0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0x68, 1] + (0..<2000).map { UInt8($0 % 251) }
        let next: [UInt8] = [0x11, 0, 0] + (0..<10).map { UInt8($0) }
        var packetiser = VP8Packetiser(largest: 500)
        for (number, frame) in [key, next].enumerated() {
            frame.withUnsafeBytes {
                packetiser.packetise($0) { head, body, isLast in
                    collected.push(
                        Array(head) + Array(body), format: .vp8, timestamp: UInt32(number * 3000),
                        isMarked: isLast)
                }
            }
        }
        #expect(collected.units.map(\.bytes) == [key, next] && collected.units.map(\.isKeyframe) == [true, false])
        #expect(
            collected.formats == [VideoParameters(vp8: UnsafeRawBufferPointer(start: nil, count: 0))].compactMap { $0 }
                || collected.formats.map(\.size) == [PictureSize(width: 640, height: 360)])
        #expect(collected.programs.last?.mainVideo?.codec == .vp8)
        // A frame that lacks a packet cannot be decoded.
        collected.push([0x90, 0x80, 1] + key, format: .vp8, timestamp: 6000, isMarked: false)
        collected.push([0x80, 0x80, 1, 7], format: .vp8, timestamp: 6000, lost: 1)
        #expect(collected.units.count == 2 && collected.needsKeyframe && collected.faults.contains(.tornUnit(serial: 2)))
    }

    /// One bit is not enough: a decoder refuses what lacks the start code, and whatever refers to it.
    @Test(arguments: [
        [0x10, 0, 0, 0x9d, 1, 0x2b, 0x80, 2, 0x68, 1, 7], [0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0x68], [0x10, 0, 0, 7],
    ]) func whatOnlySaysThatItIsAKeyframeOfVP8IsNone(frame: [UInt8]) {
        let collected = Collected(format: .vp8)
        collected.push([0x10] + frame, format: .vp8)
        #expect(collected.units.isEmpty && collected.needsKeyframe && collected.faults == [.tornUnit(serial: 0)])
        collected.push([0x10, 0x11, 0, 0, 7], format: .vp8, timestamp: 3000)
        #expect(collected.units.map(\.isKeyframe) == [false] && collected.needsKeyframe)
        collected.push([0x10, 0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0x68, 1], format: .vp8, timestamp: 6000)
        #expect(collected.units.map(\.isKeyframe) == [false, true] && !collected.needsKeyframe)
    }

    @Test(arguments: [64, 100, 1150, 4000]) func unitsOfH264SurviveTheirPackets(largest: Int) {
        let slice = [0x65, 0x88] + (0..<3000).map { UInt8($0 % 250 + 1) }
        let unit =
            Self.delimiter + Self.start + Self.sequenceSet + Self.start + Self.pictureSet + [0, 0, 1] + slice + Self.start
            + [0x65, 0x08, 0x55]
        var packetiser = H264Packetiser(largest: largest)
        let collected = Collected()
        var payloads: [[UInt8]] = []
        unit.withUnsafeBytes {
            packetiser.packetise($0) { head, body, isLast in
                payloads.append(Array(head) + Array(body))
                collected.push(payloads.last!, isMarked: isLast)
            }
        }
        #expect(payloads.allSatisfy { $0.count <= largest })
        // All start codes come out with four bytes.
        let whole =
            Self.delimiter + Self.start + Self.sequenceSet + Self.start + Self.pictureSet + Self.start + slice + Self.start
            + [0x65, 0x08, 0x55]
        #expect(collected.units.map(\.bytes) == [whole] && collected.faults.isEmpty)
        // The parameter sets share a packet, whose importance is theirs.
        #expect(payloads[0][0] == 0x78)
    }

    @Test func opusPassesWithTheHeaderThatTransportStreamsHave() throws {
        let collected = Collected()
        let packet = [0xfc] + [UInt8](repeating: 7, count: 299)
        collected.push(packet, format: .opus, timestamp: 960, stream: 1)
        let unit = try #require(collected.units.first)
        #expect(unit.bytes == [0x7f, 0xe0, 255, 45] + packet && unit.stream == 1)
        let frame = SoundFrame(unit.bytes.span, .opus)
        #expect(frame?.samples == 960)
        #expect(collected.programs[0].streams[1].codec == .opus && collected.programs[0].streams[1].role == .passing)
        // Several packets in one unit, as other multiplexers write them.
        var packets: [(Int, Int)] = []
        (unit.bytes + unit.bytes).withUnsafeBytes { bytes in
            #expect(OpusPayload.forEachPacket(in: bytes) { packets.append(($0.count, $1)) })
        }
        #expect(packets.map(\.0) == [300, 300] && packets.map(\.1) == [0, 960])
        #expect([UInt8]([1, 2, 3]).withUnsafeBytes { !OpusPayload.forEachPacket(in: $0) { _, _ in } })
    }

    /// What is known of the pictures is no more than what has come.
    @Test func diagnosesSayWhatHasNotCome() {
        let collected = Collected(format: .vp8)
        collected.push([0xfc, 7], format: .opus, stream: 1)
        #expect(collected.diagnosis == .silentVideo)
        collected.push([0x10, 0x11, 0, 0, 7], format: .vp8)
        #expect(collected.diagnosis == .noKeyframe)
        collected.push([0x10, 0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0x68, 1], format: .vp8, timestamp: 3000)
        #expect(collected.diagnosis == .video(collected.formats[0]))
    }

    @Test func anotherSenderIsDescribedAnew() {
        let collected = Collected()
        collected.push([0x65, 0x88, 1])
        collected.restart()
        #expect(collected.diagnosis == .noPackets && !collected.needsKeyframe)
        collected.push([0x41, 0x9a, 1], timestamp: 3000)
        #expect(collected.programs.count == 2 && collected.needsKeyframe && collected.diagnosis == .noParameters)
        // A sender may change to another format.
        collected.push([0x10, 0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 2, 0x68, 1], format: .vp8, timestamp: 6000)
        #expect(collected.programs.count == 3 && collected.programs[2].mainVideo?.codec == .vp8)
    }
}
