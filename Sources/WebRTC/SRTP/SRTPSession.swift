import CSRTP

/// The library's state for the process.
public enum SRTPLibrary {
    /// Debian's libsrtp stands on NSS. NSS loads libraries when the first cipher is made and unloads them with the last one, and a
    /// worker in its sandbox cannot load them again. So one session lives as long as the process.
    private static let kept: Kept? = {
        guard srtp_init() == srtp_err_status_ok else { return nil }
        return Kept()
    }()

    /// Unchecked because nobody uses what it holds.
    private final class Kept: @unchecked Sendable {
        private let session: SRTPSession

        init?() {
            guard let session = SRTPSession(unprepared: .aeadAES128GCM, key: .init(repeating: 0), .outbound) else { return nil }
            self.session = session
        }
    }

    /// Loads what SRTP needs. Call it before the process enters its sandbox; later calls cost nothing. Thread-safe.
    /// - Returns: false when the library cannot be used.
    public static func prepare() -> Bool { kept != nil }
}

/// Why a packet from a peer was not let through.
public enum SRTPFault: Int, CaseIterable, Sendable {
    /// The tag is wrong: other keys, or changed on its way.
    case wrongTag
    /// It came before, or is older than the window.
    case replayed
    /// It is too short, or its header is malformed.
    case malformed
    /// The peer uses more sources than a call has.
    case tooManySources
    /// The library failed in another way.
    case other
}

/// One direction of one peer's media (RFC 3711, 7714) by libsrtp, in the caller's buffers. Any number of sources. Used by one
/// thread at a time.
@safe struct SRTPSession: ~Copyable {
    enum Direction { case inbound, outbound }

    /// Protecting needs so much room behind a packet: a tag of 16 bytes at most, and RTCP's index.
    static let trailerRoom = 32
    /// Repeats and late packets are told apart this far back.
    static let replayWindow = 1024
    /// A call has a few: picture, sound, repairs. More allocate without bounds.
    static let mostSources = 32

    private let session: OpaquePointer
    private var sources: [32 of UInt32] = .init(repeating: 0)
    private var sourceCount = 0

    init?(_ profile: SRTPProfile, key: [30 of UInt8], _ direction: Direction) {
        guard SRTPLibrary.prepare() else { return nil }
        self.init(unprepared: profile, key: key, direction)
    }

    fileprivate init?(unprepared profile: SRTPProfile, key: [30 of UInt8], _ direction: Direction) {
        var key = key
        var policy = unsafe srtp_policy_t()
        switch profile {
        case .aeadAES128GCM:
            unsafe srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp)
            unsafe srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp)
        case .aes128CMSHA1:
            // libsrtp's names: the default is AES-CM with 80 bits of HMAC-SHA1.
            unsafe srtp_crypto_policy_set_rtp_default(&policy.rtp)
            unsafe srtp_crypto_policy_set_rtcp_default(&policy.rtcp)
        }
        unsafe policy.ssrc.type = direction == .inbound ? ssrc_any_inbound : ssrc_any_outbound
        unsafe policy.window_size = UInt(Self.replayWindow)
        // A packet that is sent again as it was keeps its number. The same number must never carry other bytes.
        unsafe policy.allow_repeat_tx = 1
        var created: OpaquePointer?
        let status = unsafe withUnsafeMutableBytes(of: &key) { key in
            unsafe policy.key = key.baseAddress!.assumingMemoryBound(to: UInt8.self)
            return unsafe srtp_create(&created, &policy)
        }
        guard status == srtp_err_status_ok, let created = unsafe created else { return nil }
        unsafe session = created
    }

    deinit { unsafe srtp_dealloc(session) }

    /// Protects the packet in the buffer's first `count` bytes in place.
    /// - Returns: how many bytes it has now; nil when it is malformed or has less than ``trailerRoom`` behind it.
    mutating func protect(_ kind: PacketKind, _ buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int? {
        guard count >= kind.shortest, buffer.count - count >= Self.trailerRoom else { return nil }
        var length = Int32(count)
        let status =
            switch kind {
            case .rtp: unsafe srtp_protect(session, buffer.baseAddress!, &length)
            case .rtcp: unsafe srtp_protect_rtcp(session, buffer.baseAddress!, &length)
            }
        return status == srtp_err_status_ok ? Int(length) : nil
    }

    /// Checks and decrypts the packet in the buffer in place.
    /// - Returns: how many bytes it has now.
    mutating func unprotect(_ kind: PacketKind, _ buffer: UnsafeMutableRawBufferPointer) -> Result<Int, Refused> {
        guard buffer.count >= kind.shortest else { return .failure(Refused(.malformed)) }
        let source = unsafe UInt32(bigEndian: buffer.loadUnaligned(fromByteOffset: kind.sourceOffset, as: UInt32.self))
        let isKnown = knows(source)
        guard isKnown || sourceCount < Self.mostSources else { return .failure(Refused(.tooManySources)) }
        var length = Int32(buffer.count)
        let status =
            switch kind {
            case .rtp: unsafe srtp_unprotect(session, buffer.baseAddress!, &length)
            case .rtcp: unsafe srtp_unprotect_rtcp(session, buffer.baseAddress!, &length)
            }
        switch status {
        case srtp_err_status_ok:
            if !isKnown {
                sources[sourceCount] = source
                sourceCount += 1
            }
            return .success(Int(length))
        case srtp_err_status_auth_fail: return .failure(Refused(.wrongTag))
        case srtp_err_status_replay_fail, srtp_err_status_replay_old: return .failure(Refused(.replayed))
        case srtp_err_status_bad_param, srtp_err_status_parse_err: return .failure(Refused(.malformed))
        default: return .failure(Refused(.other))
        }
    }

    struct Refused: Error {
        let fault: SRTPFault
        init(_ fault: SRTPFault) { self.fault = fault }
    }

    private func knows(_ source: UInt32) -> Bool {
        for index in 0..<sourceCount where sources[index] == source { return true }
        return false
    }
}

/// What a datagram of media holds (RFC 5761).
public enum PacketKind: Sendable {
    case rtp, rtcp

    /// The shortest packet before it is protected.
    var shortest: Int { self == .rtp ? 12 : 8 }
    /// Where the sender's number lies.
    var sourceOffset: Int { self == .rtp ? 8 : 4 }
}
