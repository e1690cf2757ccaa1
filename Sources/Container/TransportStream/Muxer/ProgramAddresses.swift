/// What receivers know a program that goes out by: its number, and the packet identifiers of its map and streams.
struct ProgramAddresses: Hashable {
    let number: UInt16
    /// Those of the map, the video, and each passed stream.
    private let identifiers: [UInt16]
    /// What each would have been, had it been free.
    private let wanted: [UInt16]

    var map: UInt16 { identifiers[0] }
    var video: UInt16 { identifiers[1] }
    func passed(_ index: Int) -> UInt16 { identifiers[2 + index] }

    /// Whether receivers know the program by the same as before.
    func isSame(as other: ProgramAddresses) -> Bool { number == other.number && identifiers == other.identifiers }

    /// The packet identifier that a continuity counter of the muxer belongs to: the association's, then in order.
    func identifier(ofCounter place: Int) -> UInt16 { place == 0 ? 0 : identifiers[place - 1] }

    /// The lowest identifier that is chosen freely: tables of DVB lie below (ETSI EN 300 468, 5.1.3).
    private static let first = 0x20
    /// The highest: ATSC's tables and null packets lie above.
    private static let last = 0x1FFA

    /// In a multiplex, the number and the identifiers that the program has in the input. Where another program or stream uses one of
    /// those, the next free identifier above takes its place. What has moved stays there as long as it can.
    /// - Parameters:
    ///   - multiplex: nil for a stream of one program, which has number 1 and the layout's identifiers, where no two are the same.
    ///   - previous: the addresses before.
    init(_ layout: TransportStreamLayout, in multiplex: Multiplex?, keeping previous: ProgramAddresses?) {
        var wanted = [layout.mapPID, layout.videoPID]
        wanted += layout.passedStreams.indices.map { layout.pid(ofPassedStream: $0) }
        if let multiplex {
            wanted[0] = multiplex.program.mapPID
            if let video = multiplex.videoPID { wanted[1] = video }
            for (index, pid) in multiplex.passedPIDs.prefix(layout.passedStreams.count).enumerated() { wanted[2 + index] = pid }
        }
        number = multiplex?.program.number ?? layout.programNumber
        self.wanted = wanted

        var used = multiplex?.passing ?? PacketIdentifiers()
        var chosen = [UInt16?](repeating: nil, count: wanted.count)
        func claim(_ pid: UInt16, at place: Int) {
            guard chosen[place] == nil, pid >= 0x10, pid <= Self.last, !used.contains(Int(pid)) else { return }
            used.insert(Int(pid))
            chosen[place] = pid
        }
        if multiplex != nil, let previous {
            for place in wanted.indices.prefix(previous.wanted.count) where previous.wanted[place] == wanted[place] {
                claim(previous.identifiers[place], at: place)
            }
        }
        for place in wanted.indices { claim(wanted[place], at: place) }
        for place in wanted.indices where chosen[place] == nil {
            var pid = Int(wanted[place])
            repeat { pid = pid < Self.first || pid >= Self.last ? Self.first : pid + 1 } while used.contains(pid)
            claim(UInt16(pid), at: place)
        }
        identifiers = chosen.map { $0! }
    }
}
