import CDTLS

/// The process's DTLS certificate: self-signed on P-256, made at the start and never written anywhere. Peers know it by its
/// fingerprint, which travels in the answers.
///
/// Unchecked because the compiler cannot see into OpenSSL: its SSL_CTX counts references atomically, and nothing changes it after
/// `init`.
@safe public final class DTLSIdentity: @unchecked Sendable {
    let handle: OpaquePointer

    /// Makes a key and a certificate: about a millisecond, and random bytes of the kernel.
    /// - Returns: nil when OpenSSL refuses.
    public init?() {
        guard let handle = unsafe burnish_dtls_identity_create() else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe burnish_dtls_identity_free(handle) }

    public var fingerprint: Fingerprint {
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe burnish_dtls_identity_sha256(handle, &digest)
        return Fingerprint(.sha256, digest)!
    }
}

/// A certificate's digest, as SDP writes it (RFC 8122).
public struct Fingerprint: Hashable, Sendable {
    /// The hash functions that are safe, by their SDP names. MD5 and SHA-1 are not taken.
    public enum Function: String, CaseIterable, Comparable, Sendable {
        case sha224 = "sha-224"
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        var code: burnish_dtls_hash {
            switch self {
            case .sha224: burnish_dtls_sha224
            case .sha256: burnish_dtls_sha256
            case .sha384: burnish_dtls_sha384
            case .sha512: burnish_dtls_sha512
            }
        }

        public static func < (a: Self, b: Self) -> Bool { a.code.rawValue < b.code.rawValue }
    }

    public let function: Function
    public let digest: [UInt8]

    /// - Returns: nil when the digest's length is not the function's.
    public init?(_ function: Function, _ digest: [UInt8]) {
        guard digest.count == burnish_dtls_digest_size(function.code) else { return nil }
        (self.function, self.digest) = (function, digest)
    }

    /// `sha-256 12:AB:…`
    public var sdp: String {
        let bytes = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
        return "\(function.rawValue) \(bytes.joined(separator: ":"))"
    }
}
