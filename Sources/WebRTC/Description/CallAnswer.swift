import Endpoint

/// The sources by which a viewer tells our streams apart.
public struct CallSources: Hashable, Sendable {
    public var video: UInt32
    /// Packets of the picture that are sent again, where that format is agreed on.
    public var videoRetransmission: UInt32
    public var audio: UInt32
    /// The name that all of them share, so that picture and sound are played in sync.
    public var name: String

    public init(video: UInt32, videoRetransmission: UInt32, audio: UInt32, name: String = "burnish") {
        (self.video, self.videoRetransmission, self.audio, self.name) = (video, videoRetransmission, audio, name)
    }
}

extension CallOffer {
    /// The answer: each section of the offer in its order, refused where it has no part in the call.
    /// - Parameters:
    ///   - transport: what the port said when the peer was added.
    ///   - sources: for viewers; ignored for publishers.
    ///   - startRate: the bits a second with which a publisher begins, where it heeds that (Chromium does); nil leaves it to them.
    ///   - session: a number for the description (`o=`), which later answers to the same peer repeat.
    public func answer(
        _ transport: PeerAnswer, sending sources: CallSources? = nil, startRate: Int? = nil, session: UInt64 = 1
    ) -> SessionDescription {
        var answer = SessionDescription()
        let address = transport.candidates.first
        answer.origin = .init(session: String(session & .max >> 1), version: "1", address: address?.host ?? "127.0.0.1")
        answer.add("ice-lite")
        let mids = answeredBundle
        if !mids.isEmpty { answer.add("group", (["BUNDLE"] + mids).joined(separator: " ")) }
        answer.add("msid-semantic", " WMS *")
        for section in description.media {
            let track = tracks.first { track in track.mid == section.mid ?? "" && track.kind.rawValue == section.kind }
            answer.media.append(
                track.map { track in
                    var section = accepted(track, section, transport)
                    addFormats(track, startRate: kind == .publisher && track.kind == .video ? startRate : nil, to: &section)
                    if kind == .viewer, let sources { addSources(track, sources, to: &section) }
                    return section
                } ?? refused(section))
        }
        return answer
    }

    /// The names of the sections that have a part in the call, in the order of the offer's bundle: its first one carries the transport.
    var answeredBundle: [String] { description.bundle.filter { mid in tracks.contains { $0.mid == mid } } }

    private func refused(_ section: MediaSection) -> MediaSection {
        var answer = MediaSection(kind: section.kind, port: 0, transport: section.transport, formats: section.formats)
        answer.connection = "0.0.0.0"
        if let mid = section.mid { answer.add("mid", mid) }
        answer.add("inactive")
        return answer
    }

    private func accepted(_ track: CallTrack, _ offered: MediaSection, _ transport: PeerAnswer) -> MediaSection {
        let types = [track.redundancyPayloadType, track.payloadType, track.retransmissionPayloadType].compactMap { $0 }
        let address = transport.candidates.first
        var section = MediaSection(
            kind: track.kind.rawValue, port: address?.port ?? 9, transport: offered.transport, formats: types.map { String($0) }
        )
        section.connection = address?.host ?? "0.0.0.0"
        if !track.mid.isEmpty { section.add("mid", track.mid) }
        section.add(kind == .publisher ? "recvonly" : "sendonly")
        section.add("rtcp-mux")
        if offered.hasReducedSizeRTCP { section.add("rtcp-rsize") }
        section.add("fingerprint", transport.fingerprint.sdp)
        section.add("setup", transport.role == .server ? "passive" : "active")
        for (name, value) in transport.attributes { section.add(name, value) }
        return section
    }

    private func addFormats(_ track: CallTrack, startRate: Int?, to section: inout MediaSection) {
        let map = MediaSection.RTPMap(
            payloadType: track.payloadType, encoding: track.encoding, clockRate: track.clockRate, channels: track.channels)
        section.add("rtpmap", map.text)
        var parameters = track.parameters.sorted { $0.key < $1.key }.map { $1.isEmpty ? $0 : "\($0)=\($1)" }
        // Of libwebrtc, in kilobits: the sender's parameters are those of the description that it receives.
        if let startRate { parameters.append("x-google-start-bitrate=\(startRate / 1000)") }
        if !parameters.isEmpty {
            section.add("fmtp", "\(track.payloadType) \(parameters.joined(separator: ";"))")
        }
        for each in track.feedback { section.add("rtcp-fb", "\(track.payloadType) \(each)") }
        if let type = track.retransmissionPayloadType {
            section.add("rtpmap", MediaSection.RTPMap(payloadType: type, encoding: "rtx", clockRate: track.clockRate).text)
            section.add("fmtp", "\(type) apt=\(track.payloadType)")
        }
        if let type = track.redundancyPayloadType {
            let map = MediaSection.RTPMap(
                payloadType: type, encoding: "red", clockRate: track.clockRate, channels: track.channels)
            section.add("rtpmap", map.text)
            section.add("fmtp", "\(type) \(track.payloadType)/\(track.payloadType)")
        }
        for (uri, id) in track.extensions.sorted(by: { $0.value < $1.value }) {
            section.add("extmap", SDPHeaderExtension(id: id, uri: uri).text)
        }
        // All of them: OBS ends where one is missing, and browsers would send the first one alone.
        section.addReceivedLayers(track.layers)
    }

    private func addSources(_ track: CallTrack, _ sources: CallSources, to section: inout MediaSection) {
        section.add("msid", "\(sources.name) \(track.kind.rawValue)")
        switch track.kind {
        case .audio: section.add("ssrc", "\(sources.audio) cname:\(sources.name)")
        case .video:
            if track.retransmissionPayloadType != nil {
                section.add("ssrc-group", "FID \(sources.video) \(sources.videoRetransmission)")
            }
            // Chromium takes the source that is named first for the picture, whatever the group says.
            section.add("ssrc", "\(sources.video) cname:\(sources.name)")
            if track.retransmissionPayloadType != nil {
                section.add("ssrc", "\(sources.videoRetransmission) cname:\(sources.name)")
            }
        }
    }
}
