import Media
import Testing

@testable import Container

/// What receivers know a passing stream by: its PES headers, its descriptors and its packet identifier.
@Suite struct PassedHeaderTests {
    private static let teletext: [UInt8] = header(0xBD, 0x84, 0x80, [stamp(0), [UInt8](repeating: 0xFF, count: 31)])

    private static func header(_ streamID: UInt8, _ flags: UInt8, _ contents: UInt8, _ rest: [[UInt8]]) -> [UInt8] {
        let fields: [UInt8] = rest.flatMap { $0 }
        return [0, 0, 1, streamID, 0, 0, flags, contents, UInt8(fields.count)] + fields
    }

    private static func stamp(_ ticks: Int64, mark: UInt8 = 2) -> [UInt8] {
        let first: UInt8 = mark << 4 | UInt8(ticks >> 30 & 7) << 1 | 1
        let third = UInt8(ticks >> 15 & 127) << 1 | 1
        let fifth = UInt8(ticks & 127) << 1 | 1
        return [first, UInt8(ticks >> 22 & 255), third, UInt8(ticks >> 7 & 255), fifth]
    }

    /// A header, and whether it has a time for showing and one for decoding.
    struct Kind: Sendable {
        var header: [UInt8]
        var hasTime, hasDecode: Bool
    }

    /// Teletext; metadata with aligned data; no stamps; both stamps; an extension with a number of its own; no optional header.
    private static let kinds: [Kind] = [
        Kind(header: teletext, hasTime: true, hasDecode: false),
        Kind(header: header(0xFC, 0x84, 0x80, [stamp(0)]), hasTime: true, hasDecode: false),
        Kind(header: header(0xBD, 0x80, 0, [[0xFF, 0xFF, 0xFF]]), hasTime: false, hasDecode: false),
        Kind(header: header(0xC5, 0x8F, 0xC0, [stamp(0, mark: 3), stamp(0, mark: 1)]), hasTime: true, hasDecode: true),
        Kind(header: header(0xFD, 0x80, 0x81, [stamp(0), [0x01, 0x81, 0x55]]), hasTime: true, hasDecode: false),
        Kind(header: [0, 0, 1, 0xBF, 0, 0], hasTime: false, hasDecode: false),
    ]

    /// Headers of several kinds come out of the muxer as they went in, with the new times and the right length.
    @Test(arguments: kinds) func aHeaderGoesOutAsItCame(kind: Kind) throws {
        let (header, hasTime, hasDecode) = (kind.header, kind.hasTime, kind.hasDecode)
        var layout = TransportStreamLayout()
        layout.passedStreams = [.init(streamType: 0x06, streamID: 0xBD, pid: 0x1F1)]
        let muxer = try TransportStreamMuxer(layout)
        var packets: [UInt8] = []
        let payload = [UInt8](repeating: 0x10, count: 139)
        let (time, decode) = (MediaTime(ticks: 123_456_789), MediaTime(ticks: 123_450_000))
        header.withUnsafeBytes { header in
            payload.withUnsafeBytes { payload in
                muxer.writePassed(
                    stream: 0, header: header, payload, presentationTime: hasTime ? time : nil,
                    decodeTime: hasDecode ? decode : nil
                ) { packets += Array($0) }
            }
        }
        var expected = header
        let length = header.count - 6 + payload.count
        (expected[4], expected[5]) = (UInt8(length >> 8), UInt8(length & 255))
        if hasTime { expected.replaceSubrange(9..<14, with: Self.stamp(time.ticks, mark: hasDecode ? 3 : 2)) }
        if hasDecode { expected.replaceSubrange(14..<19, with: Self.stamp(decode.ticks, mark: 1)) }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: packets.count, by: 188) {
            let packet = packets[start..<start + 188]
            guard packet[start + 1] & 0x1F == 1, packet[start + 2] == 0xF1 else { continue }
            let hasField = packet[start + 3] & 0x20 != 0
            bytes += packet[(start + (hasField ? 5 + Int(packet[start + 4]) : 4))...]
        }
        #expect(bytes == expected + payload)
    }

    /// A header that says one thing and a time that says another, one that is too long, and one of random bytes: a new header takes
    /// its place, or nothing is written beyond the packet.
    @Test func anyHeaderIsSafe() throws {
        var random = SplitMix64(seed: 71)
        var layout = TransportStreamLayout()
        layout.passedStreams = [.init(streamType: 0x06, streamID: 0xBD)]
        let muxer = try TransportStreamMuxer(layout)
        for _ in 0..<2_000 {
            var header = (0..<Int.random(in: 6...264, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            header.replaceSubrange(0..<3, with: [0, 0, 1])
            let payload = [UInt8](repeating: 0xAB, count: Int.random(in: 1...400, using: &random))
            let time: MediaTime? = Bool.random(using: &random) ? MediaTime(ticks: 5_000_000) : nil
            var packets: [UInt8] = []
            header.withUnsafeBytes { header in
                payload.withUnsafeBytes { payload in
                    muxer.writePassed(stream: 0, header: header, payload, presentationTime: time, decodeTime: nil) {
                        packets += Array($0)
                    }
                }
            }
            let isCut = packets.count % 188 != 0 || stride(from: 0, to: packets.count, by: 188).contains { packets[$0] != 0x47 }
            #expect(!isCut && packets.count { $0 == 0xAB } >= payload.count)
        }
    }

    /// The demultiplexer hands the header on, but for a clock reference of the source.
    @Test func theHeaderComesWithTheUnit() {
        var stream = SyntheticStream(tables: false)
        stream.addTables(streams: [(SyntheticStream.videoID, 0x1B, []), (0x200, 0x06, [0x56, 0])])
        let clock: [UInt8] = [0xC4, 0, 4, 0, 4, 1]
        let withClock = Self.header(0xBD, 0x84, 0xA0, [Self.stamp(9000), clock])
        for header in [Self.teletext, withClock] {
            var header = header
            let body: [UInt8] = Array("text".utf8)
            header[5] = UInt8(header.count - 6 + body.count)
            stream.addPacket(header + body, id: 0x200, startsUnit: true)
        }
        let (harvest, _, _) = Harvest.of(stream.bytes)
        var first = Self.teletext
        first[5] = UInt8(first.count - 6 + 4)
        var second = Self.header(0xBD, 0x84, 0x80, [Self.stamp(9000), [UInt8](repeating: 0xFF, count: 6)])
        second[5] = UInt8(second.count - 6 + 4)
        #expect(harvest.others.map(\.header) == [first, second])
        #expect(harvest.others.allSatisfy { $0.bytes == Array("text".utf8) })
    }

    @Test func identifiersStayWhereTheyAreFree() {
        func identifiers(_ pids: [UInt16?]) -> [UInt16] {
            var layout = TransportStreamLayout()
            layout.passedStreams = pids.map { .init(streamType: 0x06, pid: $0) }
            let addresses = ProgramAddresses(layout, in: nil, keeping: nil)
            #expect(addresses.number == 1 && addresses.map == 0x1000 && addresses.video == 0x100)
            return pids.indices.map { addresses.passed($0) }
        }
        #expect(identifiers([0x1F1, nil, 0x44]) == [0x1F1, 0x102, 0x44])
        // The video and the map have their own; two streams cannot have one.
        #expect(identifiers([0x100, 0x101, 0x1000]) == [0x102, 0x101, 0x1001])
        #expect(identifiers([0x200, 0x200]) == [0x200, 0x201])
    }

    /// The descriptor that names a program by its number names the one that goes out.
    @Test func aMetadataPointerNamesTheProgramThatGoesOut() {
        let identifier: [UInt8] = Array("ID3 ".utf8)
        let parts: [[UInt8]] = [[0x25, 15, 0xFF, 0xFF], identifier, [0xFF], identifier, [0, 0x1F, 0, 7]]
        let pointer: [UInt8] = parts.flatMap { $0 }
        let moved: [UInt8] = pointer.dropLast() + [1]
        let other: [UInt8] = [0x05, 4] + Array("HDMV".utf8)
        let elsewhere: [UInt8] = [0x25, 11, 1, 0, 2, 0, 0x3F, 0, 7, 0, 1, 0, 2]
        let made = MetadataPointer.pointing(other + pointer + elsewhere, to: 1)
        #expect(made == [other, moved, elsewhere].flatMap { $0 })
        #expect(MetadataPointer.pointing([0x25, 1, 0xFF], to: 1) == [0x25, 1, 0xFF])
        let scrambled: [[UInt8]] = [[9, 4, 0, 1, 0xE1, 0], other, [9, 0]]
        #expect(ConditionalAccess.without(scrambled.flatMap { $0 }) == other)
    }
}
