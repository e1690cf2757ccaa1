import Media
import Testing

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
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 50)
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
        #expect(reader.awaitConnection()?.encrypted == true)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 20)
    }

    @Test(arguments: [("&passphrase=battery%20staple", "is wrong"), ("", "wants a passphrase")])
    func wrongPassphrase(secret: String, reason: String) throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&passphrase=correct%20horse")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20\(secret)"))
        let limit = MonotonicTime.now() + Reader.patience
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
        let free = try Reader("srt://127.0.0.1:0?mode=listener").source.localPort
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(free)"))
        let limit = MonotonicTime.now() + Reader.patience
        let failure = #expect(throws: TransportError.self) { try sink.awaitConnection(until: limit) }
        #expect(failure?.code == .unreachable)
        #expect(sink.send(numbered(0)) == .notConnected)
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

    @Test func sourceTimesTravel() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20&ingest=early")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        let start = MonotonicTime.now() + .milliseconds(1)
        var first: MonotonicTime?
        // Dated 40 ms apart, sent as fast as they go.
        for i in 0..<10 {
            #expect(sink.send(numbered(i), sourceTime: start + .milliseconds(Double(40 * i))) == .sent)
            let message = try #require(reader.next()).message
            let time = try #require(message.sourceTime)
            if first == nil { first = time }
            // The fit follows the earliest, so that only the first is sure to be exact.
            if i == 0 { #expect(time == message.arrival) }
        }
    }

    /// The sender's 32 bits of microseconds begin one second before they wrap.
    @Test func sourceTimeWraps() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20&ingest=early")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        let ahead = Nanoseconds.microseconds(1 << 32) - .seconds(1)
        let start = MonotonicTime.now()
        for i in 0..<200 {
            let time = start + .milliseconds(Double(10 * i))
            time.sleep()
            #expect(sink.send(numbered(i), sourceTime: time + ahead) == .sent)
            let message = try #require(reader.next()).message
            let sourceTime = try #require(message.sourceTime)
            // Unwrapped wrongly it would be off by more than an hour.
            #expect(sourceTime <= message.arrival && sourceTime > message.arrival - .seconds(60))
        }
        #expect(!reader.events.contains(.clockReset))
    }

    /// libsrt itself would take ours, whatever the caller says, while TSBPD is off.
    @Test func theLargerWindowCounts() throws {
        for (ours, theirs) in [(20, 300), (300, 20)] {
            let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=\(ours)&ingest=early")
            let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=\(theirs)"))
            #expect(reader.awaitConnection()?.window == .milliseconds(300))
            #expect(sink.awaitPeer())
        }
    }

    @Test func secondCallerIsTurnedAway() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        exchange(reader, sink, count: 5)
        let other = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)?latency=20"))
        // It is let in as soon as the first has been silent for a second, so keep that one talking.
        let limit = MonotonicTime.now() + Reader.patience
        var refused = false
        while !refused && .now() < limit {
            exchange(reader, sink, count: 1)
            refused = other.nextEvent().map { if case .refused = $0 { true } else { false } } ?? false
        }
        #expect(refused)
    }
}
