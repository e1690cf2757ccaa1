import Endpoint
import Settings
import Testing

@testable import ServiceConfiguration

/// Streams whose legs are session descriptions (`.sdp`).
@Suite struct DescriptionTests {
    static func description(video: String = "5004", sound: String = "5006", address: String = "127.0.0.1") -> String {
        """
        v=0
        o=- 0 0 IN IP4 127.0.0.1
        s=-
        c=IN IP4 \(address)
        t=0 0
        m=video \(video) RTP/AVPF 96
        a=rtpmap:96 H264/90000
        m=audio \(sound) RTP/AVP 97
        a=rtpmap:97 opus/48000/2

        """
    }

    private static let text = """
        streams:
          a:
            input: call.sdp?latency=80
            output: out.sdp?to=sfu.example:6004
        """

    private func configuration(_ text: String, _ files: [String: String]) throws -> ServiceConfiguration {
        try ServiceConfiguration(text, environment: environment(files))
    }

    private func endpoint(_ leg: StreamLeg) throws -> SDPEndpoint {
        guard case .sdp(let endpoint) = leg.url else { throw SettingFault("url", "is another: \(leg)") }
        return endpoint
    }

    /// Relative paths begin at the configuration's folder, as those of its other files do.
    @Test func theFileIsReadAndKept() throws {
        let stream = try configuration(Self.text, ["/etc/burnish/call.sdp": Self.description()]).streams[0]
        let (input, output) = (try endpoint(stream.input), try endpoint(stream.outputs[0]))
        #expect(input.path == "/etc/burnish/call.sdp" && input.content == Self.description())
        #expect(output.path == "/etc/burnish/out.sdp" && output.content == nil && output.hosts == ["sfu.example"])
        #expect(stream.input.description == "/etc/burnish/call.sdp?latency=80" && input.hosts == ["127.0.0.1", "127.0.0.1"])
        // What the worker reads says the same.
        #expect(stream.outputs[0].textWithSecrets == "/etc/burnish/out.sdp?to=sfu.example:6004")
        var read = input
        read.content = nil
        #expect(try StreamURL(stream.input.textWithSecrets) == .sdp(read))
    }

    @Test func anotherTextRestartsTheStream() throws {
        let files = [
            "/etc/burnish/call.sdp": Self.description(),
            "/etc/burnish/other.sdp": Self.description(video: "7004", sound: "7006"),
        ]
        let text = Self.text + "\n  b:\n    input: other.sdp\n    output: udp://127.0.0.1:9\n"
        let old = try configuration(text, files)
        #expect(old.difference(to: try configuration(text, files)).isEmpty)
        let changed = files.merging(["/etc/burnish/call.sdp": Self.description(video: "5008")]) { $1 }
        let difference = old.difference(to: try configuration(text, changed))
        #expect(difference.restarted.map(\.stream.name) == ["a"] && difference.restarted[0].keys == ["input"])
        #expect(difference.live.isEmpty && difference.added.isEmpty && difference.removed.isEmpty)
    }

    @Test func whatCannotBeUsedIsSaidWithItsLine() {
        func fault(_ description: String?, _ text: String = Self.text) -> String? {
            faults(text, environment(description.map { ["/etc/burnish/call.sdp": $0] } ?? [:])).first
        }
        let input = "f:3: streams.a.input: /etc/burnish/call.sdp"
        #expect(fault(Self.description()) == nil)
        #expect(fault(nil) == "\(input) cannot be read: No such file")
        let longest = StreamLeg.largestDescription
        #expect(
            fault(Self.description() + String(repeating: "\n", count: longest)) == "\(input) has more than \(longest) bytes")
        #expect(fault("") == "\(input): it is empty; a session description begins with v=0")
        #expect(fault("v=0\nm=video x RTP/AVP 96\n") == "\(input): line 2: 'x' is not a port; give 0 to 65535")
        #expect(fault("v=0\ns=\u{7}\n")?.contains("line 2: it has a control character") == true)
        #expect(fault("v=0\n")?.contains("names no stream of H.264, VP8 or Opus") == true)
        #expect(
            fault(Self.description().replacing("H264", with: "H265").replacing("opus", with: "PCMU"))?.contains(
                "(video: H265 cannot be read)") == true)
        #expect(fault(Self.description(video: "65535"))?.contains("video: RTCP needs a port of its own beside 65535") == true)
        #expect(
            fault(Self.description(), Self.text.replacing("?latency=80", with: "?to=h:2"))?.contains("to=… is for outputs")
                == true)
        #expect(
            fault(Self.description(), Self.text.replacing("latency=80", with: "latency=x"))?.contains(
                "latency is in milliseconds") == true)
        let out = Self.text.replacing("call.sdp?latency=80", with: "udp://:9000")
        #expect(
            fault(Self.description(), out.replacing("?to=sfu.example:6004", with: "?latency=3"))?.contains(
                "latency is for inputs") == true)
        let read = out.replacing("out.sdp?to=sfu.example:6004", with: "call.sdp")
        #expect(fault(Self.description(), read) == nil)
        #expect(fault(Self.description().replacing("H264", with: "VP8"), read)?.hasPrefix("f:4: streams.a.output: ") == true)
        #expect(
            fault(Self.description().replacing("H264", with: "VP8"), read)?.contains("H.264; the description has VP8") == true)
        #expect(fault(Self.description(video: "0"), read)?.contains("needs a section of video") == true)
    }

    @Test func textThatIsNoUTF8IsAFault() {
        let bytes = ConfigurationEnvironment(folder: "/etc/burnish") {
            (_, _) throws(ConfigurationEnvironment.ReadFailure) in [0x76, 0x3D, 0xFF]
        }
        #expect(faults(Self.text, bytes) == ["f:3: streams.a.input: /etc/burnish/call.sdp is no UTF-8 text"])
    }

    /// A start of a stream is one message, whatever its descriptions hold.
    @Test func theTextsOfAStreamAreLimitedTogether() {
        let padded =
            Self.description() + String(repeating: "\n", count: StreamLeg.largestDescription - Self.description().utf8.count)
        let files = Dictionary(uniqueKeysWithValues: (0..<5).map { ("/\($0).sdp", padded) })
        func text(_ count: Int) -> String {
            "streams:\n  a:\n    input: udp://:9000\n    outputs: [\((0..<count).map { "/\($0).sdp" }.joined(separator: ", "))]\n"
        }
        #expect(faults(text(4), environment(files)) == [])
        #expect(
            faults(text(5), environment(files)) == [
                "f:4: streams.a.outputs: is read with session descriptions of 20480 bytes; a stream may have 16384"
            ])
    }

    @Test func portsThatMeet() {
        func fault(_ other: String, address: String = "127.0.0.1", _ description: String? = nil) -> String? {
            let text = """
                streams:
                  a:
                    input: call.sdp
                    output: udp://host:1
                  b:
                    input: \(other)
                    output: udp://host:1
                """
            return faults(
                text,
                environment([
                    "/etc/burnish/call.sdp": description ?? Self.description(address: address),
                    "/etc/burnish/near.sdp": Self.description(video: "5003", sound: "5010"),
                    "/etc/burnish/far.sdp": Self.description(video: "5010", sound: "5012"),
                ])
            ).first
        }
        // RTP and RTCP of both sections.
        for port in 5004...5007 {
            #expect(
                fault("udp://:\(port)")
                    == "f:6: streams.b.input: listens on port \(port), which the input of a (line 3) has: give another port")
        }
        #expect(fault("udp://:5003") == nil && fault("udp://:5008") == nil)
        #expect(fault("near.sdp")?.contains("listens on port 5004") == true && fault("far.sdp") == nil)
        // Another machine's address is the sender's business: all addresses are bound. A loopback address and a group are not.
        #expect(fault("udp://127.0.0.1:5004", address: "192.0.2.1")?.contains("port 5004") == true)
        #expect(fault("udp://127.0.0.2:5004") == nil && fault("udp://127.0.0.1:5004", address: "239.1.2.3") == nil)
        let mux = Self.description().replacing("H264/90000", with: "H264/90000\na=rtcp-mux").replacing(
            "opus/48000/2", with: "opus/48000/2\na=rtcp:5099")
        #expect(fault("udp://:5005", mux) == nil && fault("udp://:5007", mux) == nil)
        #expect(fault("udp://:5099", mux)?.contains("port 5099") == true)
        // One description's own sections.
        #expect(
            fault("udp://:1", Self.description(sound: "5005"))
                == "f:3: streams.a.input: listens on port 5005, which the stream's own input (line 3) has: give another port")
    }

    @Test func noDescriptionIsOverwritten() {
        func fault(_ input: String, _ output: String) -> String? {
            faults(
                "streams:\n  a: {input: \(input), output: 'udp://h:1'}\n  b: {input: 'udp://:1', output: '\(output)'}\n",
                environment(["/etc/burnish/call.sdp": Self.description()])
            ).first
        }
        #expect(
            fault("call.sdp", "sub/../call.sdp?to=h:2")
                == "f:3: streams.b.output: writes /etc/burnish/call.sdp, which the input of a (line 2) reads: give another file"
        )
        #expect(fault("call.sdp", "call.sdp") == nil)
    }

    /// Callers of the API have no files read. A stream of the file keeps its legs when they change something else.
    @Test func callersOfTheAPIGiveNone() throws {
        let configuration = try configuration(
            "files: {folders: /etc/burnish}\n" + Self.text, ["/etc/burnish/call.sdp": Self.description()])
        let stream = configuration.streams[0]
        func fault(_ texts: [String: String], of base: StreamDefinition? = nil) -> String? {
            do throws(SettingFault) {
                _ =
                    if let base { try configuration.stream(base, changedBy: texts, beside: []) } else {
                        try configuration.stream("new", texts, beside: [])
                    }
                return nil
            } catch { return "\(error.key): \(error.text)" }
        }
        let refusal = "names a session description (.sdp), which only the configuration file can give"
        #expect(fault(["input": "/etc/burnish/call.sdp", "output": "udp://h:1"]) == "input: \(refusal)")
        #expect(fault(["input": "udp://:1", "output": "/etc/burnish/x.sdp?to=h:2"]) == "output: \(refusal)")
        #expect(fault(["input": "/etc/burnish/call.sdp"], of: stream) == "input: \(refusal)")
        let faster = try configuration.stream(stream, changedBy: ["budget": "50ms"], beside: [stream])
        #expect(faster.input == stream.input && faster.outputs == stream.outputs)
        // The page sends the legs as it has got them.
        let same = ["input": stream.input.description, "output": stream.outputs[0].description]
        #expect(try configuration.stream(stream, changedBy: same, beside: [stream]) == stream)
    }
}
