import Endpoint

/// What the other side's description says about its transport.
public struct PeerRequest: Hashable, Sendable {
    public var credentials: ICECredentials
    /// What its certificate may be. At least one.
    public var fingerprints: [Fingerprint]
    /// Our role: the server, unless the peer's description says `setup:passive`.
    public var role: DTLSRole

    public init(credentials: ICECredentials, fingerprints: [Fingerprint], role: DTLSRole) {
        (self.credentials, self.fingerprints, self.role) = (credentials, fingerprints, role)
    }
}

/// What our description says about our transport.
public struct PeerAnswer: Hashable, Sendable {
    public var credentials: ICECredentials
    public var fingerprint: Fingerprint
    public var role: DTLSRole
    /// Where the peer can reach us, the best first.
    public var candidates: [PeerAddress]

    /// Our names and addresses, as lines of a description or a fragment have them behind `a=`.
    var attributes: [(name: String, value: String?)] {
        var lines: [(String, String?)] = [("ice-ufrag", credentials.userFragment), ("ice-pwd", credentials.password)]
        for (index, candidate) in candidates.enumerated() {
            let line = ICECandidate(
                foundation: String(index + 1), transport: candidate.isTCP ? "tcp" : "udp",
                priority: priority(ofCandidate: index), address: candidate.host, port: candidate.port,
                tcpType: candidate.isTCP ? "passive" : nil)
            lines.append(("candidate", line.text))
        }
        return lines + [("end-of-candidates", nil)]
    }

    /// RFC 8445, 5.1.2.1: host candidates of component 1, each a little less than the one before.
    /// Those of TCP come behind all of UDP (RFC 6544, 4.2).
    public func priority(ofCandidate index: Int) -> UInt32 {
        let best: UInt32 = candidates[index].isTCP ? 4 << 13 | 8191 : 65535
        return 126 << 24 | (best - UInt32(index)) << 8 | 255
    }
}

/// Why a peer cannot be added.
public enum PeerRefusal: Error, Hashable, Sendable {
    /// The port has as many peers as it may have.
    case full(most: Int)
    case noFingerprint
    /// OpenSSL or libsrtp cannot be used.
    case library
    /// The port is closed.
    case closed
}

extension PeerRefusal: CustomStringConvertible {
    public var description: String {
        switch self {
        case .full(let most): "the port has \(most) peers already"
        case .noFingerprint: "the description has no fingerprint of SHA-224, SHA-256, SHA-384 or SHA-512"
        case .library: "OpenSSL or libsrtp cannot be used in this process"
        case .closed: "the port is closed"
        }
    }
}
