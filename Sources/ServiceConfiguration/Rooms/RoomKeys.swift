/// A key of a room beside the settings of its streams.
public struct RoomKey: Sendable {
    public let name: String
    public let help: String
    public let allowed: String
    public let defaultText: String
    public let example: String
}

/// The keys of a room in the configuration. Beside them a room has those of `StreamKeys`, for all its streams.
public enum RoomKeys {
    public static let all: [RoomKey] = [
        RoomKey(
            name: "key", help: "What the room's links are signed with (HS256). Better in a file.",
            allowed: "32 to 256 letters, digits and signs", defaultText: "",
            example: "write-a-long-random-text-of-32-or-more"),
        RoomKey(
            name: "key-file", help: "The file with the key, in one line.", allowed: "the path of a file", defaultText: "",
            example: "/etc/burnish/team.key"),
        RoomKey(
            name: "key-credential", help: "The systemd credential with the key.", allowed: "the name of a systemd credential",
            defaultText: "", example: "team-key"),
        RoomKey(
            name: "guests", help: "How many people it holds.", allowed: "1 to \(RoomDefinition.mostGuests)", defaultText: "8",
            example: ""),
        RoomKey(
            name: "port", help: "The UDP port of the first guest. Each other one has the next. 0 is any free port.",
            allowed: "0 to 65535, with room above it for each guest", defaultText: "0", example: ""),
        RoomKey(
            name: "tcp",
            help: "The TCP port of the first guest, for networks without UDP. Each other one has the next. 0 is any free port.",
            allowed: "0 to 65535, with room above it for each guest", defaultText: "", example: "8190"),
        RoomKey(
            name: "address", help: "Where peers send to, behind NAT.",
            allowed: "an IP address, or a list of at most \(RoomDefinition.mostAddresses)", defaultText: "",
            example: "203.0.113.5"),
    ]

    static let names = all.map(\.name)
}
