import CDTLS
import Media

/// Which side begins the handshake.
public enum DTLSRole: Sendable {
    /// The peer begins. Answers say `setup:passive`.
    case server
    /// We begin. Answers say `setup:active`.
    case client
}

/// The ways to protect media that we have, the better one first.
public enum SRTPProfile: String, Sendable {
    case aeadAES128GCM = "AEAD_AES_128_GCM"
    case aes128CMSHA1 = "AES128_CM_SHA1_80"
}

/// SRTP's keys of both directions: 16 bytes of key, and the salt behind them.
struct SRTPKeys {
    var profile: SRTPProfile
    var local: [30 of UInt8]
    var remote: [30 of UInt8]
}

/// One peer's DTLS connection (RFC 6347, 5764). Datagrams go in, datagrams come out. Used by one thread at a time.
@safe struct DTLSConnection: ~Copyable {
    enum State: Equatable { case pending, connected, closed, wrongFingerprint, noProfile, failed }

    /// The largest datagram that is sent: fits an IPv6 path with some tunnels.
    static let largestDatagram = 1200

    private let handle: OpaquePointer

    /// - Parameter fingerprints: what the peer's certificate may be. Those of the strongest function count (RFC 8122, 5).
    /// - Returns: nil when there is none, or no memory.
    init?(_ identity: DTLSIdentity, role: DTLSRole, fingerprints: [Fingerprint]) {
        guard let strongest = fingerprints.map(\.function).max() else { return nil }
        var wanted = burnish_dtls_fingerprint()
        wanted.hash = strongest.code
        let most = Int(burnish_dtls_most_digests)
        let digests = fingerprints.filter { $0.function == strongest }.prefix(most)
        wanted.count = UInt32(digests.count)
        unsafe withUnsafeMutableBytes(of: &wanted.digests) { room in
            for (index, digest) in digests.enumerated() {
                let start = index * Int(burnish_dtls_largest_digest)
                for (offset, byte) in digest.digest.enumerated() { unsafe room[start + offset] = byte }
            }
        }
        guard
            let handle = unsafe burnish_dtls_create(identity.handle, &wanted, role == .client, Int32(Self.largestDatagram))
        else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe burnish_dtls_free(handle) }

    private static func state(_ state: burnish_dtls_state) -> State {
        switch state {
        case burnish_dtls_pending: .pending
        case burnish_dtls_connected: .connected
        case burnish_dtls_closed: .closed
        case burnish_dtls_wrong_fingerprint: .wrongFingerprint
        case burnish_dtls_no_profile: .noProfile
        default: .failed
        }
    }

    /// Reads a datagram.
    mutating func receive(_ datagram: UnsafeRawBufferPointer) -> State {
        guard let start = datagram.baseAddress else { return .pending }
        return Self.state(
            unsafe burnish_dtls_receive(handle, start.assumingMemoryBound(to: UInt8.self), datagram.count))
    }

    /// Begins as the client; sends a flight again when its time has come.
    mutating func advance() -> State { Self.state(unsafe burnish_dtls_advance(handle)) }

    /// How long until ``advance()`` has something to do; nil for never.
    func timeout() -> Nanoseconds? {
        let microseconds = unsafe burnish_dtls_timeout(handle)
        return microseconds < 0 ? nil : .microseconds(microseconds)
    }

    mutating func close() { unsafe burnish_dtls_close(handle) }

    /// The next datagram to be sent; nil when there is none.
    mutating func nextDatagram() -> [UInt8]? {
        // OpenSSL keeps to the MTU; there is room for one that does not.
        let datagram = unsafe [UInt8](unsafeUninitializedCapacity: 2048) { room, count in
            count = unsafe burnish_dtls_next_datagram(handle, room.baseAddress!, room.count)
        }
        return datagram.isEmpty ? nil : datagram
    }

    /// What OpenSSL said about a failure.
    var fault: String { unsafe String(cString: burnish_dtls_fault(handle)) }

    /// The keys of a connected connection.
    func exportKeys() -> SRTPKeys? {
        var keys = burnish_dtls_keys()
        guard unsafe burnish_dtls_export(handle, &keys) else { return nil }
        func copy(_ bytes: UnsafeRawBufferPointer) -> [30 of UInt8] {
            .init { index in unsafe bytes[index] }
        }
        return SRTPKeys(
            profile: keys.profile == burnish_dtls_aead_aes_128_gcm ? .aeadAES128GCM : .aes128CMSHA1,
            local: unsafe withUnsafeBytes(of: keys.local) { unsafe copy($0) },
            remote: unsafe withUnsafeBytes(of: keys.remote) { unsafe copy($0) })
    }
}
