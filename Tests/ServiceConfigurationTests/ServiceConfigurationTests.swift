import Foundation
import Endpoint
import Settings
import Testing

@testable import ServiceConfiguration

@Suite struct ServiceConfigurationTests {
    @Test func theEmbeddedConfigurationStaysOnThisMachine() throws {
        let configuration = try ServiceConfiguration.embedded(environment: environment())
        #expect(configuration.http.isLoopback && configuration.http.port == 8080)
        let stream = try #require(configuration.streams.first)
        #expect(stream.name == "live" && configuration.streams.count == 1)
        #expect(stream.input.description == "srt://127.0.0.1:9000?mode=listener")
        #expect(stream.outputs.map(\.description) == ["srt://127.0.0.1:9001?mode=listener"])
        #expect(stream.values == StreamValues())
    }

    @Test func serversOfTURNNeedTheirSecret() throws {
        let file = ["/etc/burnish/turn": "0123456789abcdef\n"]
        func text(_ server: String, _ secret: String = "turn-secret-file: turn") -> String {
            "http:\n  ice-servers: ['\(server)']\n  \(secret)\nstreams: {}\n"
        }
        for server in ["turn:turn.example:3478", "turns:192.0.2.1:443?transport=tcp", "turn:[2001:db8::1]:3478?transport=udp"] {
            let http = try ServiceConfiguration(text(server), environment: environment(file)).http
            #expect(http.iceServers == [server] && http.turnSecret == Secret("0123456789abcdef"))
        }
        let without = faults(text("turn:turn.example:3478", "port: 1"))
        #expect(
            without == ["f:2: http.ice-servers: has turn:turn.example:3478 without its secret: give turn-secret-file"])
        #expect(faults(text("stun:stun.example:3478", "port: 1")).isEmpty)
        for server in ["turn:turn.example:3478?transport=sctp", "stun:h:1?transport=udp", "turn:", "http://h"] {
            #expect(faults(text(server, "turn-secret: 0123456789abcdef")).first?.contains("turn:turn.example:3478?") == true)
        }
    }

    @Test func everyPartIsRead() throws {
        let text = """
            http:
              address: "::"
              port: 8443
              tls-certificate: tls.crt
              tls-key: /keys/tls.key
              token-file: token
              allowed-hosts: [Relay.Example, "[2001:db8::1]"]
              allowed-origins: https://status.example:8443
            log: {format: json, level: debug}
            state-directory: /var/lib/b/../burnish
            files:
              folders: [/srv/media/, /srv/media]
            admission: {when-full: lower}
            limits:
              streams: 8
              http-connections: 10
            defaults:
              budget: 120ms
            streams:
              studio:
                input: srt://:9000?mode=listener&latency=80
                outputs:
                  - srt://player.example:9002
                  - /srv/media/copy.ts
                passphrase-credential: studio
                tier: neural-s
                bitrate: 2.5M
                callers:
                  publish: camera-1
            """
        let files = [
            "/etc/burnish/tls.crt": "x", "/keys/tls.key": "x", "/etc/burnish/token": "0123456789abcdef\n",
            "/run/credentials/b/studio": "a secret phrase\n",
        ]
        let environment = environment(files, variables: ["CREDENTIALS_DIRECTORY": "/run/credentials/b"])
        let configuration = try ServiceConfiguration(text, environment: environment)
        var http = ServiceConfiguration.HTTP()
        (http.address, http.port) = ("::", 8443)
        (http.certificateFile, http.keyFile) = ("/etc/burnish/tls.crt", "/keys/tls.key")
        http.token = Secret("0123456789abcdef")
        (http.allowedHosts, http.allowedOrigins) = (["relay.example", "2001:db8::1"], ["https://status.example:8443"])
        #expect(configuration.http == http && !http.isLoopback)
        #expect(configuration.log.format == .json && configuration.log.level == .debug)
        #expect(configuration.stateDirectory == "/var/lib/burnish")
        #expect(configuration.folders == ["/srv/media"])
        #expect(configuration.admission == .lower)
        #expect(configuration.limits.streams == 8 && configuration.limits.httpConnections == 10)
        let stream = try #require(configuration.streams.first)
        #expect(stream.values.texts == ["budget": "120ms", "tier": "neural-s", "bitrate": "2.5M"])
        #expect(stream.callers?.publish == ["camera-1"] && stream.callers?.request == [])
        // A URL that a worker reads.
        guard case .srt(let endpoint) = try StreamURL(stream.input.textWithSecrets) else {
            Issue.record("no SRT")
            return
        }
        #expect(endpoint.passphrase == Secret("a secret phrase") && endpoint.streamID == "camera-1")
        guard case .srt(let output) = try StreamURL(stream.outputs[0].textWithSecrets) else { return }
        #expect(output.passphrase == Secret("a secret phrase") && output.port == 9002)
        #expect(stream.outputs.count == 2 && stream.outputs[1].description == "/srv/media/copy.ts")
        // Nothing that is printed shows it.
        #expect(!"\(configuration)".contains("secret phrase") && !"\(configuration)".contains("0123456789abcdef"))
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!dumped.contains("secret phrase") && !dumped.contains("0123456789abcdef"))
    }

    @Test func allFaultsAreReportedAtOnce() {
        let text = """
            htpp:
              port: 1
            http:
              port: 65536
              adress: 127.0.0.1
            log: loud
            limits:
              streams: none
              http-connections:
            streams:
              a:
                input: srt://:9000?mode=listener&latencyy=80
                output: udp://239.0.0.1:5000
                budget: 80
                teir: auto
              b/c:
                input: udp://:5000
              d:
                output: rtp://10.0.0.1:5004
            """
        #expect(
            faults(text) == [
                "f:1: htpp: is no key here; did you mean http?",
                "f:4: http.port: is 0 to 65535, not 65536",
                "f:5: http.adress: is no key here; did you mean address?",
                "f:6: log: is a section with keys of its own, not a text",
                "f:8: limits.streams: is 1 to 1000, not none",
                "f:9: limits.http-connections: has no value: leave the line out for 128",
                "f:12: streams.a.input: srt://:9000: unknown key 'latencyy'; known are "
                    + "mode, latency, streamid, passphrase, pbkeylen, ingest, maxreaders",
                "f:14: streams.a.budget: is a time longer than 0ms, as 80ms, not 80",
                "f:15: streams.a.teir: is no key here; did you mean tier?",
                "f:16: streams.b/c: is no name for a stream: it has 1 to 64 letters, digits, dots, _ and -, "
                    + "and begins with one of the first two",
                "f:18: streams.d.input: is missing: give the URL of the stream's input",
            ])
    }

    @Test func settingsThatContradictEachOther() {
        let text = """
            defaults:
              fps: 60
            streams:
              a:
                input: udp://:5000
                output: udp://10.0.0.1:5002
                interpolate: 2
              b:
                input: udp://:5010
                output: udp://10.0.0.1:5012
                fps: input
                hold: 3s
                keep-output: false
              c:
                input: udp://:5020
                output: udp://10.0.0.1:5022
                fps: input
                interpolate: 2
            """
        #expect(
            faults(text) == [
                "f:4: streams.a.fps: sets the output's rate and interpolate makes it follow the input's: give one",
                "f:12: streams.b.hold: goes with fps or keep-output: without them nothing is repeated",
            ])
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1"]) func beyondLoopbackNeedsTLSAndAToken(address: String) {
        let place = "f:2: http.address: is reachable from other machines (\(address)) without"
        #expect(
            faults("http:\n  address: '\(address)'\n") == [
                "\(place) TLS: give tls-certificate and tls-key, or say dangerously-allow-plain-http: true",
                "\(place) a token: give token-file, or say dangerously-allow-no-token: true",
            ])
        let dangerous = "  dangerously-allow-plain-http: true\n  dangerously-allow-no-token: true\n"
        #expect(faults("http:\n  address: '\(address)'\n\(dangerous)").isEmpty)
    }

    @Test(arguments: ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1", "localhost"])
    func loopbackNeedsNeither(address: String) {
        #expect(faults("http: {address: '\(address)', allowed-hosts: [localhost, 127.0.0.2]}\n").isEmpty)
    }

    @Test func aNameThatOtherMachinesReachNeedsAToken() {
        #expect(
            faults("http:\n  allowed-hosts: relay.example\n") == [
                "f:2: http.allowed-hosts: has relay.example, which other machines reach, without a token: "
                    + "give token-file, or say dangerously-allow-no-token: true"
            ])
    }

    @Test func filesOfTLS() {
        #expect(
            faults("http:\n  tls-key: k\n", environment(["/etc/burnish/k": ""])) == [
                "f:2: http.tls-key: needs tls-certificate beside it"
            ])
        #expect(
            faults("http:\n  tls-key: /k\n  tls-certificate: /c\n", environment(["/k": ""])) == [
                "f:3: http.tls-certificate: /c cannot be read: No such file"
            ])
    }

    @Test func secretsThatCannotBeUsed() {
        func token(_ key: String, _ value: String, _ files: [String: String] = [:]) -> String? {
            faults("http:\n  \(key): \(value)\n", environment(files)).first
        }
        #expect(token("token", "short") == "f:2: http.token: has 5 bytes; 16 to 256 are allowed")
        #expect(token("token", "has spaces in the middle")?.contains("use letters, digits and signs") == true)
        #expect(token("token-file", "/none") == "f:2: http.token-file: /none cannot be read: No such file")
        #expect(token("token-file", "/t", ["/t": "two lines are\nno token at all"])?.contains("line break") == true)
        #expect(token("token-credential", "t")?.contains("LoadCredential=t:FILE") == true)
        #expect(token("token-credential", "../t")?.contains("without slashes") == true)
        #expect(token("token-file", "/t", ["/t": "0123456789abcdef\n"]) == nil)
        let both = "http:\n  token: 0123456789abcdef\n  token-file: /t\n"
        #expect(faults(both) == ["f:3: http.token-file: is given beside token: give one of them"])
    }

    @Test func noFaultShowsASecret() {
        let text = """
            http:
              token: hunter2hunter2 hunter2
            streams:
              a:
                input: srt://:9000?passphrase=hunter2&x=1
                output: srt://host:9001?passphrase=hunter2hunter2&mode=hunter
                passphrase: hunter2
              b:
                input: srt://:9003?passphrase=hunter2hunter2
                output: srt://host:9001?streamid=hunter2
                passphrase: hunter2hunter2
            """
        let faults = faults(text)
        #expect(faults.count >= 5)
        #expect(!faults.contains { $0.contains("hunter2") }, "\(faults)")
    }

    @Test func passphrasesOfLegs() throws {
        let text = """
            streams:
              a:
                input: srt://:9000
                output: srt://host:9001
                passphrase: for both of them
                output-passphrase: for the output
              b:
                input: udp://:5000
                output: udp://host:5002
                passphrase: for both of them
            """
        #expect(faults(text) == ["f:10: streams.b.passphrase: goes with an SRT leg: nothing else is encrypted"])
        let good = text.split(separator: "\n").prefix(6).joined(separator: "\n")
        let stream = try ServiceConfiguration(good, environment: environment()).streams[0]
        #expect(stream.input.passphrase == Secret("for both of them"))
        #expect(stream.outputs[0].passphrase == Secret("for the output"))
        #expect(stream.outputs[0].textWithSecrets.contains("?passphrase=%66"))
    }

    @Test func placesThatAServiceDoesNotHave() {
        func input(_ url: String) -> String? {
            faults("streams:\n  a:\n    input: \(url)\n    output: udp://host:5000\n").first
        }
        #expect(input("'-'")?.contains("standard input or output") == true)
        #expect(input("clip.ts")?.contains("is 'clip.ts'; right here are srt://") == true)
        #expect(input("whip:studio") == nil)
        #expect(input("whep:studio")?.contains("whep: is for outputs") == true)
        #expect(input("/srv/clip.ts") == nil)
        func hevc(_ outputs: String) -> String? {
            faults("streams:\n  a:\n    input: udp://:5000\n    codec: hevc\n    outputs: [\(outputs)]\n").first
        }
        #expect(hevc("srt://host:5000, rtp://host:5002, /srv/clip.ts") == nil)
        #expect(hevc("srt://host:5000, 'whep:x'")?.contains("whep:x: viewers of calls take H.264") == true)
        #expect(hevc("/srv/plain.sdp?to=sfu.example:6004")?.contains("plain RTP") == true)
        let outputs = "streams:\n  a:\n    input: udp://:5000\n    outputs: []\n"
        #expect(faults(outputs).first?.contains("has 0 entries; it has 1 to 12") == true)
        #expect(faults("defaults:\n  input: udp://:1\n").first?.contains("has no default") == true)
    }

    @Test func placesForCalls() throws {
        let two = "streams:\n  a: {input: 'whip:x', output: 'whep:x'}\n  b: {input: 'whip:y', output: 'whep:y'}\n"
        #expect(faults(two) == [])
        #expect(
            faults(two.replacing("whip:y", with: "whip:x"))
                == ["f:3: streams.b.input: answers calls to /whip/x, as the input of a (line 2) does: give another name"])
        #expect(faults(two.replacing("whep:y", with: "whep:x")).first?.contains("/whep/x") == true)
        // All calls of a stream share a port, and those of two streams do not.
        let ports = two.replacing("whip:x", with: "whip:x?port=8189").replacing("whep:x", with: "whep:x?port=8189")
        #expect(faults(ports) == [])
        let differ = faults(ports.replacing("whep:x?port=8189", with: "whep:x?port=8190"))
        #expect(differ.first?.contains("has port=8190, and the stream's own input") == true && differ.count == 1)
        #expect(faults(ports.replacing("whep:y", with: "whep:y?port=8189")).first?.contains("listens on port 8189") == true)
        #expect(faults(ports.replacing("whip:y", with: "udp://:8189")).first?.contains("listens on port 8189") == true)
    }

    @Test func tokensOfCalls() throws {
        let text = """
            streams:
              a:
                input: whip:x
                output: whep:x
                publish-token: 0123456789abcdef
                play-token-file: /etc/burnish/play
            """
        let stream = try ServiceConfiguration(text, environment: environment(["/etc/burnish/play": "fedcba9876543210\n"]))
            .streams[0]
        #expect(stream.callTokens.publish == Secret("0123456789abcdef") && stream.callTokens.play == Secret("fedcba9876543210"))
        #expect(!"\(stream)".contains("0123456789"))
        var other = stream
        other.callTokens.play = nil
        #expect(stream != other && stream.difference(to: other).isEmpty, "a new token restarts nothing")
        let short = text.replacing("0123456789abcdef", with: "short").replacing(
            "\n    play-token-file: /etc/burnish/play", with: "")
        #expect(faults(short).first?.contains("16 to 256 are allowed") == true)
        #expect(faults(short.replacing("short", with: "'0123456789 abcdef'")).first?.contains("holds a space") == true)
        let srt = short.replacing("short", with: "0123456789abcdef").replacing("whip:x", with: "srt://:9000")
        #expect(faults(srt).first?.contains("goes with a whip: input") == true)
    }

    @Test func portsThatMeet() {
        func second(_ first: String, _ second: String, _ more: String = "") -> String? {
            faults(
                """
                streams:
                  a:
                    input: \(first)
                    output: udp://host:1\(more)
                  b:
                    input: \(second)
                    output: udp://host:1\(more)
                """
            ).first
        }
        #expect(
            second("srt://:9000", "udp://:9000")
                == "f:6: streams.b.input: listens on port 9000, which the input of a (line 3) has: give another port")
        #expect(second("rtp://:9000", "udp://127.0.0.1:9001")?.contains("port 9001") == true)
        #expect(second("srt://127.0.0.1:9000?mode=listener", "srt://:9000")?.contains("on another address") == true)
        #expect(second("srt://:9000", "srt://:9000?streamid=b")?.contains("tell the callers of both apart") == true)
        #expect(
            second("srt://:9000?streamid=x", "srt://:9000?streamid=x")?.contains("callers of both ask for the same name")
                == true)
        let named = "streams: {a: {input: 'srt://:9000', output: 'srt://:9000', callers: {publish: x, request: x}}}"
        #expect(faults(named).isEmpty)
        #expect(second("srt://:9000?streamid=a", "srt://:9000?streamid=b") == nil)
        #expect(second("srt://:0", "srt://:0") == nil)
        #expect(second("udp://10.0.0.1:5000", "udp://10.0.0.2:5000") == nil)
        #expect(second("srt://far:9000", "srt://far:9000") == nil)
    }

    @Test func callerRules() {
        func callers(_ text: String, input: String = "srt://:9000") -> String? {
            faults("streams:\n  a:\n    input: \(input)\n    output: udp://host:5000\n    callers: \(text)\n").first
        }
        #expect(callers("{publish: a}") == nil)
        #expect(callers("{publish: [a]}") == nil)
        #expect(callers("[a]")?.contains("not a list") == true)
        #expect(callers("{publsh: a}")?.contains("streams.a.callers.publsh: is no key here; did you mean publish?") == true)
        #expect(callers("{request: a}")?.contains("goes with an output that is an SRT listener") == true)
        #expect(callers("{publish: a}", input: "udp://:5000")?.contains("goes with an input that is an SRT listener") == true)
        #expect(callers("{publish: a}", input: "srt://:9000?streamid=a")?.contains("in the URL, too") == true)
        #expect(callers("{publish: [a, b]}")?.contains("has 2 names; exactly one is supported so far") == true)
        for name in ["''", "'#!::r=a'", "\"a\\u0007\""] {
            #expect(callers("{publish: \(name)}")?.contains("a name of 1 to 512 bytes") == true, "\(name)")
        }
    }

    @Test func moreStreamsThanAllowed() {
        let streams = (1...3).map { "  s\($0): {input: 'udp://:600\($0)', output: 'udp://h:1'}\n" }.joined()
        #expect(
            faults("limits: {streams: 2}\nstreams:\n\(streams)") == ["f:2: streams: has 3 streams; limits.streams allows 2"])
    }

    /// What a file that is not whole, or is none, leads to: it must not take all streams away.
    @Test(arguments: [
        ("", "f:1: streams: the file is empty, or all of it is comments"),
        ("# streams:\n#   a:\n", "f:1: streams: the file is empty"),
        ("http:\n  port: 8080\n", "f:1: streams: is missing"), ("http:\n  port: 8080\nstreams:\n", "f:3: streams: is empty"),
        ("streams:\n  a:\n    input: srt://:9000\n", "f:2: streams.a.output: is missing"),
        ("streams:\n  a:\n    inp", "is a section with keys of its own"),
        ("streams:\n  ../x:\n    input: srt://:1\n", "is no name for a stream"),
    ])
    func aFileThatIsCutOffOrEmptyIsAFault(text: String, words: String) {
        var lines: [String] = []
        do throws(ConfigurationFaults) {
            _ = try ServiceConfiguration(text, environment: environment(), needsStreams: true)
        } catch {
            lines = error.lines(in: "f")
        }
        #expect(lines.contains { $0.contains(words) }, "\(lines)")
    }

    @Test func noStreamsAtAllHaveToBeMeant() throws {
        #expect(try ServiceConfiguration("streams: {}\n", environment: environment(), needsStreams: true).streams.isEmpty)
    }

    @Test func whatIsNoConfigurationFileIsAFault() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let large = folder.appending(path: "large.yaml").path
        #expect(FileManager.default.createFile(atPath: large, contents: Data(count: 10 << 20)))
        for (path, words) in [(folder.path, "is no regular file"), (large, "has more than 262144 bytes")] {
            let error = #expect(throws: ConfigurationFaults.self) { try ServiceConfiguration.load(file: path) }
            #expect(error?.faults.map(\.text).first?.hasPrefix(words) == true, "\(String(describing: error))")
        }
    }

    /// A kind of URL that is wrong names those that are right in its place.
    @Test(arguments: [
        ("input: rtmp://h/a\n    output: udp://h:1", "whip:NAME", "OBS and FFmpeg can send SRT in place of RTMP"),
        ("input: udp://:1\n    output: http://h/a", "whep:NAME", "ffmpeg -i URL"),
        ("input: udp://:1\n    output: rec.ts", "whep:NAME", "an absolute path"),
        ("input: '-'\n    output: udp://h:1", "whip:NAME", "srt://"),
    ])
    func aWrongKindOfURLNamesThoseThatAreRight(ends: String, kind: String, remedy: String) {
        let lines = faults("streams:\n  a:\n    \(ends)\n")
        #expect(lines.count == 1 && lines[0].contains(kind) && lines[0].contains(remedy), "\(lines)")
    }
}
