/// Makes the two tables of a transport stream that goes out, as whole packets (ISO/IEC 13818-1, 2.4.4).
enum OutgoingTables {
    /// The program association table: one packet, or up to six in a multiplex.
    /// - Parameter version: 0 to 31.
    static func association(_ program: ProgramAddresses, _ multiplex: Multiplex?, version: UInt8) -> [UInt8] {
        // Number 0 stands for the network information.
        var body = multiplex?.networkPID.map { [0, 0] + pidField($0) } ?? []
        body += high(program.number) + pidField(program.map)
        for other in multiplex?.others ?? [] { body += high(other.number) + pidField(other.mapPID) }
        let stream = multiplex?.transportStreamID ?? TransportStreamLayout.transportStreamID
        return packets(section(table: 0x00, extension: stream, version, body), pid: 0)
    }

    /// The program map table: a packet, or more where there are many descriptors.
    /// - Parameter version: 0 to 31.
    /// - Throws: when it does not fit into one section.
    static func map(
        _ layout: TransportStreamLayout, _ program: ProgramAddresses, version: UInt8
    ) throws(ContainerError) -> [UInt8] {
        var body = pidField(program.identifier(ofCounter: layout.clockPlace))
        let descriptors = MetadataPointer.pointing(layout.programDescriptors, to: program.number)
        body += high(0xf000 | UInt16(truncatingIfNeeded: descriptors.count)) + descriptors
        func add(_ type: UInt8, _ pid: UInt16, _ descriptors: [UInt8]) {
            let length = descriptors.count
            body += [type] + pidField(pid)
            body += [0xf0 | UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
            body += descriptors
        }
        if let video = layout.video { add(video.streamType, program.video, video.descriptors) }
        for (index, stream) in layout.passedStreams.enumerated() {
            add(stream.streamType, program.passed(index), stream.descriptors)
        }
        guard body.count + 9 <= 1021 else {
            throw ContainerError(
                "\(layout.passedStreams.count) streams' descriptors do not fit into a program map",
                place: "transport stream muxer", advice: "pass fewer streams through")
        }
        return packets(section(table: 0x02, extension: program.number, version, body), pid: program.map)
    }

    private static func high(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xff)] }
    private static func pidField(_ pid: UInt16) -> [UInt8] { high(0xe000 | pid & 0x1fff) }

    private static func section(table: UInt8, extension: UInt16, _ version: UInt8, _ body: [UInt8]) -> [UInt8] {
        var section = [table] + high(UInt16(0xb000 | (body.count + 9)))
        section += high(`extension`) + [0xc1 | version << 1, 0, 0]
        section += body
        let sum = CRC32.mpeg(section)
        return section + [UInt8(sum >> 24), UInt8(sum >> 16 & 0xff), UInt8(sum >> 8 & 0xff), UInt8(sum & 0xff)]
    }

    /// Cuts a section into packets; the muxer fills in their continuity counters.
    private static func packets(_ section: [UInt8], pid: UInt16) -> [UInt8] {
        var result: [UInt8] = []
        var rest = ([0] + section)[...]
        var isFirst = true
        while !rest.isEmpty {
            let part = rest.prefix(TransportPacket.size - 4)
            result += [0x47] + high((isFirst ? 0x4000 : 0) | pid & 0x1fff) + [0x10]
            result += part
            result += [UInt8](repeating: 0xff, count: TransportPacket.size - 4 - part.count)
            rest = rest.dropFirst(part.count)
            isFirst = false
        }
        return result
    }
}
