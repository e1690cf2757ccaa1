extension MediaSection {
    /// A format as `rtpmap` has it (RFC 8866, 6.6).
    public struct RTPMap: Hashable, Sendable {
        public var payloadType: UInt8
        /// As it was written. Compare without regard to case.
        public var encoding: String
        public var clockRate: Int
        /// Of sound; 1 where it is not given.
        public var channels: Int

        public init(payloadType: UInt8, encoding: String, clockRate: Int, channels: Int = 1) {
            self.payloadType = payloadType
            self.encoding = encoding
            self.clockRate = clockRate
            self.channels = channels
        }

        /// As the attribute has it.
        public var text: String { "\(payloadType) \(encoding)/\(clockRate)" + (channels > 1 ? "/\(channels)" : "") }
    }

    /// What a sender says of one of its sources (RFC 5576).
    public struct Source: Hashable, Sendable {
        public var id: UInt32
        /// `cname`; nil where it is not said.
        public var name: String?

        public init(id: UInt32, name: String? = nil) {
            self.id = id
            self.name = name
        }
    }

    /// The section's name in a bundle.
    public var mid: String? { value(of: "mid") }
    public var hasMultiplexedRTCP: Bool { has("rtcp-mux") || has("rtcp-mux-only") }
    /// Feedback may come without a report before it (RFC 5506).
    public var hasReducedSizeRTCP: Bool { has("rtcp-rsize") }

    /// RTCP's port where it is neither the stream's own nor the one above (RFC 3605).
    public var rtcpPort: UInt16? { value(of: "rtcp").flatMap { UInt16($0[...].splitOnce(at: " ").0) } }

    /// Those that are numbers below 128.
    public var payloadTypes: [UInt8] { formats.compactMap { UInt8($0) }.filter { $0 < 128 } }

    /// The formats that are listed and described, in the order of preference.
    public var rtpMaps: [RTPMap] {
        let maps = keyed("rtpmap").compactMap { key, rest -> RTPMap? in
            let parts = rest.split(separator: "/")
            guard let type = UInt8(key), type < 128, parts.count >= 2, let rate = Int(parts[1]),
                (1...1_000_000).contains(rate)
            else { return nil }
            let channels = parts.count > 2 ? Int(parts[2]) ?? 1 : 1
            return RTPMap(
                payloadType: type, encoding: String(parts[0]), clockRate: rate, channels: min(max(channels, 1), 255))
        }
        return payloadTypes.compactMap { type in maps.first { $0.payloadType == type } }
    }

    /// A format's parameters: names in lower case, and values; empty ones for flags.
    public func parameters(of payloadType: UInt8) -> [String: String] {
        var all: [String: String] = [:]
        for (key, rest) in keyed("fmtp") where UInt8(key) == payloadType {
            for pair in rest.split(separator: ";") {
                let (name, value) = pair.splitOnce(at: "=")
                let trimmed = name.split(separator: " ").joined(separator: " ").lowercased()
                if all[trimmed] == nil { all[trimmed] = (value?.drop { $0 == " " }).map(String.init) ?? "" }
            }
        }
        return all
    }

    /// The feedback that goes with a format, such as `nack pli`. What is said for all formats (`*`) counts.
    public func feedback(of payloadType: UInt8) -> [String] {
        keyed("rtcp-fb").compactMap { $0.key == "*" || UInt8($0.key) == payloadType ? String($0.rest) : nil }
    }

    /// The format in which packets of another one are sent again (RFC 4588).
    public func retransmission(of payloadType: UInt8) -> UInt8? {
        rtpMaps.first {
            $0.encoding.lowercased() == "rtx" && parameters(of: $0.payloadType)["apt"].flatMap { UInt8($0) } == payloadType
        }?.payloadType
    }

    /// The format in which packets of another one carry earlier ones along (RFC 2198): `fmtp` names the format for each of them.
    public func redundancy(of payloadType: UInt8) -> UInt8? {
        guard let format = rtpMaps.first(where: { $0.payloadType == payloadType }) else { return nil }
        return rtpMaps.first { map in
            map.encoding.lowercased() == "red" && map.clockRate == format.clockRate
                && parameters(of: map.payloadType).keys.contains { key in
                    let types = key.split(separator: "/", omittingEmptySubsequences: false)
                    return types.count > 1 && types.allSatisfy { UInt8($0) == payloadType }
                }
        }?.payloadType
    }

    /// The sources that are named, each once.
    public var sources: [Source] {
        var all: [Source] = []
        for (key, rest) in keyed("ssrc") {
            guard let id = UInt32(key) else { continue }
            let (attribute, value) = rest.splitOnce(at: ":")
            let name = attribute == "cname" ? value.map(String.init) : nil
            if let index = all.firstIndex(where: { $0.id == id }) {
                all[index].name = all[index].name ?? name
            } else {
                all.append(Source(id: id, name: name))
            }
        }
        return all
    }

    /// Groups of sources, such as `FID`: a source and the one that sends its packets again (RFC 5576, 4.2).
    public func sourceGroups(_ semantics: String) -> [[UInt32]] {
        keyed("ssrc-group").compactMap { key, rest in
            key == semantics ? rest.split(separator: " ").compactMap { UInt32($0) } : nil
        }
    }
}

extension SessionDescription {
    /// The names of the sections that share one transport (RFC 9143); empty where none do.
    public var bundle: [String] {
        keyed("group").first { $0.key == "BUNDLE" }?.rest.split(separator: " ").map(String.init) ?? []
    }

    /// The address of a section.
    public func connection(of section: MediaSection) -> String? { section.connection ?? connection }
}
