/// One elementary stream as its program map describes it.
public struct ElementaryStreamDescription: Hashable, Sendable {
    /// What the demultiplexer does with it.
    public enum Role: Hashable, Sendable {
        /// Comes out as access units, or as whole PES payloads where its format cannot be decoded.
        case mainVideo
        /// Comes out as whole PES payloads.
        case passing
        /// Not used: sections.
        case ignored
    }

    /// The PID: names the stream within its program.
    public let id: Int
    public let streamType: UInt8
    public let codec: StreamCodec
    public internal(set) var role: Role
    /// The descriptor loop as it came, to describe the stream again in another multiplex.
    public let descriptors: [UInt8]
}

/// The program that the demultiplexer follows.
public struct ProgramDescription: Hashable, Sendable {
    public let number: Int
    /// The PID of its program map.
    public let mapID: Int
    public let version: Int
    public internal(set) var streams: [ElementaryStreamDescription]
    /// The program's descriptor loop as it came, without those of its scrambling, to describe the program again in another multiplex.
    public internal(set) var descriptors: [UInt8] = []
    /// The packet identifier of its clock references.
    var clockID = TransportPacket.nullPID
    /// Those of messages for its descramblers (ECM).
    var accessIDs: [Int] = []
    /// The numbers of the multiplex's other programs.
    public internal(set) var otherPrograms: [Int] = []

    public var mainVideo: ElementaryStreamDescription? { streams.first { $0.role == .mainVideo } }
}

extension ProgramDescription {
    /// Reads a program map section (ISO/IEC 13818-1, 2.4.4.8).
    /// - Parameter s: the section with its header and checksum. Any bytes at all.
    init?(_ s: [UInt8], mapID: Int) {
        guard s.count >= 16, s[0] == 0x02, s[5] & 1 == 1 else { return nil }
        let end = s.count - 4
        let infoEnd = 12 + (Int(s[10] & 0x0F) << 8 | Int(s[11]))
        guard infoEnd <= end else { return nil }
        var accessIDs = ConditionalAccess.identifiers(in: s[12..<infoEnd])
        var streams: [ElementaryStreamDescription] = []
        var at = infoEnd
        while at + 5 <= end {
            let next = at + 5 + (Int(s[at + 3] & 0x0F) << 8 | Int(s[at + 4]))
            guard next <= end else { return nil }
            let descriptors = Array(s[(at + 5)..<next])
            accessIDs += ConditionalAccess.identifiers(in: descriptors)
            let codec = StreamCodec(streamType: s[at], descriptors: descriptors, program: Array(s[12..<infoEnd]))
            let id = Int(s[at + 1] & 0x1F) << 8 | Int(s[at + 2])
            // A stream on a table's PID would hide the table.
            if id >= 0x10, id != mapID, id != TransportPacket.nullPID, !streams.contains(where: { $0.id == id }) {
                streams.append(
                    ElementaryStreamDescription(
                        id: id, streamType: s[at], codec: codec, role: .ignored, descriptors: descriptors))
            }
            at = next
        }
        self.init(
            number: Int(s[3]) << 8 | Int(s[4]), mapID: mapID, version: Int(s[5] >> 1 & 0x1F), streams: streams,
            descriptors: ConditionalAccess.without(s[12..<infoEnd]), clockID: Int(s[8] & 0x1F) << 8 | Int(s[9]),
            accessIDs: accessIDs)
        chooseVideo(besides: [])
    }

    /// Makes the first video that can be decoded the main one, or else the first video.
    /// - Parameter silent: those of which nothing comes. They are chosen where there is no other.
    mutating func chooseVideo(besides silent: Set<Int>) {
        let heard = streams.firstIndex { $0.codec.video != nil && !silent.contains($0.id) }
        let main = heard ?? streams.firstIndex { $0.codec.video != nil } ?? streams.firstIndex { $0.codec.isVideo }
        for i in streams.indices where streams[i].codec != .sections {
            streams[i].role = i == main ? .mainVideo : .passing
        }
    }
}
