/// A program association section (ISO/IEC 13818-1, 2.4.4.3).
struct ProgramAssociation: Equatable {
    struct Entry: Hashable {
        var number: Int
        var mapID: Int
    }

    var transportStreamID: Int
    var version: Int
    var sectionNumber: Int
    var lastSectionNumber: Int
    var entries: [Entry]
    /// The packet identifier of the network information, if it names one.
    var networkID: Int?

    /// The stream has none: this one stands for its only known map.
    var standsForMap: Bool { version < 0 }

    /// One for a stream that has none, whose only known map is this one.
    init(standingFor map: ProgramDescription) {
        (transportStreamID, version, sectionNumber, lastSectionNumber) = (1, -1, 0, 0)
        entries = [Entry(number: map.number, mapID: map.mapID)]
    }

    /// - Parameter s: the section with its header and checksum. Any bytes at all.
    init?(_ s: [UInt8]) {
        guard s.count >= 12, s[0] == 0x00, s[5] & 1 == 1 else { return nil }
        transportStreamID = Int(s[3]) << 8 | Int(s[4])
        version = Int(s[5] >> 1 & 0x1F)
        sectionNumber = Int(s[6])
        lastSectionNumber = Int(s[7])
        entries = []
        for at in stride(from: 8, to: s.count - 7, by: 4) {
            let number = Int(s[at]) << 8 | Int(s[at + 1])
            let id = Int(s[at + 2] & 0x1F) << 8 | Int(s[at + 3])
            // Number 0 points to the network information.
            if number == 0 { networkID = networkID ?? id } else { entries.append(Entry(number: number, mapID: id)) }
        }
    }
}
