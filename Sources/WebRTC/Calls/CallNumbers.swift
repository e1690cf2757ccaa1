/// The numbers that formats and header extensions have once a publisher's packets are here. Each publisher chooses its own in
/// its offer, and another one may follow it, so packets are renumbered as they come: whoever reads them never has to change.
public enum CallNumbers {
    /// A format's payload type, and that of its packets that are sent again.
    public struct Format: Hashable, Sendable {
        public var encoding: String
        public var payloadType: UInt8
        public var retransmission: UInt8?
    }

    public static let formats = [
        Format(encoding: "H264", payloadType: 96, retransmission: 97),
        Format(encoding: "VP8", payloadType: 98, retransmission: 99),
        Format(encoding: "opus", payloadType: 111, retransmission: nil),
    ]

    /// By URI. The name of a packet's section is left out: the payload type says which one it is.
    public static let extensions: [String: Int] = [
        "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time": 1,
        "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01": 2,
        "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay": 3,
        "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time": 4,
    ]
}

/// Gives the packets of one publisher the numbers of ``CallNumbers``.
struct PacketRenumbering: Sendable {
    /// By the publisher's payload type; 255 for those that the answer does not name.
    private var types: [128 of UInt8] = .init(repeating: 255)
    /// By the publisher's number; 0 for those that are taken out.
    private var extensions: [256 of UInt8] = .init(repeating: 0)

    init(_ tracks: [CallTrack]) {
        for track in tracks {
            guard let format = CallNumbers.formats.first(where: { $0.encoding.lowercased() == track.encoding.lowercased() })
            else { continue }
            types[Int(track.payloadType & 127)] = format.payloadType
            if let offered = track.retransmissionPayloadType, let number = format.retransmission {
                types[Int(offered & 127)] = number
            }
            for (uri, offered) in track.extensions where (1...255).contains(offered) {
                extensions[offered] = UInt8(CallNumbers.extensions[uri] ?? 0)
            }
        }
    }

    /// Renumbers an RTP packet in place.
    /// - Returns: false for a packet that is malformed, or whose format was not agreed on.
    func apply(to packet: UnsafeMutableRawBufferPointer) -> Bool {
        guard unsafe packet.count >= 12 && packet[0] >> 6 == 2 else { return false }
        let type = unsafe types[Int(packet[1] & 127)]
        guard type != 255 else { return false }
        unsafe packet[1] = packet[1] & 0x80 | type
        guard unsafe packet[0] & 0x10 != 0 else { return true }
        let head = unsafe 12 + 4 * Int(packet[0] & 15)
        guard packet.count >= head + 4 else { return false }
        let profile = unsafe Int(packet[head]) << 8 | Int(packet[head + 1])
        let end = unsafe head + 4 + 4 * (Int(packet[head + 2]) << 8 | Int(packet[head + 3]))
        guard end <= packet.count else { return false }
        let elements = unsafe UnsafeMutableRawBufferPointer(rebasing: packet[head + 4..<end])
        // RFC 8285, 4.2 and 4.3. Other forms are nobody's here.
        switch profile {
        case 0xbede: unsafe renumberShort(elements)
        case 0x1000...0x100f: unsafe renumberLong(elements)
        default: break
        }
        return true
    }

    /// Elements with one byte before their data.
    private func renumberShort(_ bytes: UnsafeMutableRawBufferPointer) {
        var at = 0
        while at < bytes.count {
            let head = unsafe bytes[at]
            guard head >> 4 != 0 else {
                at += 1
                continue
            }
            let end = at + 2 + Int(head & 15)
            // 15 ends the list.
            guard head >> 4 != 15, end <= bytes.count else { return unsafe clear(bytes, at..<bytes.count) }
            let number = extensions[Int(head >> 4)]
            if number == 0 { unsafe clear(bytes, at..<end) } else { unsafe bytes[at] = number << 4 | head & 15 }
            at = end
        }
    }

    /// Elements with two bytes before their data.
    private func renumberLong(_ bytes: UnsafeMutableRawBufferPointer) {
        var at = 0
        while at < bytes.count {
            guard unsafe bytes[at] != 0 else {
                at += 1
                continue
            }
            guard at + 2 <= bytes.count, case let end = unsafe at + 2 + Int(bytes[at + 1]), end <= bytes.count else {
                return unsafe clear(bytes, at..<bytes.count)
            }
            let number = unsafe extensions[Int(bytes[at])]
            if number == 0 { unsafe clear(bytes, at..<end) } else { unsafe bytes[at] = number }
            at = end
        }
    }

    /// Zeros are padding.
    private func clear(_ bytes: UnsafeMutableRawBufferPointer, _ range: Range<Int>) {
        for index in range { unsafe bytes[index] = 0 }
    }
}
