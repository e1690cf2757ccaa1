import Media

/// What a port does with datagrams and with time, without a socket and without a clock: datagrams in, datagrams and changes out.
/// Used by one thread at a time.
struct PeerCore: ~Copyable {
    /// A datagram of ICE or DTLS that is to be sent. Media does not come this way.
    struct Outgoing: Equatable {
        var bytes: [UInt8]
        var address: PeerAddress
    }

    /// A datagram that held a packet with a right tag. The packet is in the buffer's first bytes.
    struct Packet {
        var peer: Peer
        var kind: PacketKind
        var count: Int
    }

    private let identity: DTLSIdentity
    private let mostPeers: Int
    private var table = PeerTable()
    private var nextNumber: UInt64 = 1
    private var random = SystemRandomNumberGenerator()
    /// Errors for requests that name no peer: so many in the present second.
    private var refusals = (second: Int64(0), count: 0)
    private static let mostRefusalsPerSecond = 100

    private(set) var counts = PortCounts()
    /// What is to be sent, and what is to be told, the oldest first.
    private var outgoing: [Outgoing] = []
    private var changes: [(peer: Peer, change: PeerChange)] = []

    init(identity: DTLSIdentity, mostPeers: Int) {
        (self.identity, self.mostPeers) = (identity, mostPeers)
    }

    var peerCount: Int { table.count }

    /// Whether a peer has shown its password from this address.
    func knows(_ address: PeerAddress) -> Bool { table.agent(at: address) != nil }

    // MARK: Output

    var hasOutput: Bool { !outgoing.isEmpty || !changes.isEmpty }

    /// Moves what has gathered behind what the arrays hold.
    mutating func drain(_ outgoing: inout [Outgoing], _ changes: inout [(peer: Peer, change: PeerChange)]) {
        outgoing += self.outgoing
        changes += self.changes
        self.outgoing.removeAll(keepingCapacity: true)
        self.changes.removeAll(keepingCapacity: true)
    }

    mutating func countCut() { counts.cut += 1 }

    // MARK: Peers

    /// Adds a peer whose description has been read.
    mutating func add(
        _ request: PeerRequest, receiver: any PeerReceiver, output: any DatagramOutput, at now: MonotonicTime
    ) throws(PeerRefusal) -> (Peer, ICECredentials) {
        guard table.count < mostPeers else { throw .full(most: mostPeers) }
        guard !request.fingerprints.isEmpty else { throw .noFingerprint }
        guard SRTPLibrary.prepare(),
            let dtls = DTLSConnection(identity, role: request.role, fingerprints: request.fingerprints)
        else { throw .library }
        let credentials = newCredentials()
        let peer = Peer(id: PeerID(number: nextNumber), receiver: receiver, output: output)
        nextNumber += 1
        let ice = ICELiteAgent(local: credentials, remote: request.credentials, seed: random.next(), at: now)
        table.insert(
            PeerAgent(peer: peer, key: FragmentKey(credentials), request: request, ice: ice, dtls: dtls, at: now))
        return (peer, credentials)
    }

    /// Credentials whose name nobody has.
    private mutating func newCredentials() -> ICECredentials {
        var credentials = ICECredentials.random(using: &random)
        while table.agent(FragmentKey(credentials)) != nil { credentials = .random(using: &random) }
        return credentials
    }

    /// Begins an ICE restart. The peer's former credentials, and its address, hold until it has nominated one by the new ones.
    /// - Returns: our new credentials and our role; nil when the peer is gone.
    mutating func restart(
        _ id: PeerID, _ remote: ICECredentials, at now: MonotonicTime
    ) -> (credentials: ICECredentials, role: DTLSRole)? {
        guard let agent = table.agent(of: id) else { return nil }
        if let known = agent.ice.credentials(towards: remote) { return (known, agent.request.role) }
        let credentials = newCredentials()
        table.expect(agent, as: FragmentKey(credentials))
        agent.ice.restart(credentials, remote, at: now)
        return (credentials, agent.request.role)
    }

    /// Ends a call with a goodbye. Nothing happens when it is over already.
    mutating func close(_ id: PeerID) {
        if let agent = table.agent(of: id) { end(agent, .closedHere) }
    }

    mutating func closeAll() { for agent in Array(table.agents.values) { end(agent, .closedHere) } }

    /// What came from a peer; nil when it is gone.
    func statistics(of id: PeerID) -> InboundStatistics? { table.agent(of: id)?.statistics }

    /// When a peer last showed that it is there, or was added; nil when it is gone.
    func lastEvidence(of id: PeerID) -> MonotonicTime? { table.agent(of: id)?.ice.lastEvidence }

    private mutating func end(_ agent: PeerAgent, _ reason: PeerEnd) {
        guard agent.phase != .ended else { return }
        let address = agent.ice.selected
        agent.phase = .ended
        agent.peer.disconnect()
        if reason == .closedHere { agent.dtls.close() }
        // Without consent not even a goodbye may be sent.
        if let address, reason != .consentExpired { flush(agent, to: address) }
        table.remove(agent)
        changes.append((agent.peer, .ended(reason)))
    }

    // MARK: Datagrams

    /// Reads a datagram and decrypts what it holds in place. RFC 7983 tells the protocols apart by the first byte.
    mutating func receive(
        _ datagram: UnsafeMutableRawBufferPointer, from address: PeerAddress, at now: MonotonicTime
    ) -> Packet? {
        counts.datagrams += 1
        counts.bytes += Int64(datagram.count)
        guard datagram.count > 0 else {
            counts.unknown += 1
            return nil
        }
        switch unsafe datagram[0] {
        case 0...3: unsafe receiveSTUN(UnsafeRawBufferPointer(datagram), from: address, at: now)
        case 20...63: unsafe receiveDTLS(UnsafeRawBufferPointer(datagram), from: address, at: now)
        case 128...191: return unsafe receiveMedia(datagram, from: address, at: now)
        default: counts.unknown += 1
        }
        return nil
    }

    private mutating func receiveMedia(
        _ datagram: UnsafeMutableRawBufferPointer, from address: PeerAddress, at now: MonotonicTime
    ) -> Packet? {
        guard let place = table.place(at: address) else {
            counts.fromUnknownAddresses += 1
            return nil
        }
        let agent = place.agent
        // RFC 5761: what would be payload types 64 to 95 with the marker bit are RTCP's types.
        let kind: PacketKind = unsafe datagram.count > 1 && 192...223 ~= datagram[1] ? .rtcp : .rtp
        guard let count = unsafe agent.unprotect(kind, datagram) else { return nil }
        // What comes from elsewhere does not show that the peer is where its media goes.
        if place.isProven || address == agent.ice.selected { agent.ice.recordEvidence(at: now) }
        return Packet(peer: agent.peer, kind: kind, count: count)
    }

    private mutating func receiveDTLS(_ datagram: UnsafeRawBufferPointer, from address: PeerAddress, at now: MonotonicTime) {
        guard let agent = table.agent(at: address) else {
            counts.fromUnknownAddresses += 1
            return
        }
        table.recordReceived(datagram.count, from: address)
        if agent.phase == .waiting { agent.phase = .handshaking }
        let state = unsafe agent.dtls.receive(datagram)
        proceed(agent, state, from: address, at: now)
    }

    /// Follows a handshake after a datagram or a timer.
    private mutating func proceed(
        _ agent: PeerAgent, _ state: DTLSConnection.State, from address: PeerAddress, at now: MonotonicTime
    ) {
        if state == .failed {
            let fault = agent.dtls.fault
            counts.brokenHandshakes += 1
            // Our alert is thrown away with the connection: the peer would believe it.
            if agent.restart(identity) { return }
            return end(agent, .handshakeFailed(fault))
        }
        // Before our last flight: it goes to the address that is proven.
        if state == .connected, agent.phase != .connected { connect(agent, from: address, at: now) }
        flush(agent, to: address)
        switch state {
        case .pending, .connected, .failed: break
        case .closed: end(agent, .closedByPeer)
        case .wrongFingerprint: end(agent, .wrongFingerprint)
        case .noProfile: end(agent, .noProfile)
        }
    }

    /// Takes over a complete handshake. Media goes only to an address that is proven. A peer that nominated another one is asked
    /// there. Where nothing is proven, media waits for the answer.
    private mutating func connect(_ agent: PeerAgent, from address: PeerAddress, at now: MonotonicTime) {
        let wanted = agent.ice.selected ?? address
        // Who completes the handshake has read our flights. The source of its last one could be anybody's.
        let read = agent.flightAddress.flatMap { table.prove($0, of: agent) ? $0 : nil }
        let place = table.isProven(wanted, of: agent) ? wanted : read
        agent.ice.settle(at: place)
        guard let profile = agent.connect(at: place) else { return end(agent, .handshakeFailed("SRTP cannot be set up")) }
        changes.append((agent.peer, .connected(place ?? wanted, profile)))
        if wanted != place, let check = agent.ice.check(wanted, at: now) { send(check, to: wanted) }
    }

    /// Sends what the handshake has to say to where the peer is.
    private mutating func flush(_ agent: PeerAgent, to address: PeerAddress) {
        let target = agent.ice.selected ?? address
        while let datagram = agent.dtls.nextDatagram() {
            if send(datagram, to: target) { agent.recordFlight(to: target) }
        }
    }

    /// Sends within what the address may get. A flight that is withheld is sent again by its timer.
    /// - Returns: false when it is withheld.
    @discardableResult private mutating func send(_ bytes: [UInt8], to address: PeerAddress) -> Bool {
        guard table.spend(bytes.count, to: address) else {
            counts.withheld += 1
            return false
        }
        outgoing.append(Outgoing(bytes: bytes, address: address))
        return true
    }

    // MARK: STUN

    private mutating func receiveSTUN(_ datagram: UnsafeRawBufferPointer, from address: PeerAddress, at now: MonotonicTime) {
        let bytes = unsafe datagram.assumingMemoryBound(to: UInt8.self).span
        // ICE's messages all have a fingerprint (RFC 8445, 7.1).
        guard let message = STUNMessage(reading: bytes), message.hasFingerprint else {
            counts.malformedSTUN += 1
            return
        }
        guard message.kind == .request else {
            if let agent = table.agent(at: address) { receiveAnswer(message, bytes, agent, from: address, at: now) }
            return
        }
        guard let username = message.username, message.integrityOffset != nil,
            let key = FragmentKey(username: username, in: bytes), let agent = table.agent(key)
        else { return refuse(message, size: bytes.count, to: address, at: now) }
        // Before the agent follows it: a refused address is not to be selected.
        guard !table.isTaken(address, for: agent, at: now) else {
            counts.withheld += 1
            return
        }
        let isConnected = agent.phase == .connected
        let (before, restarts) = (agent.ice.selected, agent.ice.restarts)
        let isOfRestart = agent.ice.isOfRestart(message, in: bytes)
        let isProven = table.isProven(address, of: agent)
        let outcome = agent.ice.receive(
            message, in: bytes, from: address, at: now, isConnected: isConnected, isProven: isProven)
        guard case .answered(let answer) = outcome else {
            if outcome == .wrongPassword { refuse(message, size: bytes.count, to: address, at: now) }
            return
        }
        table.bind(address, to: agent)
        table.recordReceived(bytes.count, from: address)
        send(answer, to: address)
        if agent.ice.restarts != restarts { completeRestart(of: agent) }
        if isConnected {
            if message.usesCandidate, let check = agent.ice.check(address, isOfRestart: isOfRestart, at: now) {
                send(check, to: address)
            }
        } else if agent.request.role == .client, let selected = agent.ice.selected, before == nil {
            agent.phase = .handshaking
            let state = agent.dtls.advance()
            proceed(agent, state, from: selected, at: now)
        }
    }

    /// The peer is known by its new name alone. Its media goes on where it went.
    private mutating func completeRestart(of agent: PeerAgent) {
        table.completeRestart(of: agent)
        if agent.phase == .connected { agent.peer.move(to: agent.ice.selected) }
    }

    private mutating func receiveAnswer(
        _ message: STUNMessage, _ bytes: Span<UInt8>, _ agent: PeerAgent, from address: PeerAddress, at now: MonotonicTime
    ) {
        let isConnected = agent.phase == .connected
        let restarts = agent.ice.restarts
        guard case .proven(let place) = agent.ice.receive(message, in: bytes, from: address, at: now, isConnected: isConnected)
        else { return }
        table.prove(place, of: agent)
        if agent.ice.restarts != restarts { table.completeRestart(of: agent) }
        agent.peer.move(to: place)
        changes.append((agent.peer, .moved(place)))
    }

    private mutating func refuse(_ message: STUNMessage, size: Int, to address: PeerAddress, at now: MonotonicTime) {
        counts.refusedSTUN += 1
        let second = now.nanoseconds / 1_000_000_000
        if refusals.second != second { refusals = (second, 0) }
        guard refusals.count < Self.mostRefusalsPerSecond, let answer = ICELiteAgent.refusal(message, size: size) else {
            return
        }
        refusals.count += 1
        outgoing.append(Outgoing(bytes: answer, address: address))
    }

    // MARK: Time

    private static let handshakeInterval = Nanoseconds.milliseconds(50)
    private static let idleInterval = Nanoseconds.seconds(1)

    /// Repeats lost flights, and ends calls whose time is over.
    /// - Returns: when to call it next.
    mutating func tick(at now: MonotonicTime) -> MonotonicTime {
        var isHandshaking = false
        // Without a copy: an agent that ends makes one.
        for agent in table.agents.values {
            guard agent.phase == .connected || now - agent.began < PeerAgent.connectTimeout else {
                end(agent, .neverConnected)
                continue
            }
            guard agent.phase == .waiting || agent.ice.hasConsent(at: now) else {
                // Only its former address is without consent: it has said that it comes from another one.
                if agent.ice.awaitsPeer(at: now) { agent.peer.move(to: nil) } else { end(agent, .consentExpired) }
                continue
            }
            guard agent.phase == .handshaking, let address = agent.ice.selected else { continue }
            isHandshaking = true
            if let left = agent.dtls.timeout(), left > .zero { continue }
            let state = agent.dtls.advance()
            proceed(agent, state, from: address, at: now)
        }
        return now + (isHandshaking ? Self.handshakeInterval : Self.idleInterval)
    }
}

/// What came to a port and what was made of it. Media is counted for each peer.
public struct PortCounts: Hashable, Sendable {
    public var datagrams: Int64 = 0
    public var bytes: Int64 = 0
    /// Datagrams that begin as none of the protocols.
    public var unknown: Int64 = 0
    /// Datagrams that begin like STUN and are none, or have no fingerprint.
    public var malformedSTUN: Int64 = 0
    /// Requests with a wrong name or password, or with none.
    public var refusedSTUN: Int64 = 0
    /// DTLS and media from addresses that no check came from.
    public var fromUnknownAddresses: Int64 = 0
    /// Datagrams that were not sent, because an address that has not shown itself would have got more than its share.
    public var withheld: Int64 = 0
    /// Handshakes that a datagram broke, and that began anew.
    public var brokenHandshakes: Int64 = 0
    /// Datagrams that were longer than the port's buffer.
    public var cut: Int64 = 0
}
