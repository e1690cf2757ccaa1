import Endpoint
import Media
import Packets
import Relay
import Testing
import Transport
import WorkerProtocol
@testable import WebRTC
@testable import Worker

/// The calls of a stream in its worker, with peers on sockets of their own.
@Suite(.timeLimit(.minutes(5))) struct StreamCallsTests {
    private typealias Far = PortLoopbackTests.Far

    /// Longer than any machine takes for this test. The second publisher comes when it is over, by the time that the test gives.
    private static let silenceTimeout = Nanoseconds.seconds(3600)

    private static func publisher(_ identity: DTLSIdentity) throws -> Far {
        let local = PeerAddress(ipv4: 0x7f00_0001, port: 0)
        return try Far(.client, local, at: local, fingerprint: identity.fingerprint)
    }

    /// That of the offer that tests have.
    static let fingerprint =
        "sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F"

    private static func offer(_ number: UInt64, of peer: TestPeer, takesOver: Bool = false) -> OfferedCall {
        let text = CallOfferTests.edited((Self.fingerprint, peer.identity.fingerprint.sdp))
        return OfferedCall(number: number, stream: "a", side: .publish, description: text, takesOver: takesOver)
    }

    /// Learns from the answer where to call and by which name.
    static func read(_ answer: String, into far: inout PortLoopbackTests.Far) throws {
        let lines = answer.split(whereSeparator: \.isNewline)
        func value(_ name: String) throws -> String {
            String(try #require(lines.first { $0.hasPrefix("a=\(name):") }).dropFirst(name.count + 3))
        }
        far.peer.remote = ICECredentials(userFragment: try value("ice-ufrag"), password: try value("ice-pwd"))
        let words = try value("candidate").split(separator: " ")
        far.port = PeerAddress(ipv4: 0x7f00_0001, port: try #require(UInt16(words[5])))
    }

    @Test(arguments: [("whip:a", 1000), ("whip:a?bitrate=5M", 1000), ("whip:a?bitrate=300k", 300)])
    func aPublisherBeginsWithAsMuchAsHeMaySend(url: String, kilobits: Int) throws {
        let identity = try #require(DTLSIdentity())
        var configuration = RelayConfiguration(input: try StreamURL(url), output: .standardStream)
        let calls = try #require(try StreamCalls(&configuration, identity: identity) { _, _, _ in })
        defer { calls.close() }
        let answer = try calls.answer(Self.offer(1, of: Self.publisher(identity).peer)).get()
        let rates = answer.split(separator: ";").filter { $0.hasPrefix("x-google-start-bitrate=") }
        #expect(rates.map { $0.prefix { !$0.isNewline } } == ["x-google-start-bitrate=\(kilobits)"])
    }

    /// The call has sound alone, and its publisher need not notice.
    @Test func aPictureThatIsRefusedBesideSoundIsSaidAndCounted() throws {
        let identity = try #require(DTLSIdentity())
        var configuration = RelayConfiguration(input: try StreamURL("whip:a"), output: try StreamURL("whep:a"))
        let remarks = Lock<[String]>([])
        let opened = try StreamCalls(
            &configuration, identity: identity, remark: { _, text in remarks.withLock { $0.append(text) } }
        ) { _, _, _ in }
        let calls = try #require(opened)
        defer { calls.close() }
        var number: UInt64 = 0
        func answer(_ side: CallSide, _ text: String) throws -> String {
            number += 1
            return try calls.answer(OfferedCall(number: number, stream: "a", side: side, description: text)).get()
        }
        let text = CallOfferTests.edited(("H264/90000", "H265/90000"), ("VP8/90000", "VP7/90000"))
        #expect(try answer(.publish, text).contains("m=video 0 "))
        #expect(try answer(.play, text.replacing("a=sendonly", with: "a=recvonly")).contains("m=video 0 "))
        let said = remarks.withLock { $0 }
        #expect(
            said.count == 2 && said.allSatisfy { $0.contains("sound alone: offered are VP7, H265, AV1, VP9; taken is H264") })
        #expect(said[0].hasPrefix("input: call 1 publishes") && said[1].hasPrefix("the viewer of call 2"))
        #expect(configuration.outputCalls[0]?.statistics().picturesRefused == 1)
        #expect(try !answer(.play, CallOfferTests.offer.replacing("a=sendonly", with: "a=recvonly")).contains("m=video 0 "))
        #expect(remarks.withLock { $0.count } == 2)
    }

    /// The one more encode of a stream belongs to who came first: one in VP8, or some in constrained baseline.
    @Test func constrainedBaselineIsForThoseWhoAskWhileNoVP8IsMade() throws {
        let identity = try #require(DTLSIdentity())
        var configuration = RelayConfiguration(input: try StreamURL("whip:a"), output: try StreamURL("whep:a"))
        guard configuration.servesVP8 else { return }
        let calls = try #require(try StreamCalls(&configuration, identity: identity) { _, _, _ in })
        defer { calls.close() }
        let text = CallOfferTests.offer.replacing("a=sendonly", with: "a=recvonly")
        let inVP8 = text.replacing("H264/90000", with: "H265/90000")
        func watch(_ number: UInt64, _ text: String, _ profile: ViewerProfile? = nil) -> Result<String, CallRefusal> {
            calls.answer(OfferedCall(number: number, stream: "a", side: .play, description: text, profile: profile))
        }
        let answer = try SessionDescription(parsing: watch(1, text, .baseline).get())
        #expect(
            answer.media[0].parameters(of: 109)["profile-level-id"] == "42e01f" && answer.media[0].formats == ["109", "114"])
        // Others get the best that they offer, and no VP8 meanwhile.
        #expect(try SessionDescription(parsing: watch(2, text).get()).media[0].formats == ["127"])
        #expect(try watch(3, inVP8).get().contains("m=video 0 "))
        calls.hangUp(1)
        while try watch(4, inVP8).get().contains("m=video 0 ") {
            calls.hangUp(4)
            (MonotonicTime.now() + .milliseconds(1)).sleep()
        }
        guard case .failure(let refusal) = watch(5, text, .baseline) else { return #expect(Bool(false)) }
        #expect(
            refusal.kind == .noRoom && refusal.text.contains("VP8 for another viewer")
                && refusal.text.contains("profile=baseline"))
        // One who shows none of it.
        let high = text.replacing("42e01f", with: "64001f").replacing("42001f", with: "64001f")
        calls.hangUp(4)
        while true {
            let text = try? watch(6, high, .baseline).get()
            if let text {
                #expect(text.contains("m=video 0 "))
                break
            }
            (MonotonicTime.now() + .milliseconds(1)).sleep()
        }
    }

    @Test func aRestartIsAnsweredWhileItsCallGoesOn() throws {
        let identity = try #require(DTLSIdentity())
        var configuration = RelayConfiguration(input: try StreamURL("whip:a"), output: .standardStream)
        let calls = try #require(try StreamCalls(&configuration, identity: identity) { _, _, _ in })
        defer { calls.close() }
        let answer = try calls.answer(Self.offer(1, of: Self.publisher(identity).peer)).get()
        func name(_ text: String) -> Substring? {
            text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("a=ice-ufrag:") }
        }
        func restart(_ userFragment: String, of number: UInt64 = 1) throws -> String {
            let password = "theirpasswordthatislongenough"
            return try calls.restart(RestartedCall(number: number, userFragment: userFragment, password: password)).get()
        }
        let restarted = try restart("abcd")
        #expect(name(restarted) != nil && name(restarted) != name(answer))
        // A request whose answer was lost is repeated.
        #expect(try restart("abcd") == restarted && restart("efgh") != restarted)
        func refusal(_ number: UInt64, _ userFragment: String) -> CallRefusal.Kind? {
            do { _ = try restart(userFragment, of: number) } catch { return (error as? CallRefusal)?.kind }
            return nil
        }
        #expect(refusal(2, "abcd") == .over && refusal(1, "a b") == .malformed)
        calls.hangUp(1)
        #expect(refusal(1, "ijkl") == .over)
    }

    @Test func aPublisherWhoVanishesGivesWayToTheNext() throws {
        let identity = try #require(DTLSIdentity())
        var configuration = RelayConfiguration(input: try StreamURL("whip:a"), output: .standardStream)
        let changes = Lock<[(number: UInt64, change: PeerChange)]>([])
        let opened = try StreamCalls(&configuration, identity: identity, silenceTimeout: Self.silenceTimeout) {
            number, _, change in
            changes.withLock { $0.append((number, change)) }
        }
        let calls = try #require(opened)
        defer { calls.close() }
        /// Changes come on the port's thread.
        func waitFor(_ isIt: ((number: UInt64, change: PeerChange)) -> Bool) {
            while !changes.withLock({ $0.contains(where: isIt) }) { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }
        func connect(_ number: UInt64, at now: MonotonicTime = .now(), takesOver: Bool = false) throws -> Bool {
            var far = try Self.publisher(identity)
            let answer = try calls.answer(Self.offer(number, of: far.peer, takesOver: takesOver), at: now).get()
            try Self.read(answer, into: &far)
            far.send(far.peer.check())
            let peer = far.peer
            return far.run {
                peer.state == .connected
                    && changes.withLock {
                        $0.contains { if $0.number == number, case .connected = $0.change { true } else { false } }
                    }
            }
        }
        #expect(try connect(1))
        // Who crashes comes back at once.
        #expect(StreamCalls.silenceTimeout == .seconds(1))
        // Nothing more comes of them, not even a goodbye.
        let next = try Self.publisher(identity)
        guard case .failure(let refusal) = calls.answer(Self.offer(2, of: next.peer)) else { return #expect(Bool(false)) }
        #expect(refusal.kind == .occupied && refusal.text.contains("127.0.0.1:") && refusal.text.contains("?takeover=true"))
        #expect(try connect(3, at: .now() + Self.silenceTimeout + .seconds(1)))
        waitFor { $0.number == 1 && $0.change == .ended(.closedHere) }
        guard case .failure(let again) = calls.answer(Self.offer(4, of: next.peer)) else { return #expect(Bool(false)) }
        #expect(again.kind == .occupied)
        // Whoever asks for the place gets it, although the other one is heard.
        #expect(try connect(6, takesOver: true))
        waitFor { $0.number == 3 && $0.change == .ended(.closedHere) }
        calls.hangUp(6)
        waitFor { $0.number == 6 && $0.change == .ended(.closedHere) }
        guard case .success = calls.answer(Self.offer(5, of: next.peer)) else { return #expect(Bool(false)) }
    }
}
