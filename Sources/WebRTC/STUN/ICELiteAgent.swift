import Media

/// ICE's lite side for one peer (RFC 8445, 2.5 and 7.3): it answers the peer's checks and follows its nominations.
///
/// **Consent** (RFC 7675). A lite side sends no checks of its own, so it counts what only the peer can have made: a request with
/// our password, or media with a right tag that did not come before, each from an address where the peer is or has shown that it is.
/// Thirty seconds without either, and nothing more is sent.
///
/// **Moving.** Until the call is up, the peer is where its newest nominated check came from, or its first check. The call begins
/// at an address that is proven (``settle(at:)``). After that a new address is used only when the peer has answered a check of ours
/// there: whoever has our password could otherwise write somebody else's address into a request, and have the picture sent to them.
///
/// **Restart** (RFC 8445, 9). The peer gets new credentials, and checks with them. The old ones hold, and media stays where it is,
/// until the peer nominates an address by the new ones and has answered there. From then on only the new ones hold.
public struct ICELiteAgent: Sendable {
    /// RFC 7675, 5.1.
    public static let consentTimeout = Nanoseconds.seconds(30)
    /// Addresses that one peer may use. A browser has a few candidates.
    static let mostAddresses = 8

    /// What both sides are called by, from one restart to the next.
    private struct Session {
        let local: ICECredentials
        let remote: ICECredentials
        let key: FragmentKey
        let localPassword: [UInt8]
        let remotePassword: [UInt8]

        init(_ local: ICECredentials, _ remote: ICECredentials) {
            (self.local, self.remote) = (local, remote)
            key = FragmentKey(local)
            (localPassword, remotePassword) = (Array(local.password.utf8), Array(remote.password.utf8))
        }
    }

    private var session: Session
    /// Of a restart that the peer has not completed.
    private var next: Session?
    private var restarted: MonotonicTime?
    /// How many restarts are complete.
    private(set) var restarts = 0

    /// Where the peer is; nil until its first check.
    public private(set) var selected: PeerAddress?
    private var isNominated = false
    /// When the peer last showed that it is there.
    public private(set) var lastEvidence: MonotonicTime
    /// The check of ours that is under way, and where it went.
    private var challenge: Challenge?
    private struct Challenge {
        let transaction: STUNMessage.TransactionID
        let address: PeerAddress
        let sent: MonotonicTime
        let isOfRestart: Bool
    }
    private var challengeNumber: UInt64

    static let challengeInterval = Nanoseconds.milliseconds(50)

    public init(local: ICECredentials, remote: ICECredentials, seed: UInt64, at now: MonotonicTime) {
        session = Session(local, remote)
        lastEvidence = now
        challengeNumber = seed
    }

    public var local: ICECredentials { session.local }

    // MARK: Restart

    /// Ours that go with the peer's credentials, where a restart with them is under way or complete: a request that is repeated
    /// gets the same answer.
    func credentials(towards remote: ICECredentials) -> ICECredentials? {
        [next, session].lazy.compactMap { $0 }.first { $0.remote == remote }?.local
    }

    /// Begins a restart, in place of one that is not complete.
    mutating func restart(_ local: ICECredentials, _ remote: ICECredentials, at now: MonotonicTime) {
        next = Session(local, remote)
        restarted = now
        challenge = nil
    }

    /// Whether a message has our name of a restart that is not complete.
    func isOfRestart(_ message: STUNMessage, in bytes: Span<UInt8>) -> Bool {
        guard let next, let username = message.username else { return false }
        return FragmentKey(username: username, in: bytes) == next.key
    }

    /// A restart has begun not long ago: the peer is on its way to another address.
    func awaitsPeer(at now: MonotonicTime) -> Bool {
        next != nil && restarted.map { now - $0 < Self.consentTimeout } ?? false
    }

    private mutating func completeRestart() {
        guard let next else { return }
        session = next
        (self.next, restarted, challenge) = (nil, nil, nil)
        restarts += 1
    }

    /// What a message led to.
    public enum Outcome: Equatable, Sendable {
        /// Nothing; the message is dropped.
        case dropped
        /// The password is not ours.
        case wrongPassword
        /// A check with the right password.
        case answered([UInt8])
        /// The peer answered our check at this address: it is its own.
        case proven(PeerAddress)
    }

    /// Reads a message whose user name is ours, or an answer to a check of ours.
    /// - Parameters:
    ///   - isConnected: the call is up, so a new address must be proven first.
    ///   - isProven: the peer has shown that it is at this address, so a check from there counts as evidence.
    public mutating func receive(
        _ message: STUNMessage, in bytes: Span<UInt8>, from address: PeerAddress, at now: MonotonicTime, isConnected: Bool,
        isProven: Bool = false
    ) -> Outcome {
        guard message.method == STUNMessage.bindingMethod else { return .dropped }
        switch message.kind {
        case .request:
            return answer(message, in: bytes, from: address, at: now, isConnected: isConnected, isProven: isProven)
        case .success:
            guard let challenge, challenge.transaction == message.transaction, challenge.address == address,
                let session = challenge.isOfRestart ? next : session,
                message.hasIntegrity(of: session.remotePassword.span, in: bytes)
            else { return .dropped }
            self.challenge = nil
            if challenge.isOfRestart { completeRestart() }
            (selected, isNominated, lastEvidence) = (address, true, now)
            return .proven(address)
        // Nobody signs indications, and an error of a check leaves everything as it is.
        case .indication, .error: return .dropped
        }
    }

    private mutating func answer(
        _ message: STUNMessage, in bytes: Span<UInt8>, from address: PeerAddress, at now: MonotonicTime, isConnected: Bool,
        isProven: Bool
    ) -> Outcome {
        let isOfRestart = isOfRestart(message, in: bytes)
        let password = isOfRestart ? next!.localPassword : session.localPassword
        guard message.hasIntegrity(of: password.span, in: bytes) else { return .wrongPassword }
        if !isConnected || isProven || address == selected { recordEvidence(at: now) }
        // Both sides cannot be controlled. We are lite and always are, so the peer changes its role (RFC 8445, 7.3.1.1).
        if message.controlled != nil { return .answered(error(487, to: message, password)) }
        if let unknown = message.unknownAttribute {
            return .answered(error(420, to: message, password, unknown: unknown))
        }
        if isOfRestart, !isConnected || message.usesCandidate && address == selected {
            // Where no call is up nothing holds the peer at its old address.
            if !isConnected { (selected, isNominated) = (nil, false) }
            completeRestart()
        }
        if !isConnected, selected == nil || message.usesCandidate || (!isNominated && selected == address) {
            selected = address
            isNominated = message.usesCandidate
        }
        var writer = STUNWriter(.success, transaction: message.transaction)
        writer.append(mapped: address)
        writer.appendIntegrity(password: password.span)
        return .answered(writer.finish())
    }

    private func error(_ code: Int, to message: STUNMessage, _ password: [UInt8], unknown: UInt16? = nil) -> [UInt8] {
        var writer = STUNWriter(.error, transaction: message.transaction)
        writer.append(errorCode: code)
        if let unknown { writer.append(unknownAttribute: unknown) }
        writer.appendIntegrity(password: password.span)
        return writer.finish()
    }

    /// A check of ours for an address that a connected peer nominates and that is not where it is; nil when there is none to be
    /// sent now.
    /// - Parameter isOfRestart: it was nominated by the new credentials (``isOfRestart(_:in:)``).
    public mutating func check(_ address: PeerAddress, isOfRestart: Bool = false, at now: MonotonicTime) -> [UInt8]? {
        guard address != selected, let session = isOfRestart ? next : session else { return nil }
        if let challenge, challenge.address == address, now - challenge.sent < Self.challengeInterval { return nil }
        var generator = SplitMix64(seed: challengeNumber)
        challengeNumber = generator.next()
        let transaction = STUNMessage.TransactionID(first: UInt32(truncatingIfNeeded: generator.next()), rest: generator.next())
        challenge = Challenge(transaction: transaction, address: address, sent: now, isOfRestart: isOfRestart)
        var writer = STUNWriter(.request, transaction: transaction)
        writer.append(username: session.remote.userFragment + ":" + session.local.userFragment)
        writer.append(priority: 110 << 24 | 65535 << 8 | 255)
        writer.append(controlled: challengeNumber)
        writer.appendIntegrity(password: session.remotePassword.span)
        return writer.finish()
    }

    /// The call begins here; nil while no address is proven.
    mutating func settle(at address: PeerAddress?) {
        selected = address
        isNominated = address != nil
    }

    /// Something came that only the peer can have made, and for the first time.
    public mutating func recordEvidence(at now: MonotonicTime) { lastEvidence = max(lastEvidence, now) }

    public func hasConsent(at now: MonotonicTime) -> Bool { now - lastEvidence < Self.consentTimeout }
}

extension ICELiteAgent {
    /// A short error for a request that names no peer of ours (RFC 8489, 9.1.3): 400 without the attributes, 401 with a wrong name
    /// or password. It is not signed.
    /// - Returns: nil when the answer would be longer than the request: nobody is to reach others through us with more bytes than
    ///   they send.
    static func refusal(_ message: STUNMessage, size: Int) -> [UInt8]? {
        guard message.kind == .request, message.method == STUNMessage.bindingMethod else { return nil }
        var writer = STUNWriter(.error, transaction: message.transaction)
        writer.append(errorCode: message.username == nil || message.integrityOffset == nil ? 400 : 401)
        let answer = writer.finish()
        return answer.count <= size ? answer : nil
    }
}
