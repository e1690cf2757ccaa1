import Media

/// A port's peers, by our user name fragment and by the addresses that their checks came from.
struct PeerTable: ~Copyable {
    /// An address from which a check with the right password came.
    struct Place {
        let agent: PeerAgent
        /// The older a place is, the smaller.
        let number: UInt64
        /// Bytes from there and to there.
        var received = 0
        var sent = 0
        /// The peer has shown that it gets what is sent there: it completed the handshake whose flights went there, or answered a
        /// check of ours.
        var isProven = false

        /// How many times the bytes that came may go back before the address is proven. As for QUIC (RFC 9000, 8.1): a flight of
        /// our handshake has more bytes than the peer's first one.
        static let factor = 3

        func allows(_ size: Int) -> Bool { isProven || sent + size <= received * Self.factor }
    }

    private(set) var agents: [FragmentKey: PeerAgent] = [:]
    /// By the names that restarts gave them, which they have not shown yet.
    private var restarting: [FragmentKey: PeerAgent] = [:]
    private var places: [PeerAddress: Place] = [:]
    /// How many places there have been.
    private var placeNumber: UInt64 = 0

    var count: Int { agents.count }

    func agent(_ key: FragmentKey) -> PeerAgent? { agents[key] ?? restarting[key] }
    func agent(of id: PeerID) -> PeerAgent? { agents.values.first { $0.peer.id == id } }
    func agent(at address: PeerAddress) -> PeerAgent? { places[address]?.agent }
    func place(at address: PeerAddress) -> Place? { places[address] }
    func isProven(_ address: PeerAddress, of agent: PeerAgent) -> Bool {
        places[address].map { $0.agent === agent && $0.isProven } ?? false
    }

    mutating func insert(_ agent: PeerAgent) { agents[agent.key] = agent }

    mutating func remove(_ agent: PeerAgent) {
        agents[agent.key] = nil
        if let key = agent.nextKey { restarting[key] = nil }
        places = places.filter { $0.value.agent !== agent }
    }

    /// A peer is known by this name, too, from now on.
    mutating func expect(_ agent: PeerAgent, as key: FragmentKey) {
        if let former = agent.nextKey { restarting[former] = nil }
        agent.nextKey = key
        restarting[key] = agent
    }

    /// The peer has shown its new name. The old one is not known any more.
    mutating func completeRestart(of agent: PeerAgent) {
        guard let key = agent.nextKey else { return }
        restarting[key] = nil
        agents[agent.key] = nil
        (agent.key, agent.nextKey) = (key, nil)
        agents[key] = agent
    }

    /// Evidence of a peer at its address keeps the address from others for so long.
    static let keepTimeout = Nanoseconds.seconds(10)

    /// Whether the address belongs to another peer, which showed not long ago that it is there. Whoever has a password of their own
    /// could otherwise take an address away by a check with a forged source.
    func isTaken(_ address: PeerAddress, for agent: PeerAgent, at now: MonotonicTime) -> Bool {
        guard let place = places[address], place.agent !== agent, place.isProven else { return false }
        return now - place.agent.ice.lastEvidence < Self.keepTimeout
    }

    /// A check with the agent's password came from this address, which nobody else has (``isTaken(_:for:at:)``). An address that was another
    /// peer's is this one's from now on: a browser may use one socket after the other from the same port. A peer that has too many
    /// loses the oldest, of those that are not proven where there are some.
    mutating func bind(_ address: PeerAddress, to agent: PeerAgent) {
        if let place = places[address], place.agent === agent { return }
        let mine = places.filter { $0.value.agent === agent }
        if mine.count >= ICELiteAgent.mostAddresses {
            let others = mine.filter { $0.key != agent.ice.selected }
            let unproven = others.filter { !$0.value.isProven }
            let oldest = (unproven.isEmpty ? others : unproven).min { $0.value.number < $1.value.number }
            if let oldest { places[oldest.key] = nil }
        }
        placeNumber += 1
        // A connection came about, so whoever is there reads what is sent there.
        places[address] = Place(agent: agent, number: placeNumber, isProven: address.isTCP)
    }

    mutating func recordReceived(_ size: Int, from address: PeerAddress) { places[address]?.received += size }

    /// - Returns: false when the address is not the agent's any more.
    @discardableResult mutating func prove(_ address: PeerAddress, of agent: PeerAgent) -> Bool {
        guard places[address]?.agent === agent else { return false }
        places[address]!.isProven = true
        return true
    }

    /// Counts bytes that are to be sent to an address.
    /// - Returns: false when they may not be.
    mutating func spend(_ size: Int, to address: PeerAddress) -> Bool {
        guard let place = places[address] else { return false }
        if place.allows(size) {
            places[address]!.sent += size
            return true
        }
        guard place.agent.credit >= size else { return false }
        place.agent.credit -= size
        return true
    }
}
