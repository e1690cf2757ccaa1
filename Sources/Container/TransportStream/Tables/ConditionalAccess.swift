/// Where messages for descramblers lie: the identifiers in CA descriptors (ISO/IEC 13818-1, 2.6.16).
enum ConditionalAccess {
    /// The packet identifiers in a loop of descriptors. Any bytes at all.
    static func identifiers(in descriptors: some RandomAccessCollection<UInt8>) -> [Int] {
        let bytes = Array(descriptors)
        var found: [Int] = []
        var at = 0
        while at + 2 <= bytes.count {
            let end = at + 2 + Int(bytes[at + 1])
            guard end <= bytes.count else { break }
            if bytes[at] == 0x09, end - at >= 6 { found.append(Int(bytes[at + 4] & 0x1F) << 8 | Int(bytes[at + 5])) }
            at = end
        }
        return found
    }

    /// A loop of descriptors without those for descramblers. Any bytes at all.
    static func without(_ descriptors: some RandomAccessCollection<UInt8>) -> [UInt8] {
        let bytes = Array(descriptors)
        var kept: [UInt8] = []
        var at = 0
        while at + 2 <= bytes.count {
            let end = at + 2 + Int(bytes[at + 1])
            guard end <= bytes.count else { break }
            if bytes[at] != 0x09 { kept += bytes[at..<end] }
            at = end
        }
        return kept
    }

    /// The identifiers that a section of the conditional access table names (ISO/IEC 13818-1, 2.4.4.6): those of entitlement
    /// management messages (EMM).
    /// - Parameter s: the section with its header and checksum. Any bytes at all.
    /// - Returns: nil for another section, or one that is not valid yet.
    static func identifiers(inSection s: [UInt8]) -> [Int]? {
        guard s.count >= 12, s[0] == 0x01, s[5] & 1 == 1 else { return nil }
        return identifiers(in: s[8..<(s.count - 4)])
    }
}
