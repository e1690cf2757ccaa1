import Endpoint

/// The numbers that header extensions have between two sides (RFC 8285); 0 for those that are not used.
public struct RTPExtensionMap: Hashable, Sendable {
    public var absoluteSendTime = 0
    public var transportSequence = 0
    public var playoutDelay = 0
    public var absoluteCaptureTime = 0
    public var mid = 0
    /// The names of a picture's layers, in packets and in those that are sent again (RFC 8852).
    public var layer = 0
    public var repeatedLayer = 0

    /// How session descriptions name them.
    public enum URI {
        public static let absoluteSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        public static let transportSequence =
            "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        public static let playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        public static let absoluteCaptureTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
        public static let mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
        public static let layer = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
        public static let repeatedLayer = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"

        /// Those that are understood here.
        public static let all = [
            absoluteSendTime, transportSequence, playoutDelay, absoluteCaptureTime, mid, layer, repeatedLayer,
        ]
    }

    public init() {}

    public init(_ extensions: [SDPHeaderExtension]) {
        for each in extensions {
            switch each.uri {
            case URI.absoluteSendTime: absoluteSendTime = each.id
            case URI.transportSequence: transportSequence = each.id
            case URI.playoutDelay: playoutDelay = each.id
            case URI.absoluteCaptureTime: absoluteCaptureTime = each.id
            case URI.mid: mid = each.id
            case URI.layer: layer = each.id
            case URI.repeatedLayer: repeatedLayer = each.id
            default: break
            }
        }
    }

    /// Both sides' numbers together. In a bundle a number means the same in all sections.
    mutating func merge(_ other: RTPExtensionMap) {
        if absoluteSendTime == 0 { absoluteSendTime = other.absoluteSendTime }
        if transportSequence == 0 { transportSequence = other.transportSequence }
        if playoutDelay == 0 { playoutDelay = other.playoutDelay }
        if absoluteCaptureTime == 0 { absoluteCaptureTime = other.absoluteCaptureTime }
        if mid == 0 { mid = other.mid }
        if layer == 0 { layer = other.layer }
        if repeatedLayer == 0 { repeatedLayer = other.repeatedLayer }
    }

    var largest: Int { max(max(absoluteSendTime, transportSequence), max(playoutDelay, max(absoluteCaptureTime, mid))) }
}

/// What the header extensions of one packet say.
public struct RTPExtensions: Hashable, Sendable, BitwiseCopyable {
    /// 24 bits: seconds with 18 bits of fraction, modulo 64 s.
    public var absoluteSendTime: UInt32?
    public var transportSequence: UInt16?
    /// 12 bits each, in steps of 10 ms.
    public var leastPlayoutDelay: UInt16?
    public var mostPlayoutDelay: UInt16?
    /// When the picture was taken, by the clock of the one who took it: NTP's 32.32 bits.
    public var captureTime: UInt64?
    /// How far that clock is ahead of the sender's, in NTP's 32.32 bits.
    public var captureClockOffset: Int64?
    /// Where the section's name lies in the packet, and the layer's.
    var mid = Name()
    var layer = Name()
    var repeatedLayer = Name()

    /// A name that lies in a packet; empty where it has none.
    struct Name: Hashable, Sendable, BitwiseCopyable {
        var start: UInt16 = 0
        var count: UInt8 = 0

        /// Whether a packet bears just this name.
        func isEqual(to name: [UInt8], in packet: Span<UInt8>) -> Bool {
            guard !name.isEmpty, Int(count) == name.count else { return false }
            for place in name.indices where packet[Int(start) + place] != name[place] { return false }
            return true
        }
    }

    public init() {}

    /// Reads the elements of an extension.
    /// - Parameters:
    ///   - packet: the whole packet.
    ///   - range: the extension's bytes behind its four-byte header, in the packet. Any bytes.
    ///   - profile: the two bytes that name the form.
    init(in packet: Span<UInt8>, _ range: Range<Int>, profile: Int, map: RTPExtensionMap) {
        let hasLongHeaders = profile & 0xfff0 == 0x1000
        guard hasLongHeaders || profile == 0xbede else { return }
        var at = range.lowerBound
        while at < range.upperBound {
            // Padding.
            if packet[at] == 0 {
                at += 1
                continue
            }
            let id: Int
            let count: Int
            if hasLongHeaders {
                guard at + 1 < range.upperBound else { return }
                (id, count) = (Int(packet[at]), Int(packet[at + 1]))
                at += 2
            } else {
                (id, count) = (Int(packet[at] >> 4), Int(packet[at] & 15) + 1)
                if id == 15 { return }
                at += 1
            }
            guard at + count <= range.upperBound else { return }
            read(id, packet, at, count, map)
            at += count
        }
    }

    private mutating func read(_ id: Int, _ packet: Span<UInt8>, _ at: Int, _ count: Int, _ map: RTPExtensionMap) {
        guard id > 0 else { return }
        if id == map.absoluteSendTime, count >= 3 {
            absoluteSendTime = UInt32(packet.bigEndian(at: at, 3))
        } else if id == map.transportSequence, count >= 2 {
            transportSequence = UInt16(packet.bigEndian(at: at, 2))
        } else if id == map.playoutDelay, count >= 3 {
            let both = packet.bigEndian(at: at, 3)
            (leastPlayoutDelay, mostPlayoutDelay) = (UInt16(both >> 12), UInt16(both & 0xfff))
        } else if id == map.absoluteCaptureTime, count >= 8 {
            captureTime = packet.bigEndian(at: at, 8)
            if count >= 16 { captureClockOffset = Int64(bitPattern: packet.bigEndian(at: at + 8, 8)) }
        } else if count > 0 {
            let name = Name(start: UInt16(at), count: UInt8(min(count, 255)))
            if id == map.mid {
                mid = name
            } else if id == map.layer {
                layer = name
            } else if id == map.repeatedLayer {
                repeatedLayer = name
            }
        }
    }
}

extension Span<UInt8> {
    /// A number of so many bytes, the highest first. The caller has checked that they are there.
    func bigEndian(at start: Int, _ count: Int) -> UInt64 {
        var value: UInt64 = 0
        for i in start..<start + count { value = value << 8 | UInt64(self[i]) }
        return value
    }
}
