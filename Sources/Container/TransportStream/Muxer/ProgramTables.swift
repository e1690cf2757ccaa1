/// The two tables of a transport stream that goes out, as whole packets, and their versions. A table gets a new version when it says
/// something else, and both do with another layout.
struct ProgramTables {
    let addresses: ProgramAddresses
    let association: [UInt8]
    let map: [UInt8]
    private let associationVersion, mapVersion: UInt8
    /// The newest version (0 to 31) of the two.
    let version: UInt8

    /// - Parameters:
    ///   - previous: the tables before, for the same receivers.
    ///   - isSameLayout: whether those are of the same layout.
    /// - Throws: when the layout has more streams than a program map can hold.
    init(
        _ layout: TransportStreamLayout, in multiplex: Multiplex?, after previous: ProgramTables?, isSameLayout: Bool
    ) throws(ContainerError) {
        guard let previous else {
            self = try ProgramTables(layout, in: multiplex, version: 0)
            return
        }
        var next = (previous.version + 1) & 31
        // The association may have had all versions between.
        if next == previous.mapVersion { next = (next + 1) & 31 }
        guard isSameLayout else {
            self = try ProgramTables(layout, in: multiplex, version: next, keeping: previous.addresses)
            return
        }
        let addresses = ProgramAddresses(layout, in: multiplex, keeping: previous.addresses)
        let association = OutgoingTables.association(addresses, multiplex, version: previous.associationVersion)
        let map = try OutgoingTables.map(layout, addresses, version: previous.mapVersion)
        let (isSameAssociation, isSameMap) = (association == previous.association, map == previous.map)
        self.addresses = addresses
        associationVersion = isSameAssociation ? previous.associationVersion : next
        mapVersion = isSameMap ? previous.mapVersion : next
        version = isSameAssociation && isSameMap ? previous.version : next
        self.association =
            isSameAssociation ? association : OutgoingTables.association(addresses, multiplex, version: next)
        self.map = isSameMap ? map : try OutgoingTables.map(layout, addresses, version: next)
    }

    /// Tables of one version.
    /// - Throws: when the layout has more streams than a program map can hold.
    init(
        _ layout: TransportStreamLayout, in multiplex: Multiplex?, version: UInt8, keeping previous: ProgramAddresses? = nil
    ) throws(ContainerError) {
        addresses = ProgramAddresses(layout, in: multiplex, keeping: previous)
        association = OutgoingTables.association(addresses, multiplex, version: version)
        map = try OutgoingTables.map(layout, addresses, version: version)
        (associationVersion, mapVersion, self.version) = (version, version, version)
    }
}
