import Endpoint
import Testing

@testable import WebRTC

/// WHIP's and WHEP's rules on offers as browsers and others write them.
struct CallOfferTests {
    static let head = """
        v=0
        o=- 4611731400430051336 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS stream

        """
    static let transport = """
        a=ice-ufrag:wxyz
        a=ice-pwd:theirpasswordthatislongenough
        a=fingerprint:sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F
        a=setup:actpass
        a=rtcp-mux
        a=rtcp-rsize

        """
    static let audio = """
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 0
        c=IN IP4 0.0.0.0
        a=mid:1
        a=sendonly
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=rtpmap:0 PCMU/8000
        a=ssrc:77 cname:x
        a=ssrc:77 msid:stream sound

        """ + transport
    /// As Chromium writes it, with fewer formats.
    static let video = """
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 104 107 108 109 114 127 115 45
        c=IN IP4 0.0.0.0
        a=mid:0
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 urn:3gpp:video-orientation
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 nack
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:103 H264/90000
        a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:104 rtx/90000
        a=fmtp:104 apt=103
        a=rtpmap:107 H264/90000
        a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
        a=rtpmap:108 rtx/90000
        a=fmtp:108 apt=107
        a=rtpmap:109 H264/90000
        a=rtcp-fb:109 goog-remb
        a=rtcp-fb:109 transport-cc
        a=rtcp-fb:109 ccm fir
        a=rtcp-fb:109 nack
        a=rtcp-fb:109 nack pli
        a=rtcp-fb:109 made-up
        a=fmtp:109 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:114 rtx/90000
        a=fmtp:114 apt=109
        a=rtpmap:127 H264/90000
        a=fmtp:127 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=64001f
        a=rtpmap:115 AV1/90000
        a=rtpmap:45 VP9/90000
        a=ssrc-group:FID 11 12
        a=ssrc:11 cname:x
        a=ssrc:11 msid:stream picture
        a=ssrc:12 cname:x
        a=ssrc:12 msid:stream picture

        """ + transport
    static let offer = head + video + audio

    static func read(_ text: String, _ kind: CallKind = .publisher, _ rules: CallRules = .publisher) throws -> CallOffer {
        try CallOffer(try SessionDescription(parsing: text), kind: kind, rules: rules)
    }

    static func fault(_ text: String, _ kind: CallKind = .publisher, _ rules: CallRules = .publisher) -> String? {
        do {
            _ = try read(text, kind, rules)
            return nil
        } catch { return "\(error)" }
    }

    static func edited(_ changes: (String, String)...) -> String {
        changes.reduce(offer) { text, change in
            precondition(text.contains(change.0), "nothing to edit: \(change.0)")
            return text.replacing(change.0, with: change.1)
        }
    }

    static let peerAnswer = PeerAnswer(
        credentials: ICECredentials(userFragment: "abcdefgh", password: "ourpasswordthatislongenough")!,
        fingerprint: Fingerprint(.sha256, Array(0..<32))!, role: .server,
        candidates: [PeerAddress(host: "192.0.2.1", port: 8189)!, PeerAddress(host: "2001:db8::1", port: 8189)!])

    @Test func aBrowsersOfferIsRead() throws {
        let offer = try Self.read(Self.offer)
        #expect(offer.request.role == .server && offer.request.credentials.userFragment == "wxyz")
        #expect(offer.request.fingerprints == [Fingerprint(.sha256, Array(0..<32))!])
        #expect(offer.tracks.map(\.kind) == [.video, .audio])
        let video = offer.tracks[0]
        #expect(video.payloadType == 109 && video.encoding == "H264" && video.retransmissionPayloadType == 114)
        #expect(video.parameters["profile-level-id"] == "42e01f")
        #expect(video.feedback == ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"])
        #expect(Set(video.extensions.values) == [2, 4])
        #expect(video.sources == [11, 12] && video.retransmissionSources == [11: 12])
        #expect(offer.tracks[1].payloadType == 111 && offer.tracks[1].channels == 2)
    }

    @Test func theAnswerSaysWhatWasChosen() throws {
        let text = try Self.read(Self.offer).answer(Self.peerAnswer).text
        let answer = try SessionDescription(parsing: text)
        #expect(answer.has("ice-lite") && answer.bundle == ["0", "1"])
        #expect(answer.media.map(\.kind) == ["video", "audio"])
        let video = answer.media[0]
        #expect(video.formats == ["109", "114"] && video.direction == .receiveOnly && video.hasMultiplexedRTCP)
        #expect(video.setup == .passive && video.iceUser == "abcdefgh" && video.sources.isEmpty)
        #expect(video.fingerprints.first?.bytes == Array(0..<32))
        #expect(video.candidates.map(\.address) == ["192.0.2.1", "2001:db8:0:0:0:0:0:1"])
        #expect(video.candidates.map(\.port) == [8189, 8189] && video.candidates[0].priority > video.candidates[1].priority)
        #expect(video.parameters(of: 109)["packetization-mode"] == "1" && video.retransmission(of: 109) == 114)
        #expect(answer.media[1].formats == ["111"] && answer.media[1].parameters(of: 111)["useinbandfec"] == "1")
    }

    /// Chromium sends mono where the answer does not ask for stereo, and sends no redundancy (RFC 2198) where it offers that
    /// behind Opus: the codec's own is in its packets.
    @Test(arguments: ["", ";stereo=1", ";stereo=1;sprop-stereo=1", ";stereo=0"]) func soundIsAgreedOnAsItIsOffered(more: String)
        throws
    {
        for (way, side) in [("sendonly", CallKind.publisher), ("recvonly", .viewer)] {
            let text = Self.offer.replacing("useinbandfec=1", with: "useinbandfec=1" + more).replacing(
                "a=sendonly", with: "a=\(way)")
            let sound = try SessionDescription(
                parsing: Self.read(text, side, side == .publisher ? .publisher : .viewer).answer(Self.peerAnswer).text
            ).media[1]
            let parameters = sound.parameters(of: 111)
            #expect(parameters["stereo"] == (more.isEmpty ? nil : more.contains("stereo=0") ? "0" : "1"))
            #expect(parameters["sprop-stereo"] == (more.contains("sprop") ? "1" : nil) && parameters["useinbandfec"] == "1")
            #expect(sound.formats == ["111"] && sound.rtpMaps.map(\.channels) == [2])
        }
    }

    /// Chromium offers it behind Opus, and sends it where the answer has it first.
    @Test(arguments: [
        ("63 111", "111/111", ["63", "111"]), ("63 111", "111/111/111", ["63", "111"]), ("111 63", "111/111", ["111"]),
        ("63 111", "111", ["111"]), ("63 111", "111/0", ["111"]), ("63 111", "111/", ["111"]),
        ("63 0 111", "111/111", ["63", "111"]),
    ]) func redundancyIsTakenFromThoseWhoLikeItBetter(order: String, blocks: String, answered: [String]) throws {
        let text = Self.edited(
            ("SAVPF 111 63 0", "SAVPF \(order)"), ("a=rtpmap:63 red/48000/2", "a=rtpmap:63 red/48000/2\na=fmtp:63 \(blocks)"))
        let offer = try Self.read(text)
        #expect(offer.tracks[1].payloadType == 111 && offer.tracks[1].encoding == "opus")
        #expect(offer.tracks[1].redundancyPayloadType == (answered.count > 1 ? 63 : nil))
        let sound = try SessionDescription(parsing: offer.answer(Self.peerAnswer).text).media[1]
        #expect(sound.formats == answered && sound.redundancy(of: 111) == (answered.count > 1 ? 63 : nil))
    }

    @Test func aPublisherIsToldWithWhichRateToBegin() throws {
        let offer = try Self.read(Self.offer)
        let answer = try SessionDescription(parsing: offer.answer(Self.peerAnswer, startRate: 800_000).text)
        #expect(answer.media[0].parameters(of: 109)["x-google-start-bitrate"] == "800")
        #expect(answer.media[1].parameters(of: 111)["x-google-start-bitrate"] == nil)
        #expect(!offer.answer(Self.peerAnswer).text.contains("x-google"))
        let viewer = try Self.read(Self.offer.replacing("a=sendonly", with: "a=recvonly"), .viewer, .viewer)
        #expect(!viewer.answer(Self.peerAnswer, startRate: 800_000).text.contains("x-google"))
    }

    @Test func aViewerIsToldOurSources() throws {
        let text = Self.offer.replacing("a=sendonly", with: "a=recvonly")
        // What comes may be of High profile. A decoder that is made for less may show nothing.
        let high = try Self.read(text, .viewer, .viewer).tracks[0]
        #expect(high.payloadType == 127 && high.parameters["profile-level-id"] == "64001f")
        let offer = try Self.read(text.replacing("id=64001f", with: "id=f4001f"), .viewer, .viewer)
        #expect(offer.tracks[0].payloadType == 109)
        let answer = offer.answer(Self.peerAnswer, sending: CallSources(video: 1, videoRetransmission: 2, audio: 3))
        #expect(answer.media[0].direction == .sendOnly && answer.media[0].sourceGroups("FID") == [[1, 2]])
        // Chromium shows the first one.
        #expect(answer.media[0].sources.map(\.id) == [1, 2] && answer.media[1].sources.map(\.id) == [3])
    }

    @Test func theBestFormatIsChosen() throws {
        func chosen(_ text: String, _ rules: CallRules = .publisher) -> UInt8? {
            try? Self.read(text, .publisher, rules).tracks[0].payloadType
        }
        #expect(chosen(Self.offer, CallRules(video: [.vp8, .h264])) == 96)
        #expect(chosen(Self.offer, CallRules(video: [.h264], h264Profiles: [.high])) == 127)
        #expect(chosen(Self.offer, CallRules(video: [.h264], h264Profiles: [.baseline])) == 103)
        // Without H.264 in mode 1 there is VP8.
        #expect(chosen(Self.edited(("packetization-mode=1", "packetization-mode=0"))) == 96)
    }

    /// Of publishers any mode is taken that is not interleaved. To viewers we send parts of pictures, which mode 0 does not have.
    @Test(arguments: [("packetization-mode=0", true, false), ("x=y", true, true), ("packetization-mode=2", false, false)])
    func h264IsTakenInOtherModes(mode: String, ofPublishers: Bool, ofViewers: Bool) {
        let text = Self.edited(("packetization-mode=1", mode), ("packetization-mode=0", mode), ("VP8/90000", "VP7/90000"))
            .replacing(Self.audio, with: "")
        let viewer = text.replacing("a=sendonly", with: "a=recvonly")
        #expect((Self.fault(text) == nil) == ofPublishers)
        #expect((Self.fault(viewer, .viewer, .viewer) == nil) == ofViewers)
    }

    /// Who is refused for the mode alone hears what is missing, also beside sound; who has no profile that is taken hears of no mode.
    @Test func aModeThatIsMissingIsNamed() throws {
        func offer(_ mode: String, profile: String = "42e01f") -> String {
            let video = Self.video.replacing("VP8/90000", with: "VP7/90000")
                .replacing(
                    /packetization-mode=[01];profile-level-id=\w+/,
                    with: "packetization-mode=\(mode);profile-level-id=\(profile)")
            return (Self.head + video + Self.audio).replacing("a=sendonly", with: "a=recvonly")
        }
        let viewer = try #require(try Self.read(offer("0"), .viewer, .viewer).refusedPicture)
        #expect(viewer.contains("offered are VP7, H264 (packetization-mode 0, profile-level-id 42e01f)"), "\(viewer)")
        #expect(viewer.hasSuffix("large ones must be: offer H264 with packetization-mode=1, too"), "\(viewer)")
        let interleaved = try #require(try Self.read(offer("2"), .viewer, .viewer).refusedPicture)
        #expect(interleaved.hasSuffix("packetization-mode 2 is not supported: offer H264 with packetization-mode=1, too"))
        let profile = try #require(try Self.read(offer("0", profile: "7a001f"), .viewer, .viewer).refusedPicture)
        #expect(profile.hasSuffix("8 bits, 4:2:0)"), "\(profile)")
        #expect(try Self.read(offer("1"), .viewer, .viewer).refusedPicture == nil)
    }

    /// Beside sound, whoever offers it may believe that all is well.
    @Test func aPictureThatIsLeftOutHasAReason() throws {
        let other = ("H264/90000", "H265/90000")
        let publisher = try Self.read(Self.edited(other, ("VP8/90000", "VP7/90000")))
        #expect(publisher.tracks.map(\.kind) == [.audio])
        let reason = try #require(publisher.refusedPicture)
        #expect(reason.hasPrefix("offered are VP7, H265, AV1, VP9; taken is H264 (packetization-mode 0 or 1;"))
        #expect(reason.hasSuffix("4:2:0) or VP8"))
        let text = Self.edited(other).replacing("a=sendonly", with: "a=recvonly")
        let viewer = try #require(try Self.read(text, .viewer, .viewer).refusedPicture)
        #expect(viewer.contains("offered are VP8, H265") && viewer.hasSuffix("Main or High profile, 8 bits, 4:2:0)"))
        #expect(try Self.read(Self.offer).refusedPicture == nil)
        #expect(try Self.read(Self.head + Self.audio).refusedPicture == nil)
    }

    @Test(arguments: [
        ("42e01f", CallRules.H264Profile.constrainedBaseline), ("42c01e", .constrainedBaseline), ("42001f", .baseline),
        ("4d001f", .main), ("640c1f", .constrainedHigh), ("64001f", .high), ("4d801f", .constrainedBaseline),
    ]) func profilesAreTold(text: String, profile: CallRules.H264Profile) {
        #expect(CallRules.H264Profile(profileLevelID: text) == profile)
    }

    @Test func whoWaitsForTheHandshakeGetsIt() throws {
        #expect(try Self.read(Self.edited(("setup:actpass", "setup:passive"))).request.role == .client)
        #expect(try Self.read(Self.edited(("setup:actpass", "setup:active"))).request.role == .server)
    }

    /// What is only needed once may stand for the whole session.
    @Test func theTransportMayStandAtTheTop() throws {
        let lines = Self.transport.split(separator: "\n").filter { !$0.hasPrefix("a=rtcp") }.map { $0 + "\n" }
        var text = Self.offer
        for line in lines { text = text.replacing(line, with: "") }
        text = text.replacing("a=extmap-allow-mixed\n", with: lines.joined())
        #expect(try Self.read(text).request.credentials.userFragment == "wxyz")
    }

    @Test func aRefusedSectionKeepsItsPlace() throws {
        let data =
            "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\nc=IN IP4 0.0.0.0\na=mid:2\na=sctp-port:5000\n" + Self.transport
        let answer = try Self.read(Self.head + data + Self.video + Self.audio).answer(Self.peerAnswer)
        #expect(answer.media.map(\.port) == [0, 8189, 8189] && answer.media[0].kind == "application")
        let second = Self.video.replacing("a=mid:0", with: "a=mid:2")
        #expect(try Self.read(Self.offer + second).answer(Self.peerAnswer).media.map(\.port) == [8189, 8189, 0])
    }

    @Test func absurdOffersAreRefusedInOneLine() throws {
        let candidate = "a=candidate:1 1 udp 2130706431 192.0.2.9 9 typ host\n"
        let cases: [(text: String, words: String)] = [
            (Self.edited(("a=fingerprint:sha-256", "a=nofingerprint:sha-256")), "no a=fingerprint"),
            (
                Self.edited(
                    (
                        "sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F",
                        "md5 00:01"
                    )), "SHA-256"
            ),
            (Self.edited(("a=ice-pwd:their", "a=ice-pwd:"), ("longenough", "short")), "a=ice-ufrag and a=ice-pwd"),
            (Self.edited(("a=setup:actpass", "a=setup:holdconn")), "actpass"),
            (Self.edited(("a=rtcp-mux", "a=no-mux")), "rtcp-mux"),
            (Self.edited(("a=group:BUNDLE 0 1", "a=nogroup")), "BUNDLE"),
            (Self.edited(("a=mid:0", "a=nomid")), "name (a=mid)"),
            (Self.edited(("a=sendonly", "a=recvonly")), "sendonly is needed"),
            (Self.edited(("a=mid:1", "a=mid:0")), "two sections have the name"),
            (Self.edited(("a=ssrc:12 msid:stream picture", "a=ssrc:12 msid:stream other")), "Plan B"),
            (Self.offer + String(repeating: candidate, count: 200), "200 candidates"),
            (Self.edited(("H264/90000", "H265/90000"), ("VP8/90000", "VP7/90000"), ("opus/48000/2", "speex/8000")), "taken is"),
            (Self.edited(("UDP/TLS/RTP/SAVPF", "RTP/AVP")), "transport"),
            (Self.head + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\na=mid:0\n" + Self.transport, "data channels"),
            (Self.head, "neither a picture nor sound"),
            (Self.head + String(repeating: Self.audio, count: 9), "9 sections"),
        ]
        for (text, words) in cases {
            let fault = Self.fault(text)
            #expect(fault?.contains(words) == true, "\(fault ?? "taken"): should say \(words)")
            #expect(fault?.contains("\n") == false)
        }
        #expect(Self.fault(Self.offer) == nil)
    }

    @Test func fingerprintsAreWritten() throws {
        let fingerprint = try #require(Fingerprint(.sha256, Array(0..<31) + [0xab]))
        #expect(fingerprint.sdp.hasPrefix("sha-256 00:01:02:") && fingerprint.sdp.hasSuffix(":1E:AB"))
        #expect(Fingerprint(.sha256, [0, 1]) == nil)
    }

    /// What has one section need not name it, and the answer does not either.
    @Test func oneSectionNeedsNoName() throws {
        let offer = Self.head.replacing("a=group:BUNDLE 0 1\n", with: "") + Self.video.replacing("a=mid:0\n", with: "")
        let answer = try SessionDescription(parsing: try Self.read(offer).answer(Self.peerAnswer).text)
        #expect(answer.media.map(\.port) == [8189] && answer.media[0].mid == nil && answer.bundle == [])
        #expect(answer.media[0].formats == ["109", "114"])
    }

    /// The names of transports that agents have written over the years (RFC 8829, 5.1.2). The answer repeats them.
    @Test(arguments: [
        "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "TCP/TLS/RTP/SAVPF", "RTP/SAVPF", "RTP/SAVP",
    ])
    func allNamesOfTheTransportAreTaken(name: String) throws {
        let answer = try Self.read(Self.edited(("UDP/TLS/RTP/SAVPF", name))).answer(Self.peerAnswer)
        #expect(answer.media.map(\.transport) == [name, name] && answer.media.map(\.port) == [8189, 8189])
    }

    /// The answer's bundle has the offer's order, and is there only where the offer has one.
    @Test func theBundleIsTheOffers() throws {
        func bundle(_ text: String) throws -> [String] {
            try SessionDescription(parsing: try Self.read(text).answer(Self.peerAnswer).text).bundle
        }
        #expect(try bundle(Self.edited(("BUNDLE 0 1", "BUNDLE 1 0"))) == ["1", "0"])
        #expect(try bundle(Self.head.replacing("a=group:BUNDLE 0 1\n", with: "") + Self.video) == [])
        #expect(try bundle(Self.head + Self.video) == ["0"])
    }
}
