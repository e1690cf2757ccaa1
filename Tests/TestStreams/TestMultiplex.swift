import Bitstream
import Codec
import Container
import Media

/// A transport stream of two programs: pictures and one stream of sound each. The first has what ``TestStream/program(_:)`` has.
package struct TestMultiplex {
    package static let number: UInt16 = 5
    package static let otherNumber: UInt16 = 9
    /// Packet identifiers of the other program: its map, its video, its sounds. And one of a table of the whole stream.
    package static let otherPIDs: [UInt16] = [0x1100, 0x200, 0x201, 0x202, 0x11]
    /// The first program's sound.
    package static let soundPID = TransportStreamLayout().pid(ofPassedStream: 0)

    package private(set) var bytes: [UInt8] = []
    /// The packets that belong to the other program and to the whole stream, in order.
    package private(set) var passed: [UInt8] = []
    private var sharesSound = false
    private var services: UInt8 = 0

    /// - Parameters:
    ///   - pictures: of each program.
    ///   - change: before which picture the other program gets a second sound.
    ///   - share: before which picture the other program's map names the first program's sound, too.
    ///   - extra: packets before a picture, all of which pass.
    package init(
        pictures: Int, change: Int? = nil, share: Int? = nil, extra: (_ picture: Int) -> [UInt8] = { _ in [] }
    ) throws {
        var own = TransportStreamLayout()
        own.passedStreams = [.aac]
        var multiplex = Multiplex(
            transportStreamID: 321, program: .init(number: Self.number, mapPID: own.mapPID), videoPID: own.videoPID,
            passedPIDs: [Self.soundPID], others: [.init(number: Self.otherNumber, mapPID: Self.otherPIDs[0])])
        let first = try TransportStreamMuxer(own, in: multiplex, continuing: nil)
        multiplex = Multiplex(
            program: .init(number: Self.otherNumber, mapPID: Self.otherPIDs[0]), videoPID: Self.otherPIDs[1],
            passedPIDs: [Self.otherPIDs[2]])
        var second = try TransportStreamMuxer(own, in: multiplex, continuing: nil)
        let encoders = try [PictureSize(width: 160, height: 96), PictureSize(width: 128, height: 64)].map {
            (try VideoEncoder(VideoEncoderConfiguration(size: $0, frameRate: Rational(30))), Picture(size: $0))
        }
        for index in 0..<pictures {
            if index == change || index == share {
                var layout = own
                layout.passedStreams.append(.aac)
                multiplex.passedPIDs.append(index == share ? Self.soundPID : Self.otherPIDs[3])
                second = try TransportStreamMuxer(layout, in: multiplex, continuing: second)
            }
            let time = MediaTime(ticks: 900_000 + Int64(index) * 3000)
            var parts: [[UInt8]] = [[], []]
            for (program, muxer) in [first, second].enumerated() {
                let (encoder, picture) = encoders[program]
                try encoder.encode(picture.view, id: Int64(index), at: time, asKeyframe: index % 15 == 0) { unit in
                    muxer.writeVideo(
                        unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                        isKeyframe: unit.isKeyframe
                    ) { parts[program].append(contentsOf: $0) }
                }
                let sounds = program == 1 && change != nil ? muxer.layout.passedStreams.count : 1
                for sound in 0..<sounds {
                    let payload = [0xFF, 0xF1] + Array("program \(program), sound \(sound), picture \(index)".utf8)
                    payload.withUnsafeBytes {
                        muxer.writePassed(stream: sound, $0, presentationTime: time) {
                            parts[program].append(contentsOf: $0)
                        }
                    }
                }
            }
            // The other program's association is not this stream's.
            parts[1] = Self.packets(of: parts[1]) { $0 != 0 }
            // All tables come before the first picture.
            let tables = index == 0 ? 2 * 188 : 0
            addOwn(parts[0].prefix(tables))
            addOther(parts[1].prefix(tables / 2))
            // A map that names a stream comes before its packets.
            if index == share { sharesSound = true }
            addOther(parts[1].dropFirst(tables / 2))
            addOther(extra(index)[...])
            addOwn(parts[0].dropFirst(tables))
            if index % 5 == 0 {
                addOther(([0x47, 0x40, 0x11, 0x10 | services] + [UInt8](repeating: UInt8(index & 255), count: 184))[...])
                services = (services + 1) & 15
            }
            bytes += [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)
        }
    }

    private mutating func addOwn(_ packets: ArraySlice<UInt8>) {
        bytes += packets
        if sharesSound { passed += Self.packets(of: Array(packets)) { $0 == Self.soundPID } }
    }

    private mutating func addOther(_ packets: ArraySlice<UInt8>) {
        bytes += packets
        passed += packets
    }

    /// The identifier of the packet that begins at an index.
    package static func pid(in stream: [UInt8], at: Int) -> UInt16 {
        let high = UInt16(stream[at + 1] & 0x1F)
        return high << 8 | UInt16(stream[at + 2])
    }

    /// The packets of some identifiers, in order.
    package static func packets(of stream: [UInt8], where isWanted: (UInt16) -> Bool) -> [UInt8] {
        var found: [UInt8] = []
        for at in stride(from: 0, to: stream.count - 187, by: 188) where isWanted(pid(in: stream, at: at)) {
            found += stream[at..<(at + 188)]
        }
        return found
    }

    /// A section of a table as packets (ISO/IEC 13818-1, 2.4.4).
    /// - Parameter counter: the first packet's continuity counter.
    package static func section(
        table: UInt8, extension number: UInt16, version: UInt8, _ body: [UInt8], pid: UInt16, counter: inout UInt8
    ) -> [UInt8] {
        let length = body.count + 9
        var section: [UInt8] = [table, 0xB0 | UInt8(length >> 8), UInt8(length & 255), UInt8(number >> 8), UInt8(number & 255)]
        section += [0xC1 | version << 1, 0, 0] + body
        var sum: UInt32 = 0xFFFF_FFFF
        for byte in section {
            sum ^= UInt32(byte) << 24
            for _ in 0..<8 { sum = sum << 1 ^ (sum >> 31 == 1 ? 0x04C1_1DB7 : 0) }
        }
        section += (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
        var packets: [UInt8] = []
        var rest = ([0] + section)[...]
        while !rest.isEmpty {
            packets += [0x47, (packets.isEmpty ? 0x40 : 0) | UInt8(pid >> 8), UInt8(pid & 255), 0x10 | counter]
            packets += rest.prefix(184)
            packets += [UInt8](repeating: 0xFF, count: 184 - min(184, rest.count))
            rest = rest.dropFirst(184)
            counter = (counter + 1) & 15
        }
        return packets
    }
}
