import Media
import TestSupport

@testable import Container

/// Writes transport streams with any habit, right or wrong.
struct SyntheticStream {
    static let mapID = 0x100
    static let videoID = 0x101

    var packets: [[UInt8]] = []
    private var continuity: [Int: Int] = [:]

    /// - Parameter tables: begin with an association and a map of one H.264 stream.
    init(tables: Bool = true) {
        if tables { addTables() }
    }

    var bytes: [UInt8] { packets.flatMap { $0 } }

    // MARK: Tables

    mutating func addTables(
        mapID: Int = Self.mapID, streams: [(id: Int, type: UInt8, descriptors: [UInt8])] = [(Self.videoID, 0x1B, [])],
        version: Int = 0
    ) {
        addSection(Self.association([(1, mapID)], version: version), id: 0)
        addSection(Self.map(program: 1, streams: streams, version: version), id: mapID)
    }

    static func association(_ programs: [(number: Int, mapID: Int)], version: Int = 0, stream: Int = 1) -> [UInt8] {
        let body = programs.flatMap { number, id in
            [UInt8(number >> 8), UInt8(number & 255), 0xE0 | UInt8(id >> 8), UInt8(id & 255)]
        }
        return section(table: 0, extension: stream, version: version, body: body)
    }

    static func map(
        program: Int, streams: [(id: Int, type: UInt8, descriptors: [UInt8])], version: Int = 0, clock: Int = videoID,
        descriptors: [UInt8] = []
    ) -> [UInt8] {
        var body: [UInt8] = [0xE0 | UInt8(clock >> 8), UInt8(clock & 255)]
        body += [0xF0 | UInt8(descriptors.count >> 8), UInt8(descriptors.count & 255)] + descriptors
        for each in streams {
            body += [each.type, 0xE0 | UInt8(each.id >> 8), UInt8(each.id & 255)]
            body += [0xF0 | UInt8(each.descriptors.count >> 8), UInt8(each.descriptors.count & 255)] + each.descriptors
        }
        return section(table: 2, extension: program, version: version, body: body)
    }

    static func section(table: UInt8, extension id: Int, version: Int, body: [UInt8]) -> [UInt8] {
        let length = 5 + body.count + 4
        var bytes = [table, 0xB0 | UInt8(length >> 8), UInt8(length & 255), UInt8(id >> 8), UInt8(id & 255)]
        bytes += [0xC1 | UInt8(version << 1), 0, 0] + body
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte) << 24
            for _ in 0..<8 { crc = crc & 0x8000_0000 != 0 ? crc << 1 ^ 0x04C1_1DB7 : crc << 1 }
        }
        return bytes + [UInt8(crc >> 24), UInt8(crc >> 16 & 255), UInt8(crc >> 8 & 255), UInt8(crc & 255)]
    }

    mutating func addSection(_ section: [UInt8], id: Int) {
        var rest = [0] + section
        var isFirst = true
        while !rest.isEmpty {
            let part = Array(rest.prefix(184))
            rest.removeFirst(part.count)
            let payload = part + [UInt8](repeating: 0xFF, count: 184 - part.count)
            addPacket(payload, id: id, startsUnit: isFirst)
            isFirst = false
        }
    }

    // MARK: Packets

    /// One packet; a payload shorter than its room is preceded by stuffing.
    mutating func addPacket(
        _ payload: [UInt8], id: Int = Self.videoID, startsUnit: Bool = false, flags: UInt8 = 0
    ) {
        let counter = ((continuity[id] ?? 15) + 1) & 15
        continuity[id] = counter
        var packet: [UInt8] = [0x47, (startsUnit ? 0x40 : 0) | UInt8(id >> 8), UInt8(id & 255)]
        let room = 184 - payload.count
        packet.append((room > 0 ? 0x30 : 0x10) | UInt8(counter))
        if room > 0 {
            packet.append(UInt8(room - 1))
            if room > 1 { packet += [flags] + [UInt8](repeating: 0xFF, count: room - 2) }
        }
        packets.append(packet + payload)
    }

    mutating func addNull() { packets.append([0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)) }

    /// A packet of the video stream with nothing but a clock reference.
    mutating func addClockOnly(ticks: Int64) {
        let counter = UInt8(continuity[Self.videoID] ?? 15)
        let base = ticks / 300
        var packet: [UInt8] = [0x47, UInt8(Self.videoID >> 8), UInt8(Self.videoID & 255), 0x20 | counter, 183, 0x10]
        packet += [UInt8(base >> 25 & 255), UInt8(base >> 17 & 255), UInt8(base >> 9 & 255), UInt8(base >> 1 & 255)]
        packet += [UInt8(base & 1) << 7 | 0x7E | UInt8(ticks % 300 >> 8), UInt8(ticks % 300 & 255)]
        packets.append(packet + [UInt8](repeating: 0xFF, count: 188 - packet.count))
    }

    /// The last packet once more.
    mutating func repeatLast() { packets.append(packets.last!) }

    mutating func skipContinuity(by n: Int, id: Int = Self.videoID) {
        continuity[id] = ((continuity[id] ?? 15) + n) & 15
    }

    // MARK: PES

    static func header(pts: Int64?, dts: Int64? = nil, length: Int = 0) -> [UInt8] {
        func stamp(_ t: Int64, _ mark: UInt8) -> [UInt8] {
            [
                mark << 4 | UInt8(t >> 30 & 7) << 1 | 1, UInt8(t >> 22 & 255), UInt8(t >> 15 & 127) << 1 | 1,
                UInt8(t >> 7 & 255), UInt8(t & 127) << 1 | 1,
            ]
        }
        let stamps = pts.map { stamp($0, dts == nil ? 2 : 3) + (dts.map { stamp($0, 1) } ?? []) } ?? []
        let declared = length == 0 ? 0 : length + 3 + stamps.count
        let flags: UInt8 = pts == nil ? 0 : dts == nil ? 0x80 : 0xC0
        return [0, 0, 1, 0xE0, UInt8(declared >> 8), UInt8(declared & 255), 0x84, flags, UInt8(stamps.count)] + stamps
    }

    /// A PES packet whose last transport packet is stuffed unless it fits.
    /// - Parameter parts: sizes of the first packets' payloads, to stuff in the middle.
    mutating func addPES(
        _ payload: [UInt8], pts: Int64?, dts: Int64? = nil, bounded: Bool = false, id: Int = Self.videoID,
        parts: [Int] = []
    ) {
        var rest = Self.header(pts: pts, dts: dts, length: bounded ? payload.count : 0) + payload
        var sizes = parts[...]
        var isFirst = true
        while !rest.isEmpty {
            let part = Array(rest.prefix(sizes.popFirst() ?? 184))
            rest.removeFirst(part.count)
            addPacket(part, id: id, startsUnit: isFirst)
            isFirst = false
        }
    }
}

/// Pictures that are no pictures: the right NAL units around random bytes.
enum SyntheticPicture {
    static let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xF0]
    /// 128x96, baseline, from x264.
    static let sequence: [UInt8] = [0, 0, 0, 1] + parameters

    /// Progressive baseline 128x96, picture order type 2.
    static let parameters: [UInt8] = {
        var w = BitWriter()
        w.bits(0x67, 8)
        w.bits(66, 8)
        w.bits(0xC0, 8)
        w.bits(10, 8)
        for code in [0, 0, 2, 1] { w.unsigned(code) }
        w.bits(0, 1)
        w.unsigned(7)
        w.unsigned(5)
        w.bits(0b1100, 4)
        return w.finished
    }()

    static let pictureParameters: [UInt8] = [0, 0, 0, 1, 0x68, 0xCE, 0x3C, 0x80]

    static func slice(_ size: Int, firstMacroblock: Int = 0, type: UInt8 = 1, _ random: inout SplitMix64) -> [UInt8] {
        var w = BitWriter()
        w.unsigned(firstMacroblock)
        w.bits(0b111, 3)
        return [0, 0, 1, 0x60 | type] + w.padded
            + (0..<max(1, size)).map { _ in UInt8.random(in: 4...255, using: &random) }
    }

    /// An access unit of exactly `size` bytes, if that is enough.
    static func unit(size: Int, isKey: Bool = false, slices: Int = 1, _ random: inout SplitMix64) -> [UInt8] {
        var bytes = delimiter
        if isKey { bytes += sequence + pictureParameters }
        for k in 0..<slices {
            let left = (size - bytes.count) / (slices - k)
            let whole = slice(left, firstMacroblock: k * 48 / slices, type: isKey ? 5 : 1, &random)
            bytes += whole.prefix(max(left, 12))
        }
        return bytes
    }
}
