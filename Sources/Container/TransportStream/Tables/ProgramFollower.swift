/// Follows the program tables through their changes and chooses the program: the first of the association table with
/// video that can be decoded, or else with any video, or else the first one.
struct ProgramFollower {
    /// More programs than any multiplex has; a hostile table cannot make it hold more.
    private static let programLimit = 256

    private struct Candidate {
        var entry: ProgramAssociation.Entry
        var map: ProgramDescription?
    }

    private var association = SectionAssembler()
    private var sections: [ProgramAssociation] = []
    private var maps: [Int: SectionAssembler] = [:]
    private var candidates: [Candidate] = []
    /// Of the association that the candidates are from.
    private var transportStreamID = 0
    private var networkID: Int?
    /// The conditional access table: the identifiers that each of its sections names.
    private var access = SectionAssembler()
    private var accessIDs: [UInt8: [Int]] = [:]
    /// More sections of it than any multiplex has.
    private static let accessSectionLimit = 16
    /// There have been other programs.
    private var isMultiplex = false
    /// The PIDs of videos of which nothing comes.
    private var silentVideos: Set<Int> = []
    /// The chosen program.
    private(set) var current: ProgramDescription?
    /// How often a map has come again since the association changed. After the first time, programs without a map are
    /// not waited for.
    private var repeats = 0

    var hasAssociation: Bool { !sections.isEmpty }
    var hasMap: Bool { candidates.contains { $0.map != nil } }
    var mapIDs: Set<Int> { Set(candidates.map(\.entry.mapID)) }
    /// Of all programs.
    var codecs: [StreamCodec] { candidates.flatMap { $0.map?.streams.map(\.codec) ?? [] } }

    /// What the stream holds beside the program that is followed; nil where that has been all of it, or none is followed. A
    /// multiplex whose other programs go stays one, so that the followed program keeps its number and identifiers.
    var multiplex: Multiplex? {
        guard isMultiplex, let current else { return nil }
        return Multiplex(
            around: current, transportStreamID: transportStreamID, networkID: networkID,
            programs: candidates.map { (entry: $0.entry, map: $0.map) },
            accessIDs: accessIDs.keys.sorted().flatMap { accessIDs[$0]! })
    }

    /// What a packet brought.
    struct Outcome {
        /// The tables say something else than before.
        var isChanged = false
        /// Sections that were dropped for a wrong checksum or an impossible length.
        var brokenSections = 0
        /// A section was believed although its checksum is wrong.
        var isBelieved = false
    }

    // MARK: Maps without an association

    /// More PIDs than this are not watched for maps.
    private static let mostStrays = 16
    /// So often a map has to come while no association does.
    private static let strayTimes = 4
    private var strays: [Int: (section: SectionAssembler, count: Int)] = [:]

    /// Processes the payload of a packet of a PID that nothing is known of, while no association has come: some senders have none. A
    /// map that comes again and again stands for itself.
    mutating func pushStray(_ payload: UnsafeRawBufferPointer, _ packet: TransportPacket) -> Outcome {
        var outcome = Outcome()
        guard !hasAssociation, packet.pid >= 0x20 else { return outcome }
        if strays[packet.pid] == nil {
            guard strays.count < Self.mostStrays, packet.startsUnit, unsafe Self.mayBeMap(payload) else { return outcome }
        }
        var stray = strays[packet.pid] ?? (SectionAssembler(), 0)
        var maps: [ProgramDescription] = []
        _ = unsafe stray.section.push(payload, packet: packet, skipsRepeats: false) { section in
            if let map = ProgramDescription(section, mapID: packet.pid) { maps.append(map) }
        }
        stray.count += maps.count
        strays[packet.pid] = stray
        guard let map = maps.last, stray.count >= Self.strayTimes else { return outcome }
        strays = [:]
        outcome.isChanged = adopt(ProgramAssociation(standingFor: map))
        if adopt(map) { outcome.isChanged = true }
        return outcome
    }

    /// Whether a payload begins with a program map.
    private static func mayBeMap(_ payload: UnsafeRawBufferPointer) -> Bool {
        unsafe payload.count > 4 && payload[0] == 0 && payload[1] == 0x02 && payload[2] & 0xB0 == 0xB0
    }

    /// Processes the payload of a packet whose PID is 0, 1 or one of ``mapIDs``.
    mutating func push(_ payload: UnsafeRawBufferPointer, _ packet: TransportPacket) -> Outcome {
        var outcome = Outcome()
        if packet.pid == 0 {
            var found: [ProgramAssociation] = []
            outcome.brokenSections = unsafe association.push(
                payload, packet: packet, skipsRepeats: current != nil
            ) { section in
                if let table = ProgramAssociation(section) { found.append(table) }
            }
            outcome.isBelieved = association.believesWrongChecksums
            for table in found where adopt(table) { outcome.isChanged = true }
        } else if packet.pid == 1 {
            var found: [[UInt8]] = []
            outcome.brokenSections = unsafe access.push(payload, packet: packet, skipsRepeats: true) { found.append($0) }
            for section in found where adoptAccess(section) { outcome.isChanged = true }
        } else {
            var found: [ProgramDescription] = []
            let skips = current != nil
            outcome.brokenSections = unsafe maps[packet.pid, default: SectionAssembler()].push(
                payload, packet: packet, skipsRepeats: skips
            ) { section in
                if let map = ProgramDescription(section, mapID: packet.pid) { found.append(map) }
            }
            outcome.isBelieved = maps[packet.pid]?.believesWrongChecksums ?? false
            for map in found where adopt(map) { outcome.isChanged = true }
        }
        return outcome
    }

    /// - Returns: whether the programs are others than before.
    private mutating func adopt(_ table: ProgramAssociation) -> Bool {
        if sections.contains(table) { return false }
        if sections.first?.version != table.version {
            // What stood for itself is over, where this one does not name it.
            if sections.first?.standsForMap == true, !table.entries.contains(where: { $0.number == current?.number }) {
                current = nil
            }
            sections.removeAll()
        }
        sections.removeAll { $0.sectionNumber == table.sectionNumber }
        sections.append(table)
        sections.sort { $0.sectionNumber < $1.sectionNumber }
        // The previous programs stay until all sections have come.
        guard sections.count > table.lastSectionNumber else { return false }
        transportStreamID = table.transportStreamID
        networkID = sections.lazy.compactMap(\.networkID).first
        let entries = sections.flatMap(\.entries).prefix(Self.programLimit)
        candidates = entries.map { entry in
            Candidate(entry: entry, map: candidates.first { $0.entry == entry }?.map)
        }
        maps = maps.filter { id, _ in entries.contains { $0.mapID == id } }
        repeats = 0
        choose()
        return true
    }

    /// - Returns: whether the program that is followed, or any map, is another than before.
    private mutating func adopt(_ map: ProgramDescription) -> Bool {
        var map = map
        if !silentVideos.isEmpty { map.chooseVideo(besides: silentVideos) }
        guard let i = candidates.firstIndex(where: { $0.entry.number == map.number && $0.entry.mapID == map.mapID })
        else { return false }
        let isRepeat = candidates[i].map == map
        if isRepeat, current != nil || repeats > candidates.count { return false }
        if isRepeat { repeats += 1 }
        candidates[i].map = map
        let previous = current
        choose()
        return current != previous || !isRepeat
    }

    /// Nothing comes of the main video: follows another one of the program.
    /// - Returns: whether there is one.
    mutating func leave(silentVideo id: Int) -> Bool {
        guard let number = current?.number, let i = candidates.firstIndex(where: { $0.entry.number == number && $0.map != nil })
        else { return false }
        silentVideos.insert(id)
        candidates[i].map?.chooseVideo(besides: silentVideos)
        choose()
        return current?.mainVideo?.id != id
    }

    /// - Returns: whether it names others than before.
    private mutating func adoptAccess(_ section: [UInt8]) -> Bool {
        guard let identifiers = ConditionalAccess.identifiers(inSection: section) else { return false }
        let number = section[6]
        guard number < Self.accessSectionLimit, accessIDs[number] != identifiers else { return false }
        accessIDs[number] = identifiers
        accessIDs = accessIDs.filter { $0.key <= section[7] }
        return true
    }

    private mutating func choose() {
        chooseProgram()
        let number = current?.number
        current?.otherPrograms = candidates.map(\.entry.number).filter { $0 != number }
        if current?.otherPrograms.isEmpty == false { isMultiplex = true }
    }

    private mutating func chooseProgram() {
        // A program that is followed and still has its video is kept.
        if let now = current, now.hasDecodableVideo,
            let same = candidates.first(where: { $0.entry.number == now.number && $0.map?.hasDecodableVideo == true })
        {
            current = same.map
            return
        }
        // Maps repeat several times a second: when one came again, those that did not come before it will not come.
        let waits = repeats == 0
        for candidate in candidates {
            guard let map = candidate.map else {
                if waits { return }
                continue
            }
            if map.hasDecodableVideo {
                current = map
                return
            }
        }
        let known = candidates.compactMap(\.map)
        if candidates.contains(where: { $0.map == nil }), waits { return }
        current = known.first { $0.streams.contains { $0.codec.isVideo } } ?? known.first
    }
}

extension ProgramDescription {
    fileprivate var hasDecodableVideo: Bool { mainVideo?.codec.video != nil }
}
