import Endpoint
import Media

/// A coded format of RTP packets that both sides understand, with the number that it has between them.
public struct RTPFormat: Hashable, Sendable {
    public enum Codec: String, CaseIterable, Hashable, Sendable {
        case h264, vp8, opus

        public var isVideo: Bool { self != .opus }
        /// As session descriptions write it.
        public var encoding: String {
            switch self {
            case .h264: "H264"
            case .vp8: "VP8"
            case .opus: "opus"
            }
        }
    }

    public var codec: Codec
    public var payloadType: UInt8
    /// Ticks of the RTP time stamps in a second.
    public var clockRate: Int
    /// Of sound.
    public var channels: Int
    /// The payload type in which its packets are sent again (RFC 4588); nil where they are sent again as they were.
    public var retransmission: UInt8?
    /// The payload type in which its packets carry earlier ones along (RFC 2198); nil where they come alone.
    public var redundancy: UInt8?
    /// Of H.264: the receiver shows the constrained baseline profile alone.
    public var isBaseline = false
    /// H.264's parameter sets that the description has, without start codes.
    public var parameterSets: [[UInt8]] = []

    public init(
        _ codec: Codec, payloadType: UInt8, clockRate: Int? = nil, channels: Int = 1, retransmission: UInt8? = nil,
        redundancy: UInt8? = nil
    ) {
        self.codec = codec
        self.payloadType = payloadType
        self.clockRate = clockRate ?? (codec.isVideo ? 90_000 : 48_000)
        self.channels = channels
        self.retransmission = retransmission
        self.redundancy = redundancy
    }
}

/// Which feedback a track's two sides have agreed on.
public struct RTPFeedback: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Lost packets are asked for and sent again.
    public static let retransmission = RTPFeedback(rawValue: 1)
    /// Picture loss indications.
    public static let pictureLoss = RTPFeedback(rawValue: 2)
    /// Full intra requests (RFC 5104).
    public static let intraRequest = RTPFeedback(rawValue: 4)
    /// The receiver says which bit rate it can take (`goog-remb`).
    public static let bitRate = RTPFeedback(rawValue: 8)
    /// The receiver says when each packet came (`transport-cc`).
    public static let arrivals = RTPFeedback(rawValue: 16)

    /// - Parameter attributes: values of `rtcp-fb` without the payload type. Others than those above are left out.
    public init(attributes: [String]) {
        self = []
        for attribute in attributes {
            switch attribute {
            case "nack": insert(.retransmission)
            case "nack pli": insert(.pictureLoss)
            case "ccm fir": insert(.intraRequest)
            case "goog-remb": insert(.bitRate)
            case "transport-cc": insert(.arrivals)
            default: break
            }
        }
    }
}

/// One of the sizes in which a sender sends a picture at a time (simulcast, RFC 8853).
public struct RTPLayer: Hashable, Sendable {
    /// Its packets bear it at first (RFC 8852), so that their source is known. Nil where the description names the source.
    public var name: String?
    public var source: UInt32?
    public var retransmissionSource: UInt32?

    public init(name: String? = nil, source: UInt32? = nil, retransmissionSource: UInt32? = nil) {
        (self.name, self.source, self.retransmissionSource) = (name, source, retransmissionSource)
    }
}

/// Reads how large the pictures are with which a decoder can begin at a payload: nil where it cannot. Any bytes; thread-safe.
public typealias PictureSizeReader = @Sendable (RTPFormat.Codec, Span<UInt8>) -> PictureSize?

/// One stream of media between two sides: a section of their session description.
public struct RTPTrack: Hashable, Sendable {
    /// At least one. A sender may change between them at any packet; we send the first.
    public var formats: [RTPFormat]
    public var extensions = RTPExtensionMap()
    public var feedback: RTPFeedback = []
    /// The section's name, which packets of a bundle may bear.
    public var mid: String?
    /// The sender's synchronisation source, and the one that sends its packets again. Nil where the description does not say.
    public var source: UInt32?
    public var retransmissionSource: UInt32?
    /// The layers of a picture that is sent in several sizes; empty where there is one. The largest that comes is received.
    public var layers: [RTPLayer] = []

    public init(_ formats: [RTPFormat]) {
        precondition(!formats.isEmpty, "a track has a format")
        self.formats = formats
    }

    public var isVideo: Bool { formats[0].codec.isVideo }

    /// Reads what a section of a session description says of a track, as far as it can be used here.
    /// - Parameter namesSender: the description was written by the one who sends, so that its sources are the sender's.
    /// - Returns: nil when none of its formats can be read.
    public init?(_ section: MediaSection, namesSender: Bool = true) {
        var formats: [RTPFormat] = []
        var feedback: RTPFeedback = []
        for map in section.readableMaps {
            guard let codec = RTPFormat.Codec.allCases.first(where: { $0.encoding.lowercased() == map.encoding.lowercased() })
            else { continue }
            let parameters = section.parameters(of: map.payloadType)
            var format = RTPFormat(
                codec, payloadType: map.payloadType, clockRate: map.clockRate, channels: map.channels,
                retransmission: section.retransmission(of: map.payloadType),
                redundancy: codec.isVideo ? nil : section.redundancy(of: map.payloadType))
            format.parameterSets = Self.parameterSets(parameters["sprop-parameter-sets"] ?? "")
            formats.append(format)
            feedback.formUnion(RTPFeedback(attributes: section.feedback(of: map.payloadType)))
        }
        guard !formats.isEmpty else { return nil }
        self.init(formats)
        self.feedback = feedback
        extensions = RTPExtensionMap(section.headerExtensions)
        mid = section.mid
        if namesSender {
            let pair = section.sourceGroups("FID").first { $0.count == 2 }
            source = pair?[0] ?? section.sources.first?.id
            retransmissionSource = pair?[1]
        }
    }

    /// Parameter sets in base 64, with commas between them. What cannot be read is left out.
    private static func parameterSets(_ text: String) -> [[UInt8]] {
        text.split(separator: ",").prefix(16).compactMap { Base64.decode($0) }.filter { !$0.isEmpty }
    }
}

/// Base 64 (RFC 4648), as session descriptions use it.
enum Base64 {
    static func decode(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count) = (0, 0)
        for digit in text.utf8 {
            if digit == UInt8(ascii: "=") { break }
            guard let value = value(of: digit) else { return nil }
            bits = (bits << 6 | value) & 0xffff
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> Int? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(digit) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit) - 97 + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit) - 48 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
