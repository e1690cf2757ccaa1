import Endpoint
import Testing

struct SessionDescriptionTests {
    /// RFC 8866, 5, with its errata: a conference with an audio and a video stream.
    private static let example = """
        v=0
        o=jdoe 3724394400 3724394405 IN IP4 198.51.100.1
        s=Call to John Smith
        i=SDP Offer #1
        u=http://www.jdoe.example.com/home.html
        e=Jane Doe <jane@jdoe.example.com>
        p=+1 617 555-6011
        c=IN IP4 198.51.100.1
        t=0 0
        m=audio 49170 RTP/AVP 0
        m=audio 49180 RTP/AVP 0
        m=video 51372 RTP/AVP 99
        c=IN IP6 2001:db8::2
        a=rtpmap:99 h263-1998/90000
        """

    /// What Chromium 156 offers, shortened.
    private static let offer = [
        "v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1",
        "a=extmap-allow-mixed", "a=msid-semantic: WMS stream",
        "m=audio 9 UDP/TLS/RTP/SAVPF 111 63", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0",
        "a=candidate:1467250027 1 udp 2122260223 192.168.0.196 46243 typ host generation 0",
        "a=candidate:2 1 TCP 1518214911 fe80::1 9 typ host tcptype active",
        "a=ice-ufrag:F7gI", "a=ice-pwd:x9cml/YzichV2+XlhiMu8g", "a=ice-options:trickle",
        "a=fingerprint:sha-256 00:FF:1a", "a=setup:actpass", "a=mid:0",
        "a=extmap:14 urn:ietf:params:rtp-hdrext:toffset",
        "a=extmap:2/sendonly http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
        "a=sendrecv", "a=rtcp-mux", "a=rtpmap:111 opus/48000/2", "a=rtcp-fb:111 transport-cc",
        "a=fmtp:111 minptime=10;useinbandfec=1", "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111",
        "a=ssrc:3570614608 cname:4TOk42mSjXCkVIa6", "a=ssrc:3570614608 msid:stream audio",
        "m=video 9 UDP/TLS/RTP/SAVPF 96 97 102", "a=mid:1", "a=recvonly", "a=rtcp-mux", "a=rtcp-rsize",
        "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 goog-remb", "a=rtcp-fb:* nack", "a=rtcp-fb:96 nack pli",
        "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=rtpmap:102 H264/90000",
        "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1; Profile-Level-Id=42001f",
        "a=ssrc-group:FID 2231627014 632943048", "a=ssrc:2231627014 cname:x", "",
    ].joined(separator: "\r\n")

    @Test func readsTheExampleOfTheStandard() throws {
        let session = try SessionDescription(parsing: Self.example)
        #expect(session.origin.user == "jdoe" && session.origin.version == "3724394405")
        #expect(session.name == "Call to John Smith" && session.connection == "198.51.100.1")
        #expect(session.media.map(\.kind) == ["audio", "audio", "video"])
        #expect(session.media.map(\.port) == [49170, 49180, 51372])
        #expect(session.media[2].rtpMaps == [.init(payloadType: 99, encoding: "h263-1998", clockRate: 90_000)])
        #expect(session.connection(of: session.media[0]) == "198.51.100.1")
        #expect(session.connection(of: session.media[2]) == "2001:db8::2")
    }

    @Test func readsWhatABrowserOffers() throws {
        let session = try SessionDescription(parsing: Self.offer)
        #expect(session.bundle == ["0", "1"])
        let (audio, video) = (session.media[0], session.media[1])
        #expect(audio.mid == "0" && audio.direction == .sendAndReceive && audio.setup == .either)
        #expect(audio.iceUser == "F7gI" && audio.icePassword == "x9cml/YzichV2+XlhiMu8g")
        #expect(audio.fingerprints == [SDPFingerprint(algorithm: "sha-256", bytes: [0, 255, 26])])
        #expect(audio.fingerprints[0].text == "sha-256 00:FF:1A")
        var signed = audio
        signed.attributes = [SDPAttribute("fingerprint", "sha-256 00:+1")]
        #expect(signed.fingerprints == [])
        #expect(audio.candidates.map(\.port) == [46243, 9] && audio.candidates.map(\.transport) == ["udp", "tcp"])
        #expect(audio.candidates[0].text == "1467250027 1 udp 2122260223 192.168.0.196 46243 typ host")
        #expect(audio.rtpMaps[0] == .init(payloadType: 111, encoding: "opus", clockRate: 48_000, channels: 2))
        #expect(audio.parameters(of: 111) == ["minptime": "10", "useinbandfec": "1"])
        #expect(audio.sources == [.init(id: 3_570_614_608, name: "4TOk42mSjXCkVIa6")])
        #expect(audio.headerExtensions.map(\.id) == [14, 2] && audio.headerExtensions[1].direction == .sendOnly)
        #expect(audio.headerExtensions[1].text.hasPrefix("2/sendonly http"))
        #expect(video.direction == .receiveOnly && video.hasMultiplexedRTCP && video.hasReducedSizeRTCP)
        #expect(video.rtpMaps.map(\.payloadType) == [96, 97, 102])
        #expect(video.feedback(of: 96) == ["goog-remb", "nack", "nack pli"] && video.feedback(of: 102) == ["nack"])
        #expect(video.retransmission(of: 96) == 97 && video.retransmission(of: 102) == nil)
        #expect(video.parameters(of: 102)["profile-level-id"] == "42001f")
        #expect(video.sourceGroups("FID") == [[2_231_627_014, 632_943_048]])
    }

    @Test(arguments: [example, offer]) func whatIsWrittenIsReadAsTheSame(text: String) throws {
        let session = try SessionDescription(parsing: text)
        #expect(session.text.hasSuffix("\r\n"))
        #expect(try SessionDescription(parsing: session.text) == session)
    }

    @Test func aValueBeginsNoLineOfItsOwn() throws {
        var session = SessionDescription()
        session.name = "a\r\nm=video 1 RTP/AVP 96"
        session.add("tool", "x\ny")
        #expect(try SessionDescription(parsing: session.text).media.isEmpty)
    }

    /// What cameras, gateways and editors write.
    @Test func spacesAndTabsMeanNothing() throws {
        let text =
            "\u{FEFF}v=0 \r\no=RTSP Session 1 2 IN IP4 192.0.2.1\t\ns=a \nc=IN  IP4 127.0.0.1 \nt=0 0\n"
            + "m=video 5004 RTP/AVP 96\t \na=rtpmap: 96  H264/90000 \na=fmtp:96   packetization-mode=1; profile-level-id=42e01f \n"
            + "a=sendonly \n \n"
        let session = try SessionDescription(parsing: text)
        #expect(session.origin == .init(user: "RTSP-Session", session: "1", version: "2", address: "192.0.2.1"))
        #expect(session.name == "a" && session.connection == "127.0.0.1")
        let video = try #require(session.media.first)
        #expect(video.rtpMaps == [.init(payloadType: 96, encoding: "H264", clockRate: 90_000)])
        #expect(video.parameters(of: 96) == ["packetization-mode": "1", "profile-level-id": "42e01f"])
        #expect(video.direction == .sendOnly && session.media.count == 1)
        #expect(try SessionDescription(parsing: session.text) == session)
    }

    @Test(arguments: [
        ("", "begins with v=0"), ("o=- 1 1 IN IP4 1.1.1.1", "line 1: a session description begins with v=0"),
        ("v=1", "only version"), ("v=0\nx", "line 2: a line has a letter"), ("v=0\nc=IN IP4", "names an address"),
        ("v=0\nm=video RTP/AVP 96", "m= has a kind"), ("v=0\nm=video 70000 RTP/AVP 96", "'70000' is not a port"),
        ("v=0\nm=video -1 RTP/AVP 96", "is not a port"), ("v=0\na=x:\u{1}", "control character"),
        ("v=0\na=:x", "names no attribute"), ("v=0\no=a", "six words"),
        ("v=0\n" + String(repeating: "m=audio 9 RTP/AVP 0\n", count: 33), "line 34: a description has at most 32"),
        ("v=0\n" + String(repeating: "a=x\n", count: 4001), "at most 4000"),
        ("v=0\nm=audio 9 RTP/AVP" + String(repeating: " 0", count: 129), "at most 128 formats"),
        ("v=0\na=" + String(repeating: "x", count: 9000), "more than 8192"),
        (String(repeating: "x", count: 1 << 18), "at most"),
    ])
    func aFaultNamesItsLine(text: String, complaint: String) {
        let fault = #expect(throws: SDPFault.self) { try SessionDescription(parsing: text) }
        #expect(fault.map { "\($0)".contains(complaint) } == true, "\(fault.map { "\($0)" } ?? "")")
    }
}
