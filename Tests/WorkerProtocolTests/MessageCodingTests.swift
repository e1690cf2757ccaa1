import Media
import Testing
import WorkerProtocol

/// The messages as text. Another build of the other end may read them: when one of these changes, raise
/// ``MessageCoding/version``.
@Suite struct MessageCodingTests {
    static let supervisor: [(SupervisorMessage, String)] = [
        (.hello(version: 1), #"{"hello":{"version":1}}"#),
        (
            .start(
                WorkerAssignment(
                    stream: "cam1", input: "srt://0.0.0.0:9000?passphrase=correct horse",
                    outputs: ["udp://192.0.2.1:5000"], settings: ["tier": "neural-s"])),
            #"{"start":{"_0":{"descriptions":[],"input":"srt://0.0.0.0:9000?passphrase=correct horse","outputs":["udp://192.0.2.1:5000"],"#
                + #""settings":{"tier":"neural-s"},"stream":"cam1"}}}"#
        ),
        (
            .change(id: 3, stream: "cam1", settings: ["bitrate": nil, "budget": "100ms"]),
            #"{"change":{"id":3,"settings":{"bitrate":null,"budget":"100ms"},"stream":"cam1"}}"#
        ),
        (.stop(stream: "cam1"), #"{"stop":{"stream":"cam1"}}"#),
        (.kick(stream: "cam1", caller: 7, seconds: 2.5), #"{"kick":{"caller":7,"seconds":2.5,"stream":"cam1"}}"#),
        (.listCallers(id: 3, stream: "cam1"), #"{"listCallers":{"id":3,"stream":"cam1"}}"#),
        (
            .resolved(id: 1, addresses: ["192.0.2.1", "2001:db8::1"], fault: nil),
            #"{"resolved":{"addresses":["192.0.2.1","2001:db8::1"],"id":1}}"#
        ),
        (
            .showPicture(id: 4, stream: "cam1", side: .after, width: 640),
            #"{"showPicture":{"id":4,"side":"after","stream":"cam1","width":640}}"#
        ),
        (
            .showPast(id: 6, stream: "cam1", side: .before, place: .frame(48213), format: .png, width: 640, keepsUnits: true),
            #"{"showPast":{"format":"png","id":6,"keepsUnits":true,"place":{"frame":{"_0":48213}},"side":"before","stream":"cam1","width":640}}"#
        ),
        (
            .showPast(
                id: 6, stream: "cam1", side: .after, place: .best(since: 5), format: .jpeg, width: 640, keepsUnits: false),
            #"{"showPast":{"format":"jpeg","id":6,"keepsUnits":false,"place":{"best":{"since":5}},"side":"after","stream":"cam1","width":640}}"#
        ),
        (
            .cutClip(id: 7, stream: "cam1", from: -1, to: 5, format: .mp4, ofInput: false),
            #"{"cutClip":{"format":"mp4","from":-1,"id":7,"ofInput":false,"stream":"cam1","to":5}}"#
        ),
        (
            .share(stream: "cam1", dealt: 1.5, optional: 0.25, room: 0.5),
            #"{"share":{"dealt":1.5,"optional":0.25,"room":0.5,"stream":"cam1"}}"#
        ),
        (
            .offer(id: 5, stream: "cam1", side: .publish, description: "v=0\r\n", takesOver: true),
            #"{"offer":{"description":"v=0\r\n","id":5,"side":"publish","stream":"cam1","takesOver":true}}"#
        ),
        (
            .offer(id: 6, stream: "cam1", side: .play, description: "v=0\r\n", profile: .baseline),
            #"{"offer":{"description":"v=0\r\n","id":6,"profile":"baseline","side":"play","stream":"cam1","takesOver":false}}"#
        ),
        (
            .chooseLayer(call: 5, layer: .sent), #"{"chooseLayer":{"call":5,"layer":"sent"}}"#
        ),
        (.chooseLayer(call: 5), #"{"chooseLayer":{"call":5}}"#),
        (
            .restartCall(id: 6, call: 5, userFragment: "abcd", password: "x"),
            #"{"restartCall":{"call":5,"id":6,"password":"x","userFragment":"abcd"}}"#
        ),
        (.hangUp(id: 5), #"{"hangUp":{"id":5}}"#), (.ping(id: 9), #"{"ping":{"id":9}}"#),
        (.end, #"{"end":{}}"#),
    ]

    static let worker: [(WorkerMessage, String)] = [
        (.hello(version: 1), #"{"hello":{"version":1}}"#),
        (
            .started(stream: "cam1", inputPort: 9000, outputPorts: [0, 9001]),
            #"{"started":{"inputPort":9000,"outputPorts":[0,9001],"stream":"cam1"}}"#
        ),
        (
            .ended(stream: "cam1", code: 69, reason: "address in use"),
            #"{"ended":{"code":69,"reason":"address in use","stream":"cam1"}}"#
        ),
        (.changed(id: 3, fault: nil), #"{"changed":{"id":3}}"#),
        (
            .event(stream: "cam1", StreamEvent(.inputUp, "caller from 192.0.2.1:4000")),
            #"{"event":{"_1":{"isUsual":false,"kind":"inputUp","text":"caller from 192.0.2.1:4000"},"stream":"cam1"}}"#
        ),
        (
            .troubles(stream: "cam1", [StreamTrouble(output: 1, .unreachable, "nobody answers")]),
            #"{"troubles":{"_1":[{"kind":"unreachable","output":1,"text":"nobody answers"}],"stream":"cam1"}}"#
        ),
        (.resolve(id: 1, host: "example.org", port: 9000), #"{"resolve":{"host":"example.org","id":1,"port":9000}}"#),
        (.picture(id: 4, byteCount: 0, fault: "no picture"), #"{"picture":{"byteCount":0,"fault":"no picture","id":4}}"#),
        (.still(id: 6, byteCount: 9, frame: 48213), #"{"still":{"byteCount":9,"frame":48213,"id":6}}"#),
        (.clipBegun(id: 7, late: 1.5), #"{"clipBegun":{"id":7,"late":1.5}}"#),
        (.wantsRecording(id: 8, stream: "a"), #"{"wantsRecording":{"id":8,"stream":"a"}}"#),
        (
            .clip(id: 7, byteCount: 9, pictures: 3, seconds: 0.5),
            #"{"clip":{"byteCount":9,"id":7,"pictures":3,"seconds":0.5}}"#
        ),
        (
            .refusedPast(id: 6, PastRefusal(.missing, "it has left")),
            #"{"refusedPast":{"_1":{"kind":"missing","text":"it has left"},"id":6}}"#
        ),
        (.answered(id: 5, description: "v=0\r\n"), #"{"answered":{"description":"v=0\r\n","id":5}}"#),
        (
            .refusedCall(id: 5, CallRefusal(.occupied, "another peer publishes")),
            #"{"refusedCall":{"_1":{"kind":"occupied","text":"another peer publishes"},"id":5}}"#
        ),
        (.endedCall(id: 5), #"{"endedCall":{"id":5}}"#),
        (.alive(id: 9, stalled: ["cam1/encode"]), #"{"alive":{"id":9,"stalled":["cam1/encode"]}}"#),
        (
            .callers(id: 3, [Caller(id: 7, leg: .input, peer: "192.0.2.1:4000", streamID: "", connectedAt: 5)], isLast: true),
            #"{"callers":{"_1":[{"connectedAt":5,"figures":{},"id":7,"leg":"input","peer":"192.0.2.1:4000","#
                + #""streamID":"","transport":"srt"}],"id":3,"isLast":true}}"#
        ),
    ]

    /// The largest offer is one message, whatever it holds of what an offer may hold.
    @Test func theLargestOfferIsOneMessage() throws {
        let text = String(repeating: "\"\r\n/", count: Calls.largestDescription / 4)
        let bytes = try MessageCoding.encode(
            SupervisorMessage.offer(id: .max, stream: String(repeating: "n", count: 64), side: .publish, description: text))
        #expect(bytes.count <= MessageCoding.largestMessage)
    }

    /// Descriptions that are long only together are one message, whatever they hold of what they may hold.
    @Test func theLargestDescriptionsAreOneMessage() throws {
        let text = String(repeating: "\"\r\n\\", count: SDPText.largest / 4)
        var assignment = WorkerAssignment(
            stream: String(repeating: "n", count: 64), input: "/etc/burnish/call.sdp",
            outputs: Array(repeating: "/etc/burnish/" + String(repeating: "o", count: 1000) + ".sdp", count: 12), settings: [:])
        let description = try #require(SDPText(text))
        assignment.descriptions = Array(repeating: description, count: SDPText.largestTogether / SDPText.largest)
        let message = SupervisorMessage.start(assignment)
        let bytes = try MessageCoding.encode(message)
        #expect(bytes.count <= MessageCoding.largestMessage)
        #expect(try MessageCoding.decode(SupervisorMessage.self, from: bytes) == message)
    }

    @Test func aDescriptionThatIsTooLongIsNoMessage() throws {
        func start(_ descriptions: String) throws -> SupervisorMessage {
            let text =
                #"{"start":{"_0":{"descriptions":\#(descriptions),"input":"a.sdp","outputs":[],"settings":{},"stream":"a"}}}"#
            return try MessageCoding.decode(SupervisorMessage.self, from: text.utf8)
        }
        let longest = String(repeating: "x", count: SDPText.largest)
        guard case .start(let assignment) = try start(#"["\#(longest)"]"#) else {
            Issue.record("another message was read")
            return
        }
        #expect(assignment.descriptions == [SDPText(longest)])
        // The limit is in bytes: é has two.
        #expect(SDPText(longest + "x") == nil && SDPText(longest.dropLast() + "é") == nil)
        for wrong in [#"["\#(longest)x"]"#, #"["v=0","\#(longest)x"]"#, "[1]", "[null]", "{}", "3", #""v=0""#, #"[["v=0"]]"#] {
            #expect(throws: MessageFault.self) { try start(wrong) }
        }
    }

    @Test func everyMessageOfTheSupervisorIsWrittenAndRead() throws {
        for (message, text) in Self.supervisor {
            #expect(String(decoding: try MessageCoding.encode(message), as: UTF8.self) == text)
            #expect(try MessageCoding.decode(SupervisorMessage.self, from: text.utf8) == message)
        }
    }

    @Test func everyMessageOfTheWorkerIsWrittenAndRead() throws {
        for (message, text) in Self.worker {
            #expect(String(decoding: try MessageCoding.encode(message), as: UTF8.self) == text)
            #expect(try MessageCoding.decode(WorkerMessage.self, from: text.utf8) == message)
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{}", #"{"hello":{}}"#, #"{"hello":{"version":1e40}}"#, #"{"dance":{}}"#,
        #"{"started":{"stream":"a","inputPort":65536,"outputPorts":[]}}"#,
        "\u{0}", #"{"event":{"_1":{"kind":"party","text":""},"stream":"a"}}"#,
    ])
    func whatIsNoMessageIsAFault(_ text: String) {
        #expect(throws: MessageFault.self) { try MessageCoding.decode(WorkerMessage.self, from: text.utf8) }
    }

    @Test func deepNestingIsAFault() {
        for text in [String(repeating: "[", count: 60_000), String(repeating: #"{"hello":"#, count: 5_000)] {
            #expect(throws: MessageFault.self) { try MessageCoding.decode(WorkerMessage.self, from: text.utf8) }
        }
    }

    @Test func aFaultShowsNoSecret() {
        let text = #"{"start":{"_0":{"input":"srt://h:1?passphrase=hunter2hunter2","outputs":3}}}"#
        #expect(throws: MessageFault("a message cannot be read: it is no SupervisorMessage of protocol version 11")) {
            try MessageCoding.decode(SupervisorMessage.self, from: text.utf8)
        }
    }

    @Test func aMessageThatIsTooLargeIsAFault() {
        let message = WorkerMessage.event(stream: "a", StreamEvent(.message, String(repeating: "x", count: 1 << 16)))
        #expect(throws: MessageFault.self) { try MessageCoding.encode(message) }
    }

    @Test func anotherVersionIsRefusedInWords() {
        #expect(MessageCoding.fault(ofVersion: MessageCoding.version) == nil)
        #expect(
            MessageCoding.fault(ofVersion: 12)
                == "the other end speaks version 12 of the worker protocol and this one version 11: install burnish and burnishd "
                + "of the same release")
    }
}
