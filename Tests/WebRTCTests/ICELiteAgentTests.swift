import Media
import Testing

@testable import WebRTC

/// ICE's lite side in virtual time.
struct ICELiteAgentTests {
    static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    let local = ICECredentials(userFragment: "abcdefgh", password: "ourpasswordthatislongenough")!
    let remote = ICECredentials(userFragment: "wxyz", password: "theirpasswordthatislongenough")!
    let here = PeerAddress(ipv4: 0x7f00_0001, port: 5000)
    let there = PeerAddress(ipv4: 0x7f00_0001, port: 6000)

    func agent() -> ICELiteAgent { ICELiteAgent(local: local, remote: remote, seed: 1, at: Self.start) }

    func check(
        nominates: Bool = false, password: String? = nil, transaction: UInt64 = 7, _ more: (inout STUNWriter) -> Void = { _ in }
    ) -> [UInt8] {
        var writer = STUNWriter(.request, transaction: .init(first: 9, rest: transaction))
        writer.append(username: "abcdefgh:wxyz")
        writer.append(priority: 100)
        if nominates { writer.appendUseCandidate() }
        more(&writer)
        writer.appendIntegrity(password: Array((password ?? local.password).utf8).span)
        return writer.finish()
    }

    func receive(
        _ bytes: [UInt8], _ agent: inout ICELiteAgent, from address: PeerAddress, after time: Nanoseconds = .zero,
        isConnected: Bool = false
    ) -> ICELiteAgent.Outcome {
        let message = STUNMessage.read(bytes)!
        return agent.receive(message, in: bytes.span, from: address, at: Self.start + time, isConnected: isConnected)
    }

    @Test func aCheckIsAnswered() throws {
        var agent = agent()
        guard case .answered(let bytes) = receive(check(nominates: true), &agent, from: here) else {
            Issue.record("no answer")
            return
        }
        let answer = try #require(STUNMessage.read(bytes))
        #expect(answer.kind == .success && answer.mappedAddress == here && answer.hasFingerprint)
        #expect(answer.transaction == .init(first: 9, rest: 7))
        #expect(answer.isSigned(Array(local.password.utf8), in: bytes))
        #expect(agent.selected == here)
    }

    @Test func aWrongPasswordIsNotAnsweredHere() {
        var agent = agent()
        #expect(receive(check(password: "somebodyelsespassword12"), &agent, from: here, after: .seconds(5)) == .wrongPassword)
        #expect(agent.selected == nil && agent.lastEvidence == Self.start)
    }

    @Test func errorsAreNumbered() throws {
        var agent = agent()
        // A type below 0x8000 that nobody knows must be understood.
        for (bytes, code) in [(check { $0.append(controlled: 1) }, 487), (check { $0.append(flag: 0x77) }, 420)] {
            guard case .answered(let answer) = receive(bytes, &agent, from: here) else {
                Issue.record("no answer")
                return
            }
            let message = try #require(STUNMessage.read(answer))
            #expect(message.kind == .error && message.errorCode == code)
            #expect(message.isSigned(Array(local.password.utf8), in: answer))
        }
        #expect(agent.selected == nil)
    }

    @Test func nominationsAreFollowedUntilTheCallIsUp() {
        var agent = agent()
        _ = receive(check(), &agent, from: here)
        #expect(agent.selected == here)
        _ = receive(check(), &agent, from: there)
        #expect(agent.selected == here)
        _ = receive(check(nominates: true), &agent, from: there)
        #expect(agent.selected == there)
        _ = receive(check(nominates: true), &agent, from: here, isConnected: true)
        #expect(agent.selected == there)
    }

    /// A connected peer moves only to an address at which it answers.
    @Test func aNewAddressMustBeProven() throws {
        var agent = agent()
        _ = receive(check(nominates: true), &agent, from: here)
        let sent = agent.check(there, at: Self.start)
        let bytes = try #require(sent)
        let (second, toHere) = (agent.check(there, at: Self.start), agent.check(here, at: Self.start))
        #expect(second == nil, "one check at a time")
        #expect(toHere == nil, "it is there already")
        let request = try #require(STUNMessage.read(bytes))
        #expect(request.isSigned(Array(remote.password.utf8), in: bytes))
        #expect(request.username.map { String(decoding: bytes[$0], as: UTF8.self) } == "wxyz:abcdefgh")
        func answer(_ transaction: STUNMessage.TransactionID, _ password: String) -> [UInt8] {
            var writer = STUNWriter(.success, transaction: transaction)
            writer.append(mapped: here)
            writer.appendIntegrity(password: Array(password.utf8).span)
            return writer.finish()
        }
        let wrong = STUNMessage.TransactionID(first: 1, rest: 1)
        #expect(receive(answer(wrong, remote.password), &agent, from: there) == .dropped)
        #expect(receive(answer(request.transaction, local.password), &agent, from: there) == .dropped)
        #expect(receive(answer(request.transaction, remote.password), &agent, from: here) == .dropped)
        #expect(agent.selected == here)
        #expect(receive(answer(request.transaction, remote.password), &agent, from: there) == .proven(there))
        #expect(agent.selected == there)
    }

    // MARK: Restart

    private let nextLocal = ICECredentials(userFragment: "ijklmnop", password: "ournextpasswordislongenough")!
    private let nextRemote = ICECredentials(userFragment: "next", password: "theirnextpasswordislongenough")!

    private func nextCheck(nominates: Bool = true) -> [UInt8] {
        var writer = STUNWriter(.request, transaction: .init(first: 9, rest: 8))
        writer.append(username: "ijklmnop:next")
        if nominates { writer.appendUseCandidate() }
        writer.appendIntegrity(password: Array(nextLocal.password.utf8).span)
        return writer.finish()
    }

    private func isAnswered(_ outcome: ICELiteAgent.Outcome, by password: String) -> Bool {
        guard case .answered(let bytes) = outcome, let message = STUNMessage.read(bytes) else { return false }
        return message.kind == .success && message.isSigned(Array(password.utf8), in: bytes)
    }

    /// Both names hold until the peer has nominated an address by the new ones and has answered there.
    @Test func aRestartHoldsTheOldAddressUntilTheNewOneIsProven() throws {
        var agent = agent()
        _ = receive(check(nominates: true), &agent, from: here)
        agent.restart(nextLocal, nextRemote, at: Self.start)
        let (old, new) = (check(), nextCheck(nominates: false))
        #expect(isAnswered(receive(old, &agent, from: here, isConnected: true), by: local.password))
        #expect(isAnswered(receive(new, &agent, from: there, isConnected: true), by: nextLocal.password))
        let nominated = nextCheck()
        #expect(isAnswered(receive(nominated, &agent, from: there, isConnected: true), by: nextLocal.password))
        #expect(agent.selected == here && agent.restarts == 0)
        let isOfRestart = agent.isOfRestart(STUNMessage.read(nominated)!, in: nominated.span)
        let sent = agent.check(there, isOfRestart: isOfRestart, at: Self.start)
        let request = try #require(sent.flatMap { STUNMessage.read($0) })
        #expect(sent.map { request.isSigned(Array(nextRemote.password.utf8), in: $0) } == true)
        #expect(request.username.map { String(decoding: sent![$0], as: UTF8.self) } == "next:ijklmnop")
        for (password, outcome) in [(remote.password, ICELiteAgent.Outcome.dropped), (nextRemote.password, .proven(there))] {
            var writer = STUNWriter(.success, transaction: request.transaction)
            writer.append(mapped: here)
            writer.appendIntegrity(password: Array(password.utf8).span)
            #expect(receive(writer.finish(), &agent, from: there, isConnected: true) == outcome)
        }
        #expect(agent.selected == there && agent.restarts == 1 && agent.local == nextLocal)
        #expect(receive(old, &agent, from: here, isConnected: true) == .wrongPassword)
    }

    @Test func aRestartAtTheSameAddressNeedsNoProof() {
        var agent = agent()
        _ = receive(check(nominates: true), &agent, from: here)
        agent.restart(nextLocal, nextRemote, at: Self.start)
        _ = receive(nextCheck(nominates: false), &agent, from: here, isConnected: true)
        #expect(agent.restarts == 0)
        _ = receive(nextCheck(), &agent, from: here, isConnected: true)
        #expect(agent.restarts == 1 && agent.selected == here)
    }

    /// Before the call is up nothing holds the peer at its old address.
    @Test func aRestartBeforeTheCallIsUpMovesAtOnce() {
        var agent = agent()
        _ = receive(check(nominates: true), &agent, from: here)
        agent.restart(nextLocal, nextRemote, at: Self.start)
        _ = receive(nextCheck(nominates: false), &agent, from: there)
        #expect(agent.restarts == 1 && agent.selected == there)
    }

    /// A second restart takes the first one's place, and a request that is repeated gets the same answer.
    @Test func theNewestRestartHolds() {
        var agent = agent()
        agent.restart(nextLocal, nextRemote, at: Self.start)
        #expect(agent.credentials(towards: nextRemote) == nextLocal && agent.credentials(towards: remote) == local)
        let other = ICECredentials(userFragment: "last", password: nextRemote.password)!
        #expect(agent.credentials(towards: other) == nil)
        agent.restart(ICECredentials(userFragment: "qrstuvwx", password: nextLocal.password)!, other, at: Self.start)
        #expect(agent.credentials(towards: nextRemote) == nil)
        #expect(receive(nextCheck(), &agent, from: there) == .wrongPassword)
        #expect(agent.awaitsPeer(at: Self.start + .seconds(29)) && !agent.awaitsPeer(at: Self.start + .seconds(30)))
    }

    @Test func consentEnds30SecondsAfterTheLastEvidence() {
        var agent = agent()
        _ = receive(check(), &agent, from: here, after: .seconds(10))
        #expect(agent.hasConsent(at: Self.start + .seconds(39.9)))
        #expect(!agent.hasConsent(at: Self.start + .seconds(40)))
        agent.recordEvidence(at: Self.start + .seconds(39))
        #expect(agent.hasConsent(at: Self.start + .seconds(68.9)))
        // Anybody could send these.
        _ = receive(check(password: "somebodyelsespassword12"), &agent, from: here, after: .seconds(60))
        #expect(!agent.hasConsent(at: Self.start + .seconds(69)))
    }

    @Test func credentialsAreOfTheAllowedForm() {
        var generator = SplitMix64(seed: 3)
        let all = (0..<100).map { _ in ICECredentials.random(using: &generator) }
        #expect(Set(all.map(\.userFragment)).count == 100)
        #expect(all.allSatisfy { $0.userFragment.count == 8 && $0.password.count == 24 })
        #expect(ICECredentials(userFragment: "abc", password: local.password) == nil)
        #expect(ICECredentials(userFragment: "abcd", password: "short") == nil)
        #expect(ICECredentials(userFragment: "ab cd", password: local.password) == nil)
    }
}
