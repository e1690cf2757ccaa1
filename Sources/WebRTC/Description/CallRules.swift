import Endpoint

/// Which side of a call the peer is.
public enum CallKind: Sendable {
    /// The peer sends and we receive: WHIP (RFC 9725).
    case publisher
    /// We send and the peer receives: WHEP.
    case viewer
}

/// The formats that an answer may choose. The module packs and unpacks none of them; it only agrees on them.
public struct CallRules: Hashable, Sendable {
    public enum VideoFormat: String, Hashable, Sendable { case h264 = "H264", vp8 = "VP8" }

    /// H.264 profiles by the first two bytes of `profile-level-id`, as far as they matter here (RFC 6184, 8.1).
    public enum H264Profile: Hashable, CaseIterable, Sendable {
        case constrainedBaseline, baseline, main, constrainedHigh, high
    }

    /// The picture's formats, the best first; empty where there is no picture.
    public var video: [VideoFormat]
    /// The best first. Others are not taken.
    public var h264Profiles: [H264Profile]
    /// H.264's packetization modes that are taken; empty for a format that does not say, which is mode 0 (RFC 6184, 8.1). What we send
    /// is cut into parts (mode 1), and those who say nothing mostly read all of it.
    public var packetizationModes: Set<String>
    /// Whether there is sound: Opus.
    public var hasSound: Bool
    /// Packets may be sent again in a format of their own (RFC 4588).
    public var allowsRetransmissionFormat: Bool
    /// Packets of sound may carry earlier ones along (RFC 2198) for those who offer that before the plain format.
    public var allowsRedundancy: Bool
    /// Feedback for the picture, as in `rtcp-fb`.
    public var videoFeedback: Set<String>
    public var audioFeedback: Set<String>
    /// Header extensions by their URIs.
    public var extensions: Set<String>

    public init(
        video: [VideoFormat], h264Profiles: [H264Profile] = H264Profile.allCases,
        packetizationModes: Set<String> = ["", "1"], hasSound: Bool = true,
        allowsRetransmissionFormat: Bool = true, allowsRedundancy: Bool = false,
        videoFeedback: Set<String> = ["nack", "nack pli", "ccm fir", "goog-remb", "transport-cc"],
        audioFeedback: Set<String> = ["transport-cc"], extensions: Set<String> = Self.knownExtensions
    ) {
        (self.video, self.h264Profiles, self.hasSound) = (video, h264Profiles, hasSound)
        self.packetizationModes = packetizationModes
        (self.allowsRetransmissionFormat, self.allowsRedundancy) = (allowsRetransmissionFormat, allowsRedundancy)
        (self.videoFeedback, self.audioFeedback, self.extensions) = (videoFeedback, audioFeedback, extensions)
    }

    /// Those that the relay reads or writes. Not the orientation: where it is agreed on, a phone sends turned pictures.
    public static let knownExtensions: Set<String> = [
        "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
        "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
        "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
        "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time",
        "urn:ietf:params:rtp-hdrext:sdes:mid",
        layerName, repeatedLayerName,
    ]

    /// By these, packets say which layer of a picture they are of, and those that are sent again (RFC 8852).
    static let layerName = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
    static let repeatedLayerName = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"

    /// H.264 before VP8: Burnish decodes both, and browsers encode H.264 for less.
    public static let publisher = CallRules(
        video: [.h264, .vp8], packetizationModes: ["", "0", "1"], allowsRedundancy: true)
    /// What we send is H.264, mostly of High profile. A decoder may be made for what was agreed on and show nothing else.
    public static let viewer = CallRules(
        video: [.h264], h264Profiles: [.high, .constrainedHigh, .main, .constrainedBaseline, .baseline], allowsRedundancy: true)
    /// The same where pictures can be sent in VP8, too, to those who take no H.264.
    public static let anyViewer = CallRules(video: [.h264, .vp8], h264Profiles: viewer.h264Profiles, allowsRedundancy: true)
    /// One who shows the constrained baseline profile alone.
    public static let baselineViewer = CallRules(
        video: [.h264], h264Profiles: [.constrainedBaseline, .baseline], allowsRedundancy: true)
    /// A viewer who wants sound alone.
    public static let listener = CallRules(video: [], allowsRedundancy: true)
}

extension CallRules {
    /// The picture's formats in words.
    var takenPictures: String {
        guard !video.isEmpty else { return "no picture" }
        return video.map { format in
            guard format == .h264 else { return format.rawValue }
            let modes = packetizationModes.filter { !$0.isEmpty }.sorted().joined(separator: " or ")
            let profiles = h264Profiles.contains(.high) ? "Baseline, Main or High" : "Constrained Baseline"
            return "H264 (packetization-mode \(modes); \(profiles) profile, 8 bits, 4:2:0)"
        }.joined(separator: " or ")
    }

    /// What a section lacks whose H.264 would be taken but for its packetization mode.
    func adviceOnModes(of section: MediaSection) -> String? {
        guard video.contains(.h264) else { return nil }
        for map in section.rtpMaps where map.encoding.lowercased() == "h264" && map.clockRate == 90000 {
            let parameters = section.parameters(of: map.payloadType)
            guard let mode = parameters["packetization-mode"], !packetizationModes.contains(mode),
                let profile = H264Profile(profileLevelID: parameters["profile-level-id"] ?? "42000a"),
                h264Profiles.contains(profile)
            else { continue }
            let reason =
                mode == "0"
                ? "with packetization-mode 0 no picture could be sent in parts, and large ones must be"
                : "packetization-mode \(oneLine(String(mode.prefix(8)))) is not supported"
            return "; \(reason): offer H264 with packetization-mode=1, too"
        }
        return nil
    }
}

extension MediaSection {
    /// The format of packets that carry earlier ones along, where it stands before the plain one: browsers offer it behind, and send it
    /// where an answer has it first.
    func preferredRedundancy(of payloadType: UInt8) -> UInt8? {
        guard let redundancy = redundancy(of: payloadType),
            payloadTypes.first(where: { $0 == redundancy || $0 == payloadType }) == redundancy
        else { return nil }
        return redundancy
    }

    /// The formats that are offered, in words; without those that only protect others.
    func offeredFormats(_ kind: CallTrack.Kind) -> String {
        var all: [String] = []
        for map in rtpMaps where !["rtx", "red", "ulpfec", "flexfec-03"].contains(map.encoding.lowercased()) {
            var text = map.encoding
            if text.lowercased() == "h264" {
                let parameters = parameters(of: map.payloadType)
                let mode = parameters["packetization-mode"].map { "packetization-mode \($0)" }
                let profile = parameters["profile-level-id"].map { "profile-level-id \($0)" }
                let details = [mode, profile].compactMap { $0 }
                if !details.isEmpty { text += " (\(details.joined(separator: ", ")))" }
            } else if kind == .audio {
                text += "/\(map.clockRate)"
            }
            if !all.contains(text) { all.append(text) }
        }
        return all.prefix(10).joined(separator: ", ")
    }
}

extension CallRules.H264Profile {
    /// - Parameter text: the parameter's six digits.
    init?(profileLevelID text: String) {
        guard text.utf8.count == 6, let value = UInt32(text, radix: 16) else { return nil }
        let constraints = value >> 8 & 0xff
        switch value >> 16 {
        case 0x42: self = constraints & 0x40 != 0 ? .constrainedBaseline : .baseline
        // Main and Extended, restricted to what they share with Baseline.
        case 0x4d where constraints & 0x80 != 0, 0x58 where constraints & 0xc0 == 0xc0: self = .constrainedBaseline
        case 0x4d: self = .main
        case 0x64: self = constraints & 0x0c == 0x0c ? .constrainedHigh : .high
        default: return nil
        }
    }
}

/// Why an offer cannot be answered: one line for the one who sent it.
public struct OfferFault: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}

/// One stream of media that both sides agree on.
public struct CallTrack: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable { case video, audio }

    public var kind: Kind
    public var mid: String
    public var payloadType: UInt8
    /// `H264`, `VP8` or `opus`.
    public var encoding: String
    public var clockRate: Int
    public var channels: Int
    /// The format's parameters, such as `profile-level-id`; names in lower case.
    public var parameters: [String: String]
    /// The format of packets that are sent again.
    public var retransmissionPayloadType: UInt8?
    /// The format of packets that carry earlier ones along (RFC 2198), where the offer likes it better than the plain one.
    public var redundancyPayloadType: UInt8?
    /// What both sides understand, as in `rtcp-fb`.
    public var feedback: [String]
    /// Header extensions: numbers by URI.
    public var extensions: [String: Int]
    /// The sources that a publisher names; empty where it names none.
    public var sources: [UInt32]
    /// Pairs of a source and the one that sends its packets again.
    public var retransmissionSources: [UInt32: UInt32]
    /// The names of the layers in which a publisher sends the picture (simulcast, RFC 8853), in their order; empty where there is one.
    public var layers: [String] = []
    /// The same where the publisher names the layers' sources instead (`ssrc-group:SIM`).
    public var layerSources: [UInt32] = []
}
