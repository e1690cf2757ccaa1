/// A transport stream of several programs (ISO/IEC 13818-1, 2.4.4.3), as seen from the one that is followed: what it holds beside
/// that one, whose packets pass as they are.
public struct Multiplex: Hashable, Sendable {
    /// A line of the program association table.
    public struct Program: Hashable, Sendable {
        public var number: UInt16
        public var mapPID: UInt16

        public init(number: UInt16, mapPID: UInt16) {
            self.number = number
            self.mapPID = mapPID
        }
    }

    /// The most lines of an association table of one section: 1,021 bytes after the length, 9 of them not lines, 4 bytes a line
    /// (2.4.4.4). The followed program takes one, the network information another where there is some.
    public static let mostPrograms = 253
    /// The most packet identifiers of other programs that pass, each counted for each program that names it. A program that would
    /// exceed it is left out. So the followed program always finds free ones.
    public static let mostIdentifiers = 4096

    /// The service information of DVB and ATSC names the stream by it.
    public var transportStreamID: UInt16
    /// Where the network information is, if the association says it.
    public var networkPID: UInt16?
    /// The followed program in the input.
    public var program: Program
    /// The packet identifier of its main video in the input; nil where it has none.
    public var videoPID: UInt16?
    /// Those of its passing streams, in the order of its map.
    public var passedPIDs: [UInt16]
    /// The programs that pass, in the order of the association.
    public var others: [Program]
    /// The numbers of programs that do not pass: because there are too many, or because their map is none or shares its packet
    /// identifier with the followed program's.
    public var leftOut: [UInt16]
    /// The identifiers of all packets that pass.
    public var passing: PacketIdentifiers

    public init(
        transportStreamID: UInt16 = 1, networkPID: UInt16? = nil, program: Program, videoPID: UInt16? = nil,
        passedPIDs: [UInt16] = [], others: [Program] = [], leftOut: [UInt16] = [], passing: PacketIdentifiers = .init()
    ) {
        self.transportStreamID = transportStreamID
        self.networkPID = networkPID
        self.program = program
        self.videoPID = videoPID
        self.passedPIDs = passedPIDs
        self.others = others
        self.leftOut = leftOut
        self.passing = passing
    }
}

extension Multiplex {
    /// Tables that describe the whole stream: those of ISO/IEC 13818-1 and of DVB (ETSI EN 300 468, 5.1.3: NIT, SDT, EIT, TDT),
    /// and ATSC's (A/65).
    private static let sharedTables = Array(0x01...0x1F) + [0x1FFB]

    /// - Parameters:
    ///   - current: the program that is followed.
    ///   - programs: the lines of the association table, each with its map where that is known. Anything at all.
    ///   - accessIDs: the identifiers that the conditional access table names.
    init(
        around current: ProgramDescription, transportStreamID: Int, networkID: Int?,
        programs: [(entry: ProgramAssociation.Entry, map: ProgramDescription?)], accessIDs: [Int]
    ) {
        self.init(
            transportStreamID: UInt16(truncatingIfNeeded: transportStreamID),
            networkPID: networkID.map { UInt16(truncatingIfNeeded: $0) },
            program: Program(
                number: UInt16(truncatingIfNeeded: current.number), mapPID: UInt16(truncatingIfNeeded: current.mapID)),
            videoPID: current.mainVideo.map { UInt16(truncatingIfNeeded: $0.id) },
            passedPIDs: current.streams.filter { $0.role == .passing }.map { UInt16(truncatingIfNeeded: $0.id) })
        for pid in Self.sharedTables { passing.insert(pid) }
        if let networkID { passing.insert(networkID) }
        let mostOthers = Self.mostPrograms - 1 - (networkID == nil ? 0 : 1)
        var room = Self.mostIdentifiers
        var seen: Set<Int> = [current.number]
        for (entry, map) in programs where seen.insert(entry.number).inserted {
            let count = 1 + (map?.mostIdentifiers ?? 0)
            let isTable = entry.mapID >= 0x10 && entry.mapID < TransportPacket.nullPID
            // Its packets hold our own map, too, with identifiers that do not hold in the output.
            guard isTable, entry.mapID != current.mapID, others.count < mostOthers, count <= room else {
                leftOut.append(UInt16(truncatingIfNeeded: entry.number))
                continue
            }
            room -= count
            others.append(
                Program(number: UInt16(truncatingIfNeeded: entry.number), mapPID: UInt16(truncatingIfNeeded: entry.mapID)))
            passing.insert(entry.mapID)
            map?.forEachIdentifier { passing.insert($0) }
        }
        for pid in accessIDs.prefix(room) where pid >= 0x10 { passing.insert(pid) }
    }
}

extension ProgramDescription {
    /// The packet identifiers that its map names: streams, clock, messages for descramblers.
    fileprivate func forEachIdentifier(_ body: (Int) -> Void) {
        for stream in streams { body(stream.id) }
        for pid in accessIDs + [clockID] where pid >= 0x10 { body(pid) }
    }

    fileprivate var mostIdentifiers: Int { streams.count + accessIDs.count + 1 }
}
