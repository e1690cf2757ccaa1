/// One elementary stream as its program map describes it.
public struct ElementaryStreamDescription: Hashable, Sendable {
    /// What the demuxer does with it.
    public enum Role: Hashable, Sendable {
        /// Comes out as access units of H.264.
        case mainVideo
        /// Comes out as whole PES payloads.
        case passing
        /// Its packets are only counted: sections, and all video but the main one.
        case counted
    }

    /// The PID: names the stream within its program.
    public let id: Int
    public let streamType: UInt8
    public let codec: StreamCodec
    public internal(set) var role: Role
    /// The descriptor loop as it came, to describe the stream again in another multiplex.
    public let descriptors: [UInt8]
}

/// The program that the demuxer follows.
public struct ProgramDescription: Hashable, Sendable {
    public let number: Int
    /// The PID of its program map.
    public let mapID: Int
    /// The PID that carries its clock references; 0x1FFF when none does.
    public let clockID: Int
    public let version: Int
    /// The program's own descriptor loop.
    public let descriptors: [UInt8]
    public let streams: [ElementaryStreamDescription]

    public var mainVideo: ElementaryStreamDescription? { streams.first { $0.role == .mainVideo } }
}

/// A program association section (2.4.4.3).
struct ProgramAssociation {
    struct Entry: Hashable {
        var number: Int
        var mapID: Int
    }
    var version: Int
    var sectionNumber: Int
    var lastSectionNumber: Int
    var entries: [Entry]

    init?(_ s: [UInt8]) {
        guard s.count >= 12, s[0] == 0x00, s[5] & 1 == 1 else { return nil }
        version = Int(s[5] >> 1 & 0x1F)
        sectionNumber = Int(s[6])
        lastSectionNumber = Int(s[7])
        entries = stride(from: 8, to: s.count - 7, by: 4).compactMap { at in
            let number = Int(s[at]) << 8 | Int(s[at + 1])
            // Number 0 points to the network information.
            return number == 0 ? nil : Entry(number: number, mapID: Int(s[at + 2] & 0x1F) << 8 | Int(s[at + 3]))
        }
    }
}

extension ProgramDescription {
    /// Reads a program map section (2.4.4.8).
    init?(_ s: [UInt8], mapID: Int) {
        guard s.count >= 16, s[0] == 0x02, s[5] & 1 == 1 else { return nil }
        let end = s.count - 4
        let infoEnd = 12 + (Int(s[10] & 0x0F) << 8 | Int(s[11]))
        guard infoEnd <= end else { return nil }
        var streams: [ElementaryStreamDescription] = []
        var at = infoEnd
        while at + 5 <= end {
            let next = at + 5 + (Int(s[at + 3] & 0x0F) << 8 | Int(s[at + 4]))
            guard next <= end else { return nil }
            let descriptors = Array(s[(at + 5)..<next])
            let codec = StreamCodec(streamType: s[at], descriptors: descriptors)
            let id = Int(s[at + 1] & 0x1F) << 8 | Int(s[at + 2])
            // A stream on a table's PID would hide the table.
            if id >= 0x10, id != mapID, id != TransportPacket.nullPID, !streams.contains(where: { $0.id == id }) {
                streams.append(
                    ElementaryStreamDescription(
                        id: id, streamType: s[at], codec: codec, role: .counted, descriptors: descriptors))
            }
            at = next
        }
        let main = streams.firstIndex { $0.codec == .h264 }
        for i in streams.indices {
            switch streams[i].codec {
            // Another H.264 stream would need its decode times, which passed streams do not have.
            case .h264: streams[i].role = i == main ? .mainVideo : .counted
            case .sections, .unknown: break
            case let codec: streams[i].role = codec.isVideo ? .counted : .passing
            }
        }
        self.init(
            number: Int(s[3]) << 8 | Int(s[4]), mapID: mapID, clockID: Int(s[8] & 0x1F) << 8 | Int(s[9]),
            version: Int(s[5] >> 1 & 0x1F), descriptors: Array(s[12..<infoEnd]), streams: streams)
    }
}
