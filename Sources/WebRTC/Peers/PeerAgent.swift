import Media

/// One peer's state on the receiving side: where it is, its handshake, and how its media is read.
///
///     waiting ──check──▶ handshaking ──keys──▶ connected ──▶ ended
///        └──────────────────┴──── time, fault, goodbye ────────▲
final class PeerAgent {
    enum Phase { case waiting, handshaking, connected, ended }

    let peer: Peer
    /// What it is known by; changed by the table alone.
    var key: FragmentKey
    /// What it will be known by when a restart is complete.
    var nextKey: FragmentKey?
    let request: PeerRequest
    let began: MonotonicTime
    var ice: ICELiteAgent
    var dtls: DTLSConnection
    var inbound: SRTPSession?
    var phase = Phase.waiting
    var statistics = InboundStatistics()
    /// Bytes that may go to unproven addresses of this peer beyond their shares, in all: FFmpeg sends one check of 100 bytes and
    /// waits for our handshake, whose first flight may get lost.
    var credit = 2000
    /// Handshakes that broke before a certificate was seen: anybody can break one with a forged datagram.
    private var restarts = 0
    /// Where this handshake's flights went.
    private var flights = Flights.none
    private enum Flights { case none, one(PeerAddress), several }

    /// The only address that got flights of this handshake: whoever completes the handshake has read them there. Nil where there were
    /// none, or several.
    var flightAddress: PeerAddress? { if case .one(let address) = flights { address } else { nil } }

    func recordFlight(to address: PeerAddress) {
        switch flights {
        case .none: flights = .one(address)
        case .one(address), .several: break
        case .one: flights = .several
        }
    }

    /// The whole handshake, from the answer on, may take so long.
    static let connectTimeout = Nanoseconds.seconds(30)
    private static let mostRestarts = 5

    init(
        peer: Peer, key: FragmentKey, request: PeerRequest, ice: ICELiteAgent, dtls: consuming DTLSConnection,
        at now: MonotonicTime
    ) {
        (self.peer, self.key, self.request, self.ice) = (peer, key, request, ice)
        self.dtls = dtls
        began = now
    }

    /// Begins the handshake anew after a fault, so that a forged datagram costs the call one retransmission.
    /// - Returns: false when that has happened too often.
    func restart(_ identity: DTLSIdentity) -> Bool {
        guard restarts < Self.mostRestarts,
            let fresh = DTLSConnection(identity, role: request.role, fingerprints: request.fingerprints)
        else { return false }
        restarts += 1
        dtls = fresh
        flights = .none
        return true
    }

    /// Takes over the keys of a complete handshake.
    /// - Parameter address: where the peer is; nil while that is not proven, and then nothing is sent.
    /// - Returns: the profile; nil when SRTP cannot be set up.
    func connect(at address: PeerAddress?) -> SRTPProfile? {
        guard let keys = dtls.exportKeys(), let session = SRTPSession(keys.profile, key: keys.remote, .inbound) else {
            return nil
        }
        inbound = consume session
        phase = .connected
        return peer.connect(keys, at: address) ? keys.profile : nil
    }

    /// Decrypts a packet in place.
    /// - Returns: how many bytes it has now; nil when it is dropped and counted.
    func unprotect(_ kind: PacketKind, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard inbound != nil else {
            statistics.early += 1
            return nil
        }
        switch unsafe inbound!.unprotect(kind, buffer) {
        case .success(let count):
            statistics.packets += 1
            statistics.bytes += Int64(count)
            return count
        case .failure(let refused):
            statistics.faults[refused.fault, default: 0] += 1
            return nil
        }
    }
}

/// What came from one peer.
public struct InboundStatistics: Hashable, Sendable {
    /// Packets with a right tag, RTP and RTCP, and their bytes after decryption.
    public var packets: Int64 = 0
    public var bytes: Int64 = 0
    /// Packets before the handshake was complete.
    public var early: Int64 = 0
    /// Packets that were dropped, by reason.
    public var faults: [SRTPFault: Int64] = [:]
}
