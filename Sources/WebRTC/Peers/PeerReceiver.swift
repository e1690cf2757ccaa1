import Media

/// Which of a port's peers; never used twice.
public struct PeerID: Hashable, Sendable {
    public let number: UInt64
}

/// What is told to the owner of a peer. All calls come from the port's receiving thread, one after the other, and hold up that
/// thread: copy what is to be kept, and return.
public protocol PeerReceiver: Sendable {
    /// A packet with a right tag, decrypted: header, extensions and payload. The bytes are valid during the call only.
    /// - Parameter arrival: when the kernel got it.
    func receive(_ kind: PacketKind, _ packet: UnsafeRawBufferPointer, arrival: MonotonicTime)

    /// Something changed.
    func peerChanged(_ change: PeerChange)
}

public enum PeerChange: Equatable, Sendable {
    /// The handshake is complete: packets flow from now on.
    case connected(PeerAddress, SRTPProfile)
    /// The peer is at another address.
    case moved(PeerAddress)
    /// Nothing more comes or goes.
    case ended(PeerEnd)
}

/// Why a peer is gone.
public enum PeerEnd: Hashable, Sendable {
    /// We ended it.
    case closedHere
    /// It said goodbye.
    case closedByPeer
    /// It was silent for ``ICELiteAgent/consentTimeout``.
    case consentExpired
    /// No check came after the answer, or its handshake took too long.
    case neverConnected
    /// Its certificate is not the one that its offer or answer names.
    case wrongFingerprint
    /// It offers no SRTP profile that we have.
    case noProfile
    /// DTLS failed; the text is OpenSSL's.
    case handshakeFailed(String)
}

extension PeerEnd: CustomStringConvertible {
    public var description: String {
        switch self {
        case .closedHere: "closed here"
        case .closedByPeer: "the peer closed the call"
        case .consentExpired: "nothing came from the peer for 30 s"
        case .neverConnected: "the peer did not connect within 30 s: check that UDP reaches the port in both directions"
        case .wrongFingerprint: "the peer's certificate does not have the fingerprint that its description names"
        case .noProfile: "the peer has neither AEAD_AES_128_GCM nor AES128_CM_SHA1_80"
        case .handshakeFailed(let reason): "the DTLS handshake failed: \(reason)"
        }
    }
}

/// Sends datagrams. Any thread; never waits.
public protocol DatagramOutput: Sendable {
    /// - Returns: false when the kernel has no room.
    func send(_ datagram: UnsafeRawBufferPointer, to address: PeerAddress) -> Bool
}
