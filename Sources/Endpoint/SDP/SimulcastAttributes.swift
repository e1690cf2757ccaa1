extension MediaSection {
    /// The longest name of a layer that is read. Packets bear it, mostly in an extension of 16 bytes at most.
    static let longestLayerName = 64

    /// A name that a sender gives a layer (RFC 8851), and the payload types that it may have; empty where it may have any.
    private var layers: [(name: String, direction: Substring, payloadTypes: [UInt8])] {
        keyed("rid").compactMap { key, rest in
            let (direction, restrictions) = rest.splitOnce(at: " ")
            guard Self.isLayerName(key) else { return nil }
            var types: [UInt8] = []
            for restriction in (restrictions ?? "").split(separator: ";") where restriction.hasPrefix("pt=") {
                types = restriction.dropFirst(3).split(separator: ",").compactMap { UInt8($0) }
            }
            return (String(key), direction, types)
        }
    }

    private static func isLayerName(_ text: Substring) -> Bool {
        (1...longestLayerName).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// The names of the layers in which the section's picture is sent (simulcast, RFC 8853), in their order. Where a layer has several
    /// forms, it is the first one that a format can have. A layer that begins paused (`~`) counts.
    /// - Parameter payloadType: of the format.
    public func sentLayers(in payloadType: UInt8) -> [String] {
        let usable = layers.filter {
            $0.direction == "send" && ($0.payloadTypes.isEmpty || $0.payloadTypes.contains(payloadType))
        }
        guard let simulcast = value(of: "simulcast") else { return Self.once(usable.map(\.name)) }
        let words = simulcast.split(separator: " ")
        guard let place = words.firstIndex(of: "send"), place + 1 < words.endIndex else { return Self.once(usable.map(\.name)) }
        return Self.once(
            words[place + 1].split(separator: ";").compactMap { forms in
                forms.split(separator: ",").lazy.map { $0.first == "~" ? $0.dropFirst() : $0 }
                    .first { form in usable.contains { $0.name == form } }.map { String($0) }
            })
    }

    private static func once(_ names: [String]) -> [String] {
        var all: [String] = []
        for name in names where !all.contains(name) { all.append(name) }
        return all
    }

    /// Says that layers are received: what answers ``sentLayers(in:)``.
    public mutating func addReceivedLayers(_ names: [String]) {
        for name in names { add("rid", "\(name) recv") }
        if names.count > 1 { add("simulcast", "recv \(names.joined(separator: ";"))") }
    }
}
