import Endpoint
import Media
import Testing
@testable import Transport

struct StreamURLTests {
    private func srt(_ text: String) throws -> SRTEndpoint {
        guard case .srt(let endpoint) = try StreamURL(text) else {
            throw TransportError(.badURL, place: text, "is not srt")
        }
        return endpoint
    }

    @Test func everyKey() throws {
        let endpoint = try srt(
            "srt://relay.example:9000?mode=caller&latency=80&streamid=%23%21%3A%3Ar%3Dcam&passphrase=correct%20horse&pbkeylen=24&ingest=tsbpd"
        )
        #expect(
            endpoint
                == SRTEndpoint(
                    mode: .caller, host: "relay.example", port: 9000, latency: .milliseconds(80), streamID: "#!::r=cam",
                    passphrase: Secret("correct horse"), keyLength: 24, ingest: .tsbpd))
    }

    @Test(arguments: [
        ("srt://:9000", SRTEndpoint.Mode.listener, "", 9000), ("srt://host:1", .caller, "host", 1),
        ("srt://[::1]:9000", .caller, "::1", 9000), ("srt://[::]:9000?mode=listener", .listener, "::", 9000),
        ("srt://0.0.0.0:0?mode=listener", .listener, "0.0.0.0", 0), ("SRT://h:65535?mode=rendezvous", .rendezvous, "h", 65535),
        ("srt://h:9000/?", .caller, "h", 9000),
    ])
    func hostsAndModes(text: String, mode: SRTEndpoint.Mode, host: String, port: UInt16) throws {
        let endpoint = try srt(text)
        #expect(endpoint.mode == mode)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
    }

    @Test func otherKinds() throws {
        #expect(try StreamURL("udp://@:1234") == .udp(UDPEndpoint(host: "", port: 1234)))
        #expect(try StreamURL("udp://:1234") == .udp(UDPEndpoint(host: "", port: 1234)))
        #expect(try StreamURL("udp://@239.1.1.1:1234") == .udp(UDPEndpoint(host: "239.1.1.1", port: 1234)))
        #expect(try StreamURL("udp://[ff02::1]:1234") == .udp(UDPEndpoint(host: "ff02::1", port: 1234)))
        #expect(try StreamURL("rtp://@:5004") == .rtp(RTPEndpoint(host: "", port: 5004)))
        #expect(
            try StreamURL("rtp://239.1.1.1:5005?latency=0")
                == .rtp(RTPEndpoint(host: "239.1.1.1", port: 5005, latency: .zero)))
        #expect(try StreamURL("RTP://[::1]:65534/") == .rtp(RTPEndpoint(host: "::1", port: 65_534)))
        #expect(try StreamURL("whip:studio") == .call(CallEndpoint(.whip, name: "studio")))
        #expect(
            try StreamURL("whep:a.b-c_1?viewers=3&port=8189&tcp=0&address=192.0.2.1&address=2001:db8::1")
                == .call(
                    CallEndpoint(
                        .whep, name: "a.b-c_1", port: 8189, tcp: 0, addresses: ["192.0.2.1", "2001:db8::1"], viewers: 3)))
        #expect(try StreamURL("-") == .standardStream)
        #expect(try StreamURL("clips/a b.ts") == .file(path: "clips/a b.ts"))
        #expect(try StreamURL("file:///tmp/a.ts") == .file(path: "/tmp/a.ts"))
    }

    @Test(arguments: [
        ("srt://h:9000?latncy=80", "unknown key 'latncy'; known are mode, latency, streamid, passphrase, pbkeylen, ingest"),
        ("srt://h:9000?latency=80&latency=90", "twice"), ("srt://h:9000?latency", "needs a value"),
        ("srt://h:9000?latency=-1", "0 to 65535"), ("srt://h:9000?latency=65536", "0 to 65535"),
        ("srt://h:9000?latency=80ms", "0 to 65535"), ("srt://h:9000?mode=push", "listener, caller or rendezvous"),
        ("srt://h:9000?passphrase=short", "10 to 79"),
        ("srt://h:9000?passphrase=\(String(repeating: "x", count: 80))", "10 to 79"),
        ("srt://h:9000?passphrase=0123456789&pbkeylen=20", "16, 24 or 32"), ("srt://h:9000?pbkeylen=16", "encrypts nothing"),
        ("srt://h:9000?ingest=now", "early, tsbpd or auto"), ("srt://h:9000?streamid=%zz", "percent-encoded"),
        ("srt://h:9000?streamid=%00", "percent-encoded"), ("srt://h:9000?streamid=%ff", "percent-encoded"),
        ("srt://h:9000?streamid=\(String(repeating: "x", count: 513))", "512"), ("srt://h:0", "port 0"),
        ("srt://h", "port is missing"),
        ("srt://h:", "port is missing"), ("srt://h:65536", "not a port"), ("srt://h:+1", "not a port"),
        ("srt://h:9x", "not a port"),
        ("srt://::1:9000", "brackets"), ("srt://[::1:9000", "no ]"), ("srt://[::1]9000", "after ]"),
        ("srt://:9000?mode=caller", "needs a host"), ("srt://user@h:9000", "user names"),
        ("udp://h:1?tos=3", "unknown key 'tos'; known are iface, ttl"), ("udp://h:1?ttl=0", "1 to 255"),
        ("udp://h:1?ttl=1&ttl=2", "twice"),
        ("udp://h:1?iface=", "name of an interface"), ("udp://h:1?iface=a/b", "name of an interface"),
        ("rtp://h:1?tos=3", "unknown key 'tos'; known are latency, iface, ttl"),
        ("rtp://h:1?iface=a-very-long-name", "name of an interface"), ("rtp://h:1?latency=1&latency=1", "twice"),
        ("rtp://h:1?latency=5001", "0 to 5000"), ("rtp://h:1?latency=-1", "0 to 5000"), ("rtp://h:1?latency", "0 to 5000"),
        ("rtp://h:65535", "port above"), ("rtp://h", "port is missing"),
        ("a.sdp?ttl=1", "unknown key 'ttl'; known are to, latency, bitrate"),
        ("file:///tmp/A.SDP?to=h", "port is missing"), ("a.sdp?to=:5004", "names a host and a port"),
        ("a.sdp?to=h:65533", "1 to 65532"), ("a.sdp?latency=9000", "0 to 5000"), ("a.sdp?to=h:1&to=h:1", "twice"),
        ("whip:", "is no name"), ("whep:-a", "is no name"), ("whip:a/b", "is no name"), ("whip://a", "is no name"),
        ("whip:a?port=65536", "0 to 65535"), ("whep:a?tcp=on", "tcp is 0 to 65535"), ("whip:a?port=1&port=2", "twice"),
        ("whip:a?viewers=2", "known are port, tcp, address and bitrate"),
        ("whep:a?bitrate=2M", "known are port, tcp, address, viewers and small"),
        ("whip:a?bitrate=2", "bits a second"), ("whip:a?bitrate=0k", "bits a second"),
        ("whip:a?bitrate=2000M", "bits a second"),
        ("a.sdp?bitrate=-1M", "bits a second"), ("a.sdp?bitrate=1M&bitrate=1M", "twice"), ("a.sdp?bitrate", "bits a second"),
        ("whep:a?small=320x180@", "a size and bits a second"), ("whep:a?small=16x16", "a size and bits a second"),
        ("whep:a?small=320x180@1k", "a size and bits a second"), ("whep:a?small=1920x1080", "a size and bits a second"),
        ("whep:a?small=9999x9999", "a size and bits a second"), ("whep:a?small=+64x64", "a size and bits a second"),
        ("whep:a?small=64x64&small=64x64", "twice"), ("whip:a?small=64x64", "known are port, tcp, address and bitrate"),
        ("whep:a?viewers=0", "1 to 256"), ("whip:a?address=relay.example", "an IP address"),
        ("whip:a?address=", "an IP address"), ("whip:a?address=1.2", "an IP address"),
        ("whip:a?address=1.2.3.256", "an IP address"), ("whip:a?address=::1::", "an IP address"),
        ("rtmp://h/app", "right here are srt://, rtp://, udp://"), ("rtmps://h/app", "can send SRT in place of RTMP"),
        ("rtsp://h/1", "ffmpeg -i URL"), ("ftp://h", "unknown kind of URL 'ftp'"), ("", "is empty"), ("a\0b", "NUL"),
    ])
    func faultsSayWhatAndWhatToDo(text: String, hint: String) {
        let error = #expect(throws: TransportError.self) { try StreamURL(text) }
        #expect(error?.code == .badURL)
        #expect(error?.message.contains(hint) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("\n") == false)
    }

    @Test func secretsStayInside() throws {
        let url = try StreamURL("srt://h:9000?passphrase=correct%20horse&streamid=token-42")
        var dumped = ""
        dump(url, to: &dumped)
        for text in ["\(url)", String(reflecting: url), dumped] { #expect(!text.contains("horse")) }
        #expect(!"\(url)".contains("token-42"))
        // Nor do errors repeat a passphrase of the wrong length.
        let error = #expect(throws: TransportError.self) { try StreamURL("srt://h:9000?passphrase=hunter2") }
        #expect(error?.description.contains("hunter2") == false)
    }

    /// Where a URL has a slip, its passphrase may stand in any place.
    @Test(arguments: [
        "srt://h:9000&passphrase=hunter2hunter2", "srt://h&passphrase=hunter2hunter2:9000",
        "srt://h:9000?passphrase:hunter2hunter2",
        "srt://h:9000?mode=caller=passphrase=hunter2hunter2", "srt://h:9000?latency=20?passphrase=hunter2hunter2",
        "srt://hunter2hunter2@h:9000", "rtp://h:9000?passphrase=hunter2hunter2", "udp://h:9000?passphrase hunter2hunter2",
        "srt//h:9000?passphrase=hunter2hunter2.sdp",
    ])
    func faultsShowNoPassphrase(text: String) {
        let error = #expect(throws: TransportError.self) { try StreamURL(text) }
        #expect(error?.description.contains("hunter2") == false, "\(error?.description ?? "")")
    }

    @Test func descriptionsReadBack() throws {
        for text in [
            "srt://[::1]:9000?mode=listener&latency=20", "srt://h:1?mode=caller&ingest=early", "udp://[::1]:5", "rtp://h:5",
            "rtp://[::1]:5?latency=7", "whip:a?port=1&address=::1&bitrate=2500k", "a.sdp?bitrate=3M",
            "whep:a?viewers=2", "whep:a?small=320x180@200k", "a.ts", "-",
        ] {
            let url = try StreamURL(text)
            #expect("\(url)" == text)
            #expect(try StreamURL("\(url)") == url)
        }
    }

    /// Random text, most of it nearly a URL: parsed or refused in one line, never a crash.
    @Test func noTextCrashes() {
        let pieces = [
            "srt://", "udp://", "rtp://", "whip:", "whep:", "port", "address", "viewers", "file://", ".sdp", "[", "]", ":", "@",
            "?", "&", "=", "%", "%4", "%41", "9000",
            "65536", "::1", "h", "/",
            "mode", "listener", "latency", "passphrase", "0123456789", "streamid", "pbkeylen", "16", "ingest", "é", "\u{0}",
            "\n", " ", "🎥",
            "\u{301}", "-",
        ]
        var random = SplitMix64(seed: 42)
        for _ in 0..<20_000 {
            let text = (0..<Int(random.next() % 12)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
            do throws(TransportError) {
                _ = try "\(StreamURL(text))"
            } catch {
                #expect(error.code == .badURL)
                #expect(!error.description.unicodeScalars.contains("\n"))
            }
        }
    }
}
