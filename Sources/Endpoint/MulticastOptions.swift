/// How packets of a multicast group travel, as keys of a URL say it: `iface=` and `ttl=`.
public struct MulticastOptions: Hashable, Sendable {
    /// The interface on which a group is joined or sent to: its name (`eth1`) or, for IPv4, one of its addresses; nil for the one
    /// that the system chooses.
    public var interface: String?
    /// How many routers a packet may pass, 1 to 255; nil for the system's choice, which is 1 for a group. For outputs.
    public var ttl: Int?

    public init(interface: String? = nil, ttl: Int? = nil) {
        self.interface = interface
        self.ttl = ttl
    }

    static let knownKeys = ["iface", "ttl"]
    /// The longest name that the system has.
    private static let longestInterface = 15

    /// Reads one key of a URL.
    /// - Throws: for a value that is none, or a key that came before.
    /// - Returns: false for a key of another kind.
    mutating func read(
        _ key: Substring, _ value: Substring?, fault: (String) -> TransportError
    ) throws(TransportError) -> Bool {
        switch key {
        case "iface":
            guard interface == nil else { throw fault("key iface is given twice") }
            let text = String(value ?? "")
            let isName = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
            guard isName, (1...Self.longestInterface).contains(text.utf8.count) else {
                throw fault("iface is the name of an interface, such as eth1, or its IPv4 address, not \(quoted(value ?? ""))")
            }
            interface = text
        case "ttl":
            guard ttl == nil else { throw fault("key ttl is given twice") }
            guard let value, let number = Int(value), (1...255).contains(number) else {
                throw fault("ttl is 1 to 255 routers, not \(quoted(value ?? ""))")
            }
            ttl = number
        default: return false
        }
        return true
    }

    /// The keys again, each as `key=value`.
    var pairs: [String] { (interface.map { ["iface=\($0)"] } ?? []) + (ttl.map { ["ttl=\($0)"] } ?? []) }
}
