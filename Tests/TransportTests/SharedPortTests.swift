import Endpoint
import Media
import Packets
import Synchronization
import Testing
@testable import SRT
@testable import Transport

/// Several legs on one listening SRT port, told apart by their callers' stream IDs.
@Suite(.serialized) struct SharedPortTests {
    private func listen(_ query: String, port: UInt16 = 0) -> String {
        "srt://127.0.0.1:\(port)?mode=listener&latency=20&\(query)"
    }
    private func call(_ port: UInt16, _ query: String) -> String { "srt://127.0.0.1:\(port)?latency=20&\(query)" }

    private func refusal(of sink: Sink) -> String {
        let event = sink.wait(for: {
            switch $0 {
            case .connected, .refused: true
            default: false
            }
        })
        guard case .refused(let reason) = event else { return "\(event.map { "\($0)" } ?? "nothing")" }
        return reason
    }

    private func exchange(_ sink: Sink, _ reader: Reader, from first: Int) throws {
        for i in first..<first + 20 { try #require(sink.send(numbered(i)) == .sent) }
        for i in first..<first + 20 { try #require(reader.nextNumber() == i) }
    }

    @Test func eachStreamHasItsCallersItsPassphraseAndItsWindow() throws {
        let cam = try Reader(listen("streamid=cam&passphrase=correct%20horse&pbkeylen=32"))
        let port = cam.source.localPort
        let mic = try Reader(listen("streamid=mic", port: port).replacing("latency=20", with: "latency=300"))
        let out = try Sink(StreamURL(listen("streamid=cam&passphrase=battery%20staple", port: port)))
        #expect(mic.source.localPort == port && out.localPort == port)

        let camera = try Sink(StreamURL(call(port, "streamid=%23!::r=cam,m=publish&passphrase=correct%20horse")))
        let microphone = try Sink(StreamURL(call(port, "streamid=mic")))
        let viewer = try Reader(call(port, "streamid=%23!::r=cam&passphrase=battery%20staple"))
        #expect(cam.awaitConnection()?.streamID == "#!::r=cam,m=publish")
        #expect(mic.awaitConnection()?.window == .milliseconds(300))
        #expect(camera.awaitPeer() && microphone.awaitPeer() && out.awaitPeer())
        #expect(viewer.awaitConnection() != nil)
        for round in 0..<5 {
            try exchange(camera, cam, from: round * 100)
            try exchange(microphone, mic, from: round * 100 + 30)
            try exchange(out, viewer, from: round * 100 + 60)
        }
        // Each packet of what is read early left its stamp, though three connections share a UDP socket.
        for reader in [cam, mic] {
            let figures = reader.source.statistics()
            #expect(figures.connections == 1 && figures.packetsReceived >= 100 && figures.messagesUnstamped == 0)
        }
    }

    @Test func whoAsksForTheWrongThingIsToldWhat() throws {
        let cam = try Reader(listen("streamid=cam&passphrase=correct%20horse"))
        let port = cam.source.localPort
        let wall = try Sink(StreamURL(listen("streamid=wall", port: port)))
        for (query, code) in [
            ("streamid=door", "1404"), ("passphrase=correct%20horse", "1404"), ("streamid=%23!::r=cam,m=request", "1405"),
            ("streamid=%23!::r=wall,m=publish", "1405"), ("streamid=%23!::r", "1400"),
            ("streamid=cam&passphrase=battery%20staple", "passphrase is wrong"),
        ] {
            let reason = refusal(of: try Sink(StreamURL(call(port, query))))
            #expect(reason.contains(code), "\(query): \(reason)")
        }
        let known = cam.wait(for: { if case .refused(let text) = $0 { text.contains("wrong passphrase") } else { false } })
        #expect(known != nil)
        let counts = cam.source.statistics().refusals
        #expect(counts[.unknownStream] >= 2 && counts[.wrongMode] >= 1 && counts[.malformedStreamID] >= 1)
        #expect(counts[.wrongPassphrase] >= 1 && wall.statistics().refusals.total == 0)
    }

    @Test func callersMustBeAbleToTellLegsApart() throws {
        let cam = try Reader(listen("streamid=cam"))
        let port = cam.source.localPort
        for (query, hint) in [("streamid=cam", "another one"), ("ingest=early", "give each a streamid")] {
            let failure = #expect(throws: TransportError.self) { _ = try Source(StreamURL(listen(query, port: port))) }
            #expect(failure?.code == .cannotBind && failure?.message.contains(hint) == true, "\(failure.debugDescription)")
        }
        let alone = try Reader(listen("ingest=early"))
        #expect(throws: TransportError.self) {
            _ = try Source(StreamURL(listen("streamid=cam", port: alone.source.localPort)))
        }
    }

    /// A stream comes and goes while another one flows.
    @Test func legsJoinAndLeave() throws {
        let cam = try Reader(listen("streamid=cam"))
        let port = cam.source.localPort
        let camera = try Sink(StreamURL(call(port, "streamid=cam")))
        #expect(cam.awaitConnection() != nil && camera.awaitPeer())
        for round in 0..<3 {
            do {
                let mic = try Reader(listen("streamid=mic", port: port))
                let microphone = try Sink(StreamURL(call(port, "streamid=mic")))
                #expect(mic.awaitConnection() != nil && microphone.awaitPeer())
                try exchange(microphone, mic, from: 0)
            }
            try exchange(camera, cam, from: round * 20)
            #expect(refusal(of: try Sink(StreamURL(call(port, "streamid=mic")))).contains("1404"))
        }
        #expect(cam.source.statistics().connections == 1)
    }

    /// The first leg, which opened the port, ends; the others keep it.
    @Test func thePortOutlivesTheLegThatOpenedIt() throws {
        var first: Reader? = try Reader(listen("streamid=cam"))
        let port = try #require(first).source.localPort
        let mic = try Reader(listen("streamid=mic", port: port))
        first = nil
        let microphone = try Sink(StreamURL(call(port, "streamid=mic")))
        #expect(mic.awaitConnection() != nil && microphone.awaitPeer())
        try exchange(microphone, mic, from: 0)
    }

    @Test func aPortIsFreeAsSoonAsItsLastLegEnds() throws {
        var port: UInt16 = 0
        for _ in 0..<5 {
            let reader = try Reader(listen("streamid=cam", port: port))
            port = reader.source.localPort
            let sink = try Sink(StreamURL(call(port, "streamid=cam")))
            #expect(reader.awaitConnection() != nil && sink.awaitPeer())
            try exchange(sink, reader, from: 0)
        }
    }

    /// A connection that has come when its leg ends leaves nothing behind.
    @Test func aLegEndsBeforeItHasServedItsCaller() throws {
        let endpoint = SRTEndpoint(mode: .listener, host: "127.0.0.1", port: 0, streamID: "cam")
        let cam = try SRTListener(endpoint, place: "here", readingEarly: true, signal: ReaderSignal())
        var other = endpoint
        (other.streamID, other.port) = ("mic", cam.port)
        var mic: SRTListener? = try SRTListener(other, place: "here", readingEarly: true, signal: ReaderSignal())
        let sink = try Sink(StreamURL(call(cam.port, "streamid=mic")))
        #expect(sink.awaitPeer())
        let limit = MonotonicTime.now() + Reader.timeout
        while mic?.someoneWaits == false && .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        #expect(mic?.someoneWaits == true && cam.someoneWaits == false)
        mic = nil
        #expect(sink.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        // All places for connections are free.
        var places = 0
        while places < 1_000, cam.tap.open(Int32(places + 1), requesting: nil) {
            places += 1
            cam.tap.pin(Int32(places))
        }
        #expect(places == 64)
    }

    // MARK: Operators

    @Test func aKickedCallerIsKeptOut() throws {
        let cam = try Reader(listen("streamid=cam"))
        let camera = try Sink(StreamURL(call(cam.source.localPort, "streamid=cam")))
        #expect(cam.awaitConnection() != nil && camera.awaitPeer())
        try exchange(camera, cam, from: 0)
        let caller = try #require(cam.source.peers.first)
        #expect(caller.streamID == "cam" && caller.peer.hasPrefix("127.0.0.1:") && caller.statistics.packetsReceived >= 20)
        #expect(!cam.source.kick(caller.id + 1_000, for: .seconds(60)))
        #expect(cam.source.kick(caller.id, for: .seconds(60)))
        #expect(cam.wait(for: { $0 == .disconnected(reason: "ended on request") }) != nil)
        #expect(cam.source.peers.isEmpty)
        #expect(camera.wait(for: { if case .refused(let reason) = $0 { reason.contains("1403") } else { false } }) != nil)
        #expect(cam.source.statistics().refusals[.kicked] >= 1)
        #expect(!cam.source.kick(caller.id, for: .zero))
    }

    @Test func aKickedCallerMayComeBackLater() throws {
        let cam = try Reader(listen("streamid=cam"))
        let camera = try Sink(StreamURL(call(cam.source.localPort, "streamid=cam")))
        #expect(cam.awaitConnection() != nil && camera.awaitPeer())
        let before = try #require(cam.source.peers.first)
        #expect(cam.source.kick(before.id, for: .milliseconds(300)))
        #expect(cam.wait(for: { $0 == .disconnected(reason: "ended on request") }) != nil)
        cam.forget()
        #expect(cam.awaitConnection() != nil)
        #expect(try #require(cam.source.peers.first).id != before.id)
    }
}
