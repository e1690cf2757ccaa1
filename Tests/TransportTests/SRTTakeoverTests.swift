import Endpoint
import Measure
import Media
import Synchronization
import Testing
@testable import Packets
@testable import SRT
@testable import Transport

/// Who gets the one place of an SRT listener when another one calls.
@Suite(.serialized) struct SRTTakeoverTests {
    /// A caller through a network that can be cut, which records when it asks to be admitted.
    private struct Caller {
        let proxy: ImpairmentProxy
        let sink: Sink
        let hasAsked = Flag()

        init(_ port: UInt16) throws {
            let asked = hasAsked
            proxy = try ImpairmentProxy(
                to: UDPEndpoint(host: "127.0.0.1", port: port), settings: ImpairmentSettings()
            ) { datagram in
                // A handshake (control packet of type 0) whose request type is "conclusion".
                if datagram.count >= 40, datagram[0] == 0x80, datagram[1] == 0, datagram[36..<40] == [255, 255, 255, 255] {
                    asked.set()
                }
            }
            sink = try Sink(StreamURL("srt://127.0.0.1:\(proxy.localPort)?latency=20"))
        }

        /// What came of its first call.
        var answer: LegEvent? {
            sink.wait(for: {
                switch $0 {
                case .connected, .refused: true
                default: false
                }
            })
        }
    }

    private func isRefusal(_ event: LegEvent?) -> Bool {
        guard case .refused(let reason) = event else { return false }
        return reason.contains("1409") || reason.contains("another caller is served")
    }

    private func send(_ range: Range<Int>, _ caller: Caller) {
        for i in range { #expect(caller.sink.send(numbered(i)) == .sent) }
    }

    /// The sender is killed: nobody says goodbye, and nothing is waited for. What it has sent comes first, though its
    /// window is longer than it may be silent.
    @Test(arguments: [(SRTEndpoint.Ingest.early, 20), (.tsbpd, 20), (.tsbpd, 2000)])
    func aSenderThatIsKilledAndStartedAtOnceIsServed(ingest: SRTEndpoint.Ingest, latency: Int) throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=\(latency)&ingest=\(ingest.rawValue)")
        let first = try Caller(reader.source.localPort)
        #expect(reader.awaitConnection() != nil)
        #expect(first.sink.awaitPeer())
        send(0..<20, first)
        #expect(wait { reader.source.statistics().packetsReceived >= 20 })
        first.proxy.isDark = true
        let second = try Caller(reader.source.localPort)
        for i in 0..<20 { #expect(reader.nextNumber() == i) }
        // What it sends first is read, however soon that comes.
        guard case .connected = second.answer else {
            Issue.record("not let in: \(reader.events)")
            return
        }
        send(100..<120, second)
        for i in 100..<120 { #expect(reader.nextNumber() == i) }
        #expect(reader.events.count { if case .connected = $0 { true } else { false } } == 2)
        #expect(reader.events.contains(.disconnected(reason: "silent while another caller came")))
        #expect(!reader.events.contains { if case .refused = $0 { true } else { false } })
        #expect(reader.source.statistics().connections == 2)
    }

    /// Nor when nobody has read for so long that the live one could look silent.
    @Test(arguments: [false, true]) func aSecondSenderDoesNotDisturbALiveOne(isUnread: Bool) throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        let first = try Caller(reader.source.localPort)
        #expect(reader.awaitConnection() != nil)
        #expect(first.sink.awaitPeer())
        let isOver = Atomic<Bool>(false)
        let sender = StageThread(name: "sender") {
            var index = 0
            while !isOver.load(ordering: .relaxed) {
                #expect(first.sink.send(numbered(index)) == .sent)
                index += 1
                (MonotonicTime.now() + .milliseconds(2)).sleep()
            }
        }
        defer {
            isOver.store(true, ordering: .relaxed)
            sender.join()
        }
        if isUnread { (MonotonicTime.now() + SRTLink.peerSilenceTimeout + .milliseconds(50)).sleep() }
        let second = try Caller(reader.source.localPort)
        if isUnread { #expect(isRefusal(second.answer)) }
        let limit = MonotonicTime.now() + Reader.timeout
        var next = 0
        while !reader.events.contains(where: isRefusal), .now() < limit {
            try #require(reader.nextNumber() == next)
            next += 1
        }
        #expect(isUnread || isRefusal(second.answer))
        for i in next..<next + 50 { try #require(reader.nextNumber() == i) }
        #expect(reader.source.statistics().connections == 1)
    }

    /// A network that stalls, for less than the served one may be silent.
    @Test func aServedOneThatGoesOnKeepsItsPlace() throws {
        // A machine that itself stalls for so long proves nothing.
        for _ in 0..<10 {
            let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=2000&ingest=early")
            let first = try Caller(reader.source.localPort)
            #expect(reader.awaitConnection() != nil)
            #expect(first.sink.awaitPeer())
            send(0..<20, first)
            let silentFrom = MonotonicTime.now()
            for i in 0..<20 { #expect(reader.nextNumber() == i) }
            first.proxy.isDark = true
            send(20..<40, first)
            let second = try Caller(reader.source.localPort)
            #expect(second.hasAsked.wait())
            first.proxy.isDark = false
            send(40..<60, first)
            guard MonotonicTime.now() - silentFrom < SRTLink.peerSilenceTimeout * 3 / 4 else { continue }
            // It sends on, and what was lost is sent again meanwhile.
            var (sent, read) = (60, 20)
            var answer: LegEvent?
            while answer == nil || read < 60 {
                try #require(sent < 4000 && !reader.events.contains { if case .disconnected = $0 { true } else { false } })
                send(sent..<sent + 1, first)
                sent += 1
                while let index = reader.nextNumber(within: .milliseconds(5)) {
                    try #require(index == read)
                    read += 1
                }
                answer = answer ?? second.sink.nextEvent()
            }
            #expect(isRefusal(answer))
            #expect(reader.wait(for: isRefusal) != nil)
            #expect(reader.source.statistics().connections == 1)
            return
        }
        Issue.record("the machine is too slow")
    }

    // MARK: Receivers

    /// A receiver that calls through a network that can be cut.
    private struct Listening {
        let proxy: ImpairmentProxy
        let reader: Reader

        init(_ port: UInt16) throws {
            proxy = try ImpairmentProxy(
                to: UDPEndpoint(host: "127.0.0.1", port: port), settings: ImpairmentSettings()
            )
            reader = try Reader("srt://127.0.0.1:\(proxy.localPort)?latency=20")
        }
    }

    /// Sends a numbered message every two milliseconds to the present receiver, as long as it lives.
    private final class Sending: Sendable {
        let sink: Sink
        private let events = Lock<[LegEvent]>([])
        private let isOver = Atomic<Bool>(false)
        private let thread: Lock<StageThread?> = Lock(nil)

        init() throws {
            sink = try Sink(StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"))
            let sending = self
            thread.withLock {
                $0 = StageThread(name: "sender") {
                    var index = 0
                    while !sending.isOver.load(ordering: .relaxed) {
                        while let event = sending.sink.nextEvent() { sending.events.withLock { $0.append(event) } }
                        _ = sending.sink.send(numbered(index))
                        index += 1
                        (MonotonicTime.now() + .milliseconds(2)).sleep()
                    }
                }
            }
        }

        func stop() {
            isOver.store(true, ordering: .relaxed)
            thread.withLock { $0.take() }?.join()
        }

        /// The events of connections and callers.
        var told: [LegEvent] { events.withLock { $0 } }
    }

    /// The receiver is killed: nobody says goodbye. The next one need not wait until libsrt notices.
    @Test func aReceiverThatIsKilledAndStartedAtOnceIsServed() throws {
        let sending = try Sending()
        defer { sending.stop() }
        let first = try Listening(sending.sink.localPort)
        for _ in 0..<20 { try #require(first.reader.nextNumber() != nil) }
        first.proxy.isDark = true
        let second = try Listening(sending.sink.localPort)
        for _ in 0..<20 { try #require(second.reader.nextNumber() != nil) }
        sending.stop()
        #expect(sending.told.count { if case .connected = $0 { true } else { false } } == 2)
        #expect(sending.told.contains(.disconnected(reason: "silent while another caller came")))
        #expect(!sending.told.contains { if case .refused = $0 { true } else { false } }, "\(sending.told)")
    }

    @Test func aSecondReceiverDoesNotDisturbALiveOne() throws {
        let sending = try Sending()
        defer { sending.stop() }
        let first = try Listening(sending.sink.localPort)
        var next = try #require(first.reader.nextNumber())
        let second = try Listening(sending.sink.localPort)
        let limit = MonotonicTime.now() + Reader.timeout
        while !sending.told.contains(where: isRefusal), .now() < limit {
            next += 1
            try #require(first.reader.nextNumber() == next)
        }
        #expect(second.reader.wait(for: isRefusal) != nil)
        for _ in 0..<50 {
            next += 1
            try #require(first.reader.nextNumber() == next)
        }
        #expect(sending.sink.statistics().connections == 1)
    }

    // MARK: Admission

    @Test func manyWhoAreRefusedAreToldOfLessAndLess() {
        var refusal = RepeatedRefusal(reason: "called")
        var told: [String] = []
        for millisecond in 0..<200_000 {
            let now = MonotonicTime(nanoseconds: Int64(millisecond) * 1_000_000)
            // For 2.5 seconds; then two at once, and one, seconds later; and one after more than a minute.
            let calls = millisecond < 2_500 || [8_000, 30_000, 150_000].contains(millisecond)
            if calls, let text = refusal.record("caller \(millisecond)", at: now) {
                told.append(text)
            }
            if millisecond == 8_000 { #expect(refusal.record("another", at: now) == nil) }
            if let text = refusal.due(at: now) { told.append("\(text), at \(millisecond)") }
        }
        #expect(
            told == [
                "caller 0 called", "1000 more called, caller 1000 last, at 1000", "1499 more called, caller 2499 last, at 5000",
                "2 more called, another last, at 21000", "caller 30000 called, at 81000", "caller 150000 called",
            ])
    }

    private func listen(streamID: String? = nil, passphrase: Secret? = nil) throws -> SRTListener {
        let endpoint = SRTEndpoint(
            mode: .listener, host: "127.0.0.1", port: 0, latency: .milliseconds(20), streamID: streamID,
            passphrase: passphrase)
        let listener = try SRTListener(endpoint, place: "here", readingEarly: true, signal: ReaderSignal())
        listener.admit(readingEarly: true, to: .held(heard: .now()))
        return listener
    }

    private func wait(until isTrue: () -> Bool) -> Bool {
        let limit = MonotonicTime.now() + Reader.timeout
        while !isTrue() && .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        return isTrue()
    }

    @Test func aCallerWaitsUntilThePlaceIsFree() throws {
        let listener = try listen()
        let caller = try Caller(listener.port)
        #expect(wait { listener.callersUnanswered == 1 })
        #expect(!listener.someoneWaits)
        #expect(listener.refusals().isEmpty)
        listener.admit(readingEarly: true, to: .free)
        guard case .connected = caller.answer else {
            Issue.record("not let in")
            return
        }
        #expect(listener.callersUnanswered == 0)
        #expect(wait { listener.someoneWaits })
    }

    @Test func aCallerWaitsUntilTheServedOneIsHeardOf() throws {
        let listener = try listen()
        let caller = try Caller(listener.port)
        #expect(wait { listener.callersUnanswered == 1 })
        listener.admit(readingEarly: true, to: .held(heard: .now()))
        #expect(isRefusal(caller.answer))
        #expect(listener.refusals().count == 1)
        #expect(!listener.someoneWaits)
    }

    @Test func aPlaceIsGivenToOne() throws {
        let listener = try listen()
        let callers = [try Caller(listener.port), try Caller(listener.port)]
        #expect(wait { listener.callersUnanswered == 2 })
        listener.admit(readingEarly: true, to: .free)
        #expect(wait { listener.someoneWaits })
        // Also while the first is still about to be served.
        listener.admit(readingEarly: true, to: .free)
        #expect(listener.callersUnanswered == 1)
        let taken = listener.accept() != nil
        #expect(taken)
        // And before it has been said that the place is not free any more.
        #expect(callers.count { isRefusal($0.answer) } == 1)
        #expect(!listener.someoneWaits)
        #expect(listener.refusals().count == 1)
    }

    @Test func aPlaceIsNotTakenByWhoMayNotComeIn() throws {
        let listener = try listen(passphrase: Secret("correct horse"))
        listener.admit(readingEarly: true, to: .free)
        let wrong = try Caller(listener.port)
        guard case .refused = wrong.answer else {
            Issue.record("let in without a passphrase")
            return
        }
        let right = try Sink(StreamURL("srt://127.0.0.1:\(listener.port)?latency=20&passphrase=correct%20horse"))
        #expect(right.awaitPeer())
        #expect(wait { listener.someoneWaits })
    }

    @Test func whoHasComeInIsTurnedAwayAfterAll() throws {
        let listener = try listen()
        listener.admit(readingEarly: true, to: .free)
        let caller = try Caller(listener.port)
        #expect(caller.sink.awaitPeer())
        #expect(wait { listener.someoneWaits })
        listener.admit(readingEarly: true, to: .taken)
        listener.dismiss()
        #expect(caller.sink.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        #expect(listener.refusals().contains { isRefusal(.refused(reason: $0)) })
        #expect(!listener.someoneWaits)
    }

    @Test func aPlaceThatIsKeptHasNobodyWait() throws {
        let listener = try listen()
        listener.admit(readingEarly: true, to: .taken)
        #expect(isRefusal(try Caller(listener.port).answer))
        #expect(listener.callersUnanswered == 0)
    }

    @Test func aCallerThatStopsAskingIsToldOf() throws {
        let listener = try listen()
        do {
            let caller = try Caller(listener.port)
            #expect(wait { listener.callersUnanswered == 1 })
            withExtendedLifetime(caller) {}
        }
        #expect(listener.refusals(now: .now() + .seconds(2)).count == 1)
        #expect(listener.callersUnanswered == 0)
    }

    @Test func whoAsksForAnotherStreamDoesNotWait() throws {
        let listener = try listen(streamID: "cam")
        let caller = try Caller(listener.port)
        guard case .refused(let reason) = caller.answer else {
            Issue.record("not refused")
            return
        }
        #expect(reason.contains("1404"))
        #expect(listener.callersUnanswered == 0)
    }

    // MARK: Silence

    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func aPacketCameBetweenTwoSamples() {
        var silence = PeerSilence(since: at(100), samplingEvery: .milliseconds(20))
        silence.sample(packets: 0, from: at(120), to: at(121))
        #expect(silence.lastHeard == at(100) && silence.duration == .milliseconds(20))
        silence.sample(packets: 3, from: at(140), to: at(141))
        #expect(silence.lastHeard == at(120) && silence.duration == .zero)
        silence.sample(packets: 3, from: at(160), to: at(161))
        #expect(silence.lastHeard == at(120) && silence.duration == .milliseconds(19))
        silence.sample(packets: 3, from: at(180), to: at(181))
        #expect(silence.lastHeard == at(120) && silence.duration == .milliseconds(38))
        silence.sample(packets: 4, from: at(200), to: at(201))
        #expect(silence.lastHeard == at(180) && silence.duration == .zero)
    }

    @Test func whoNeedSayNothingIsNotSilent() {
        var silence = PeerSilence(since: at(100), samplingEvery: .milliseconds(20))
        silence.sample(packets: 1, from: at(120), to: at(120))
        silence.sample(packets: 1, from: at(140), to: at(140))
        silence.expectNothing()
        #expect(silence.lastHeard == at(100) && silence.duration == .zero, "no sign of life, and no silence either")
        silence.sample(packets: 1, from: at(160), to: at(160))
        #expect(silence.duration == .milliseconds(20))
    }

    /// Packets that came while the machine stood still have not been received yet.
    @Test func aMachineThatStandsStillIsNoSilence() {
        var silence = PeerSilence(since: at(100), samplingEvery: .milliseconds(20))
        silence.sample(packets: 0, from: at(120), to: at(120))
        silence.sample(packets: 0, from: at(5_120), to: at(5_120))
        #expect(silence.duration == .milliseconds(60))
        for time in stride(from: Int64(5_140), through: 6_120, by: 20) {
            silence.sample(packets: 0, from: at(time), to: at(time))
        }
        #expect(silence.duration == .milliseconds(1_060), "but it is one while the machine takes samples")
    }
}
