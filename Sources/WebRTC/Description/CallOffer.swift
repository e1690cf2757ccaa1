import Endpoint

/// An offer that was read by WHIP's and WHEP's rules: who the peer is, and which streams both sides agree on. ``answer(_:sending:)``
/// writes the other half.
public struct CallOffer: Sendable {
    public let kind: CallKind
    public let request: PeerRequest
    /// At most one picture and one sound.
    public let tracks: [CallTrack]
    /// Why the picture that is offered has no part in the call, in one line; nil where it has one, or none is offered.
    public let refusedPicture: String?
    let description: SessionDescription

    /// More than a browser has ever needed. A lite agent uses no candidates of the peer at all.
    static let mostCandidates = 100
    static let mostSections = 8
    /// Browsers send three layers of a picture, OBS four.
    static let mostLayers = 8

    /// Reads an offer.
    public init(_ description: SessionDescription, kind: CallKind, rules: CallRules) throws(OfferFault) {
        self.kind = kind
        self.description = description
        guard description.media.count <= Self.mostSections else {
            throw OfferFault("the offer has \(description.media.count) sections; a call has one picture and one sound")
        }
        let candidates = description.media.reduce(description.values(of: "candidate").count) {
            $0 + $1.values(of: "candidate").count
        }
        guard candidates <= Self.mostCandidates else {
            throw OfferFault("the offer has \(candidates) candidates; \(Self.mostCandidates) at most")
        }
        var mids: Set<String> = []
        for mid in description.media.compactMap(\.mid) where !mids.insert(mid).inserted {
            throw OfferFault("two sections have the name \(quoted(mid)) (a=mid); give each one its own")
        }
        guard description.media.contains(where: { CallTrack.Kind(rawValue: $0.kind) != nil }) else {
            throw OfferFault("the offer has neither a picture nor sound; data channels are not relayed")
        }
        var tracks: [CallTrack] = []
        var misses: [String] = []
        var refusedPicture: String?
        for section in description.media {
            guard let kind = CallTrack.Kind(rawValue: section.kind), section.port != 0 || section.has("bundle-only"),
                !tracks.contains(where: { $0.kind == kind })
            else { continue }
            switch try Self.track(kind, section, isAlone: description.media.count == 1, self.kind, rules) {
            case .success(let track): tracks.append(track)
            case .failure(let miss):
                misses.append("\(section.kind): \(miss.reason)")
                if kind == .video { refusedPicture = refusedPicture ?? miss.reason }
            }
        }
        guard !tracks.isEmpty else {
            throw OfferFault(
                "nothing of the offer can be used; \(misses.isEmpty ? "all its sections are refused" : misses.joined(separator: "; "))"
            )
        }
        let bundle = description.bundle
        guard tracks.count == 1 || tracks.allSatisfy({ bundle.contains($0.mid) }) else {
            throw OfferFault("picture and sound must share one transport: a=group:BUNDLE with both names")
        }
        self.tracks = tracks
        self.refusedPicture = tracks.contains { $0.kind == .video } ? nil : refusedPicture
        request = try Self.request(description, mid: bundle.first { mid in tracks.contains { $0.mid == mid } } ?? tracks[0].mid)
    }

    /// What WebRTC's agents write, today and in the past (RFC 8829, 5.1.2). It says nothing: ICE chooses the transport.
    private static let transports = [
        "UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "TCP/TLS/RTP/SAVPF", "RTP/SAVPF",
        "RTP/SAVP",
    ]

    /// Why a section is left out of the answer.
    private struct Miss: Error {
        let reason: String
    }

    private static func track(
        _ kind: CallTrack.Kind, _ section: MediaSection, isAlone: Bool, _ call: CallKind, _ rules: CallRules
    ) throws(OfferFault) -> Result<CallTrack, Miss> {
        guard transports.contains(section.transport) else {
            return .failure(Miss(reason: "the transport \(quoted(section.transport)) is not UDP/TLS/RTP/SAVPF"))
        }
        let direction = section.direction ?? .sendAndReceive
        let needed: SDPDirection = call == .publisher ? .sendOnly : .receiveOnly
        guard direction == needed || direction == .sendAndReceive else {
            return .failure(Miss(reason: "it is \(direction.rawValue); \(needed.rawValue) is needed"))
        }
        // One section alone needs no name.
        let mid = section.mid ?? ""
        guard isAlone || !mid.isEmpty, mid.utf8.count <= 64 else {
            throw OfferFault("the \(section.kind) section has no name (a=mid)")
        }
        guard section.hasMultiplexedRTCP else {
            throw OfferFault("the \(section.kind) section does not offer RTCP on the same port (a=rtcp-mux)")
        }
        // Plan B has several tracks in one section, told apart by the msid of their sources.
        let names = Set(
            section.values(of: "ssrc").compactMap { $0.split(separator: " ", maxSplits: 1).last }.filter {
                $0.hasPrefix("msid:")
            })
        guard names.count <= 1 else {
            throw OfferFault(
                "the \(section.kind) section has \(names.count) tracks (Plan B); offer a section for each (Unified Plan)")
        }
        guard let format = chooseFormat(kind, section, rules) else {
            let offered = section.offeredFormats(kind)
            let taken = kind == .audio ? (rules.hasSound ? "opus" : "no sound") : rules.takenPictures
            return .failure(
                Miss(
                    reason: "offered are \(offered.isEmpty ? "no formats" : offered); taken is \(taken)"
                        + (kind == .video ? rules.adviceOnModes(of: section) ?? "" : "")))
        }
        let wanted = kind == .video ? rules.videoFeedback : rules.audioFeedback
        var feedback: [String] = []
        for each in section.feedback(of: format.payloadType) where wanted.contains(each) && !feedback.contains(each) {
            feedback.append(each)
        }
        let layers = call == .publisher && kind == .video ? section.sentLayers(in: format.payloadType) : []
        let layerSources = call == .publisher && kind == .video ? section.sourceGroups("SIM").first ?? [] : []
        guard max(layers.count, layerSources.count) <= mostLayers else {
            throw OfferFault(
                "the picture is offered in \(max(layers.count, layerSources.count)) sizes (simulcast); \(mostLayers) at most")
        }
        var extensions: [String: Int] = [:]
        for each in section.headerExtensions where rules.extensions.contains(each.uri) && each.id <= 14 {
            // They mean nothing where there are no layers.
            if layers.isEmpty, each.uri == CallRules.layerName || each.uri == CallRules.repeatedLayerName { continue }
            if extensions[each.uri] == nil, !extensions.values.contains(each.id) { extensions[each.uri] = each.id }
        }
        var pairs: [UInt32: UInt32] = [:]
        for group in section.sourceGroups("FID") where group.count == 2 { pairs[group[0]] = group[1] }
        return .success(
            CallTrack(
                kind: kind, mid: mid, payloadType: format.payloadType, encoding: format.encoding, clockRate: format.clockRate,
                channels: format.channels, parameters: section.parameters(of: format.payloadType),
                retransmissionPayloadType: rules.allowsRetransmissionFormat && kind == .video
                    ? section.retransmission(of: format.payloadType) : nil,
                redundancyPayloadType: rules.allowsRedundancy && kind == .audio
                    ? section.preferredRedundancy(of: format.payloadType) : nil,
                feedback: feedback, extensions: extensions, sources: section.sources.map(\.id), retransmissionSources: pairs,
                layers: layers,
                layerSources: layerSources))
    }

    /// The format that the rules like best; of equal ones the one that the offer names first.
    private static func chooseFormat(_ kind: CallTrack.Kind, _ section: MediaSection, _ rules: CallRules) -> MediaSection
        .RTPMap?
    {
        var best: (format: MediaSection.RTPMap, rank: Int)?
        for format in section.rtpMaps {
            guard let rank = rank(format, kind, section, rules), rank < best?.rank ?? .max else { continue }
            best = (format, rank)
        }
        return best?.format
    }

    /// 0 is best; nil is not taken.
    private static func rank(
        _ format: MediaSection.RTPMap, _ kind: CallTrack.Kind, _ section: MediaSection, _ rules: CallRules
    ) -> Int? {
        let name = format.encoding.lowercased()
        if kind == .audio { return rules.hasSound && name == "opus" && format.clockRate == 48000 ? 0 : nil }
        guard let order = rules.video.firstIndex(where: { $0.rawValue.lowercased() == name }), format.clockRate == 90000 else {
            return nil
        }
        guard rules.video[order] == .h264 else { return order * 100 }
        let parameters = section.parameters(of: format.payloadType)
        // RFC 6184, 8.1: without the parameter it is Baseline.
        guard let profile = CallRules.H264Profile(profileLevelID: parameters["profile-level-id"] ?? "42000a"),
            let preference = rules.h264Profiles.firstIndex(of: profile),
            rules.packetizationModes.contains(parameters["packetization-mode"] ?? "")
        else { return nil }
        // Where parts of a picture may be cut, any picture fits. Nobody offers the other mode because they like it better.
        return order * 100 + preference + (parameters["packetization-mode"] == "1" ? 0 : 1000)
    }

    /// What the description says about the transport, in the section or for all of them.
    private static func request(_ description: SessionDescription, mid: String) throws(OfferFault) -> PeerRequest {
        let section = description.media.first { ($0.mid ?? "") == mid }!
        guard
            let credentials = ICECredentials(
                userFragment: section.iceUser ?? description.iceUser ?? "",
                password: section.icePassword ?? description.icePassword ?? "")
        else { throw OfferFault("the offer has no valid a=ice-ufrag and a=ice-pwd") }
        let written = section.fingerprints.isEmpty ? description.fingerprints : section.fingerprints
        let fingerprints = written.compactMap { each in
            Fingerprint.Function(rawValue: each.algorithm).flatMap { Fingerprint($0, each.bytes) }
        }
        guard !fingerprints.isEmpty else {
            throw OfferFault(
                written.isEmpty
                    ? "the offer has no a=fingerprint, so nobody could know the peer's certificate"
                    : "no a=fingerprint is of SHA-224, SHA-256, SHA-384 or SHA-512")
        }
        let role: DTLSRole
        switch section.setup ?? description.setup {
        case .active, .either, nil: role = .server
        case .passive: role = .client
        case .holdConnection: throw OfferFault("the offer says a=setup:holdconn; offer actpass")
        }
        return PeerRequest(credentials: credentials, fingerprints: fingerprints, role: role)
    }
}
