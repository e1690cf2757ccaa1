/// The streams of a session description that plain RTP can use: the first section of video and the first of sound that can be
/// read, each with its sockets' addresses.
public struct PlainRTP: Hashable, Sendable {
    public struct Section: Hashable, Sendable {
        public var media: MediaSection
        /// Empty for any address.
        public var host: String
        public var port: UInt16
        /// RTCP's port; nil where it shares the stream's.
        public var controlPort: UInt16?
    }

    /// Pictures first: they keep the time. Not empty.
    public private(set) var sections: [Section] = []
    /// What of the description is left out, for people.
    public private(set) var leftOut: [String] = []

    public init(parsing text: String) throws(SDPFault) { try self.init(try SessionDescription(parsing: text)) }

    public init(_ session: SessionDescription) throws(SDPFault) {
        for section in session.media where section.port != 0 {
            guard section.transport.hasPrefix("RTP/AVP") else {
                leftOut.append("\(section.kind): \(section.transport) is not plain RTP (RTP/AVP or RTP/AVPF)")
                continue
            }
            guard !section.readableMaps.isEmpty else {
                let formats = section.rtpMaps.map(\.encoding).joined(separator: ", ")
                leftOut.append("\(section.kind): \(formats.isEmpty ? "no known format" : formats) cannot be read")
                continue
            }
            guard !sections.contains(where: { $0.media.isVideo == section.isVideo }) else {
                leftOut.append("\(section.kind): one stream of each kind is used")
                continue
            }
            sections.append(
                Section(
                    media: section, host: session.connection(of: section) ?? "", port: section.port,
                    controlPort: try Self.controlPort(of: section)))
        }
        sections.sort { $0.media.isVideo && !$1.media.isVideo }
        guard !sections.isEmpty else {
            throw SDPFault(
                line: 0, "it names no stream of H.264, VP8 or Opus over plain RTP" + (leftOut.first.map { " (\($0))" } ?? ""))
        }
    }

    private static func controlPort(of section: MediaSection) throws(SDPFault) -> UInt16? {
        if section.hasMultiplexedRTCP { return nil }
        let port = section.rtcpPort ?? section.port &+ 1
        guard port != 0, port != section.port else {
            throw SDPFault(line: 0, "\(section.kind): RTCP needs a port of its own beside \(section.port), or a=rtcp-mux")
        }
        return port
    }

    /// The section of video that an output sends.
    /// - Throws: when there is none in H.264.
    public func outputVideo() throws(SDPFault) -> Section {
        guard let video = sections.first(where: { $0.media.isVideo }) else {
            throw SDPFault(line: 0, "an output needs a section of video (H264)")
        }
        guard video.media.readableMaps.contains(where: { $0.encoding.lowercased() == "h264" }) else {
            let other = video.media.readableMaps[0].encoding
            throw SDPFault(line: 0, "an output's video is H.264; the description has \(other)")
        }
        return video
    }
}

extension MediaSection {
    var isVideo: Bool { kind == "video" }

    /// Those of the ``rtpMaps`` that can be read here: H.264 (but not in packetization mode 2), VP8 and Opus.
    public var readableMaps: [RTPMap] {
        rtpMaps.filter { map in
            switch (map.encoding.lowercased(), isVideo) {
            case ("vp8", true), ("opus", false): return true
            case ("h264", true):
                // Mode 0 is a part of mode 1.
                let mode = parameters(of: map.payloadType)["packetization-mode"]
                return mode == nil || mode == "0" || mode == "1"
            default: return false
            }
        }
    }
}
