import CSRT
import Endpoint
import Media
import Testing
@testable import Packets
@testable import SRT
@testable import Transport

@Suite(.serialized) struct SRTLoopbackTests {
    /// Sends `count` messages one after the other and reads each before the next goes out.
    private func exchange(_ reader: Reader, _ sink: Sink, count: Int) {
        for i in 0..<count {
            let sent = sink.send(numbered(i))
            #expect(sent == .sent, "\(sink.nextEvent()?.description ?? "no event") after \(reader.events)")
            guard let (message, bytes) = reader.next() else {
                Issue.record("message \(i) did not come")
                return
            }
            #expect(bytes == numbered(i))
            #expect(message.sourceTime != nil)
        }
    }

    @Test(arguments: [SRTEndpoint.Ingest.early, .tsbpd])
    func callerToListener(ingest: SRTEndpoint.Ingest) throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20&ingest=\(ingest.rawValue)")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20&streamid=%23!::r=cam"))
        let connection = try #require(reader.awaitConnection())
        #expect(connection.streamID == "#!::r=cam")
        #expect(connection.window == .milliseconds(20))
        #expect(connection.ingest == ingest)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 50)
    }

    @Test func listenerToCaller() throws {
        let sink = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"))
        let reader = try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20")
        #expect(reader.awaitConnection()?.peer == "127.0.0.1:\(sink.localPort)")
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 50)
    }

    /// libsrt shows a call as broken for a moment before it is connected. A test that samples at once sees that in every
    /// second call.
    @Test func aCallThatSucceedsNeverLooksFailed() throws {
        let listening = SRTEndpoint(mode: .listener, host: "127.0.0.1", port: 0, latency: .milliseconds(20))
        let listener = try SRTListener(listening, place: "here", readingEarly: false, signal: ReaderSignal())
        let calling = SRTEndpoint(mode: .caller, host: "127.0.0.1", port: listener.port, latency: .milliseconds(20))
        let address = try SocketAddress.resolve(host: "127.0.0.1", port: listener.port, place: "here")
        for _ in 0..<60 {
            listener.admit(readingEarly: false, to: .free)
            let socket = try SRTSocket()
            try socket.configure(for: calling, early: false, tap: nil)
            // On a loaded machine a call may take longer than libsrt's three seconds, and has then failed indeed.
            try socket.set(SRTO_CONNTIMEO, Int32(Reader.timeout.milliseconds))
            try socket.use(address, with: srt_connect)
            let limit = MonotonicTime.now() + Reader.timeout
            while case .underWay = socket.progress, .now() < limit {}
            guard case .connected = socket.progress else {
                Issue.record("\(socket.state), reason \(srt_getrejectreason(socket.id))")
                return
            }
            while listener.accept() == nil, .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }
    }

    @Test func ipv6() throws {
        let reader = try Reader("srt://[::1]:0?mode=listener&latency=20")
        let sink = try Sink(StreamURL("srt://[::1]:\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection()?.peer.hasPrefix("[::1]:") == true)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 5)
    }

    @Test func rightPassphrase() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20&passphrase=correct%20horse&pbkeylen=32")
        let port = reader.source.localPort
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(port)?latency=20&passphrase=correct%20horse"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 20)
    }

    @Test(arguments: [("&passphrase=battery%20staple", "is wrong"), ("", "wants a passphrase")])
    func wrongPassphrase(secret: String, reason: String) throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&passphrase=correct%20horse")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20\(secret)"))
        let limit = MonotonicTime.now() + Reader.timeout
        let failure = #expect(throws: TransportError.self) { try sink.awaitConnection(until: limit) }
        #expect(failure?.code == .refused)
        #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
        #expect("\(failure!)".contains("staple") == false)
        let event = reader.wait(for: { if case .refused = $0 { true } else { false } })
        #expect(event?.description.contains("wrong passphrase or none") == true)
        // The listener is not the worse for it.
        let right = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20&passphrase=correct%20horse"))
        #expect(reader.awaitConnection() != nil)
        #expect(right.awaitPeer())
    }

    @Test func nobodyThere() throws {
        // Somebody who says nothing keeps the port, so that nobody else gets it.
        let silent = try Reader("udp://127.0.0.1:0")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(silent.source.localPort)"))
        let limit = MonotonicTime.now() + Reader.timeout
        let failure = #expect(throws: TransportError.self) { try sink.awaitConnection(until: limit) }
        #expect(failure?.code == .unreachable)
        #expect(sink.send(numbered(0)) == .notConnected)
        withExtendedLifetime(silent) {}
    }

    @Test func portTaken() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener")
        let failure = #expect(throws: TransportError.self) {
            _ = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?mode=listener"))
        }
        #expect(failure?.code == .cannotBind)
    }

    @Test func listenerOutlivesItsPeers() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        for _ in 0..<3 {
            reader.forget()
            do {
                let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
                #expect(reader.awaitConnection() != nil)
                #expect(sink.awaitPeer())
                exchange(reader, sink, count: 5)
            }
            #expect(reader.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        }
        #expect(reader.source.statistics().connections == 3)
    }

    /// What a sender has begun for one receiver is of no use to the next.
    @Test func nothingGoesToAReceiverBeforeItsEvent() throws {
        let sink = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"))
        func wait(until isConnected: Bool) {
            let limit = MonotonicTime.now() + Reader.timeout
            while sink.isConnected != isConnected && .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }
        do {
            let reader = try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20")
            #expect(reader.awaitConnection() != nil)
            wait(until: true)
            // The first connection need not have been reported.
            exchange(reader, sink, count: 5)
        }
        wait(until: false)
        #expect(sink.send(numbered(5)) == .notConnected)
        let reader = try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20")
        #expect(reader.awaitConnection() != nil)
        wait(until: true)
        #expect(sink.send(numbered(6)) == .notConnected)
        var connections = 0
        while connections < 2, let event = sink.nextEvent() { if case .connected = event { connections += 1 } }
        #expect(connections == 2)
        exchange(reader, sink, count: 5)
    }

    /// A receiver that does not read until all buffers are full: libsrt would not go on even if it read again.
    @Test func anOutputThatAcceptsNothingAnyMoreIsConnectedAnew() throws {
        let sink = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"))
        let reader = try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20&ingest=early")
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        reader.forget()
        let limit = MonotonicTime.now() + Reader.timeout
        var index = 0
        var event: LegEvent?
        while event == nil, .now() < limit {
            while sink.send(numbered(index)) == .sent { index += 1 }
            event = sink.nextEvent()
            (MonotonicTime.now() + .milliseconds(5)).sleep()
        }
        #expect(event == .disconnected(reason: "it takes nothing any more"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 5)
    }

    @Test func eventsOfConnectionsAreNotLostAmongRefusals() {
        let events = EventQueue()
        for number in 0..<100 { events.append(.refused(reason: "caller \(number)")) }
        events.append(.connected(Connection(peer: "camera")))
        var told: [LegEvent] = []
        while let event = events.pop() { told.append(event) }
        #expect(told.count == 33 && told.last == .connected(Connection(peer: "camera")))
    }

    @Test func callerComesBack() throws {
        var listener: Sink? = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"))
        let port = listener!.localPort
        let reader = try Reader("srt://127.0.0.1:\(port)?latency=20")
        #expect(reader.awaitConnection() != nil)
        listener = nil
        #expect(reader.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        reader.forget()
        let again = try Sink(StreamURL("srt://127.0.0.1:\(port)?mode=listener&latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(again.awaitPeer())
        exchange(reader, again, count: 5)
    }

    /// Sends messages that are dated a millisecond apart, whatever the time between them, and reads each.
    private func datedMessages(_ reader: Reader, _ sink: Sink, from first: MonotonicTime, count: Int) throws {
        var begin: MonotonicTime?
        for i in 0..<count {
            let date = first + .milliseconds(Double(i))
            // Later than dated, never earlier: the first message has the least delay and sets the fit.
            (MonotonicTime.now() + .milliseconds(3)).sleep()
            #expect(sink.send(numbered(i), sourceTime: date) == .sent)
            let message = try #require(reader.next()).message
            let time = try #require(message.sourceTime)
            if let begin {
                let error = time - begin - .milliseconds(Double(i))
                #expect(abs(error.count) <= 2_000, "message \(i)")
            } else {
                begin = time
                #expect(time == message.arrival)
            }
        }
        #expect(!reader.events.contains(.clockReset))
    }

    /// With TSBPD off at the receiver, libsrt's sender would date messages by their sending. Our handshake prevents that.
    @Test func sourceTimesTravelToAListener() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20&ingest=early")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        try datedMessages(reader, sink, from: .now(), count: 50)
    }

    @Test func sourceTimesTravelToACaller() throws {
        let sink = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"))
        let reader = try Reader("srt://127.0.0.1:\(sink.localPort)?latency=20&ingest=early")
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        try datedMessages(reader, sink, from: .now(), count: 50)
    }

    /// The sender's 32 bits of microseconds begin 100 ms before they wrap.
    @Test func sourceTimeWraps() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20&ingest=early")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        let ahead = Nanoseconds.microseconds(1 << 32) - .milliseconds(100)
        try datedMessages(reader, sink, from: .now() + ahead, count: 300)
    }

    /// libsrt itself would use our window, whatever the caller says, while TSBPD is off.
    @Test func theLargerWindowCounts() throws {
        for (ours, theirs) in [(20, 300), (300, 20)] {
            let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=\(ours)&ingest=early")
            let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=\(theirs)"))
            #expect(reader.awaitConnection()?.window == .milliseconds(300))
            #expect(sink.awaitPeer())
            let listener = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=\(theirs)"))
            let caller = try Reader("srt://127.0.0.1:\(listener.localPort)?latency=\(ours)&ingest=early")
            #expect(caller.awaitConnection()?.window == .milliseconds(300))
        }
    }

    @Test func namesAreLookedUp() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        let endpoint = SRTEndpoint(mode: .caller, host: "burnish.invalid", port: reader.source.localPort)
        let asked = Lock<[String]>([])
        let resolver = MadeUpResolver { host, answer in
            let count = asked.withLock {
                $0.append(host)
                return $0.count
            }
            answer(count < 4 ? .failure(NameFault(count < 3 ? "not yet" : "soon")) : .success(["127.0.0.1"]))
        }
        let link = try SRTLink(endpoint, direction: .output, resolver: resolver)
        defer { link.stop() }
        #expect(reader.awaitConnection() != nil)
        #expect(asked.withLock { $0 } == Array(repeating: "burnish.invalid", count: 4))
        var events: [String] = []
        while let event = link.events.pop() { events.append(event.description) }
        // Each reason is said once.
        let reasons = events.filter { $0.hasPrefix("no connection: ") }
        #expect(reasons.count == 2 && reasons[0].hasPrefix("no connection: no address for host 'burnish.invalid': not yet; "))
        #expect(reasons.last?.contains(": soon; ") == true)
    }

    /// A resolver that does not answer does not delay a stop.
    @Test func aLookUpThatTakesForEverDoesNotDelayTheEnd() throws {
        let (asked, stopped) = (Flag(), Flag())
        let late = Lock<(@Sendable (Result<[String], NameFault>) -> Void)?>(nil)
        // Its address is never known, and its port is of no account.
        let endpoint = SRTEndpoint(mode: .caller, host: "burnish.invalid", port: 9)
        let resolver = MadeUpResolver { _, answer in
            late.withLock { $0 = answer }
            asked.set()
        }
        let link = try SRTLink(endpoint, direction: .input, resolver: resolver)
        #expect(asked.wait())
        let stopper = StageThread(name: "stopper") {
            link.stop()
            stopped.set()
        }
        #expect(stopped.wait())
        late.withLock { $0 }?(.failure(NameFault("too late")))
        stopper.join()
        // Later results are ignored.
        #expect(link.events.pop() == nil)
    }

    /// A caller may be admitted long before it is served, and before the listener is asked for callers.
    @Test(arguments: [true, false]) func aCallerThatHasWaitedLongIsReadAsItWasMet(early: Bool) throws {
        let endpoint = SRTEndpoint(mode: .listener, host: "127.0.0.1", port: 0, latency: .milliseconds(20))
        let listener = try SRTListener(endpoint, place: "here", readingEarly: early, signal: ReaderSignal())
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(listener.port)?latency=300"))
        #expect(sink.awaitPeer())
        // The next connections are met the other way.
        listener.admit(readingEarly: !early, to: .free)
        #expect(listener.refusals(now: .now() + .seconds(60)).isEmpty)
        #expect(someoneWaits(at: listener))
        guard let caller = listener.accept() else {
            Issue.record("nobody is there")
            return
        }
        let (isEarly, windowAsked) = (caller.early, caller.windowAsked)
        #expect(isEarly == early)
        #expect(windowAsked == (early ? 300 : -1))
    }

    private func someoneWaits(at listener: SRTListener) -> Bool {
        let limit = MonotonicTime.now() + Reader.timeout
        while !listener.someoneWaits && .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        return listener.someoneWaits
    }

    @Test func aCallerThatLeavesBeforeItsTurnWasNotRefused() throws {
        let endpoint = SRTEndpoint(mode: .listener, host: "127.0.0.1", port: 0, streamID: "cam")
        let listener = try SRTListener(endpoint, place: "here", readingEarly: true, signal: ReaderSignal())
        do {
            let sink = try Sink(StreamURL("srt://127.0.0.1:\(listener.port)?streamid=cam"))
            #expect(sink.awaitPeer())
            #expect(someoneWaits(at: listener))
            #expect(listener.refusals().isEmpty)
        }
        // libsrt sees that it has left before it sees the next one, which is refused and reported.
        let other = try Sink(StreamURL("srt://127.0.0.1:\(listener.port)?streamid=mic"))
        let limit = MonotonicTime.now() + Reader.timeout
        var refusals: [String] = []
        while refusals.isEmpty && .now() < limit {
            (MonotonicTime.now() + .milliseconds(1)).sleep()
            refusals = listener.refusals()
        }
        #expect(refusals.count == 1 && refusals.first?.contains("stream ID") == true, "\(refusals)")
        withExtendedLifetime(other) {}
    }

    @Test func secondCallerIsTurnedAway() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 5)
        let other = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        // It is let in as soon as the first has been silent for a second, so keep that one talking.
        let limit = MonotonicTime.now() + Reader.timeout
        var refused = false
        while !refused && .now() < limit {
            exchange(reader, sink, count: 1)
            refused = other.nextEvent().map { if case .refused = $0 { true } else { false } } ?? false
        }
        #expect(refused)
    }
}
