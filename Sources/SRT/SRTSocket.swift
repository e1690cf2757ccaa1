import CSRT
import Endpoint
import Glibc
import Media
import Packets

/// An SRT socket, closed in `deinit`. Its number may be used by other threads: libsrt refuses calls on closed numbers
/// and does not give them out again soon.
struct SRTSocket: ~Copyable {
    let id: SRTSOCKET

    init() throws(SRTFailure) {
        _ = SRTLibrary.started
        id = srt_create_socket()
        guard id != SRT_INVALID_SOCK else { throw .last }
    }

    init(adopting id: SRTSOCKET) { self.id = id }

    deinit { close() }

    /// Ends the connection at once. Any call on the socket fails from now on.
    func close() { srt_close(id) }

    func set<Value: BitwiseCopyable>(_ option: SRT_SOCKOPT, _ value: Value) throws(SRTFailure) {
        try Self.set(option, value, on: id)
    }

    static func set<Value: BitwiseCopyable>(
        _ option: SRT_SOCKOPT, _ value: Value, on id: SRTSOCKET
    ) throws(SRTFailure) {
        let code = unsafe withUnsafeBytes(of: value) {
            unsafe srt_setsockflag(id, option, $0.baseAddress, Int32($0.count))
        }
        guard code != SRT_ERROR else { throw .last }
    }

    func set(_ option: SRT_SOCKOPT, _ text: String) throws(SRTFailure) { try Self.set(option, text, on: id) }

    static func set(_ option: SRT_SOCKOPT, _ text: String, on id: SRTSOCKET) throws(SRTFailure) {
        let bytes = Array(text.utf8)
        let code = unsafe bytes.withUnsafeBytes { unsafe srt_setsockflag(id, option, $0.baseAddress, Int32($0.count)) }
        guard code != SRT_ERROR else { throw .last }
    }

    func integer(_ option: SRT_SOCKOPT) -> Int32? {
        var value: Int32 = 0
        var length = Int32(MemoryLayout<Int32>.size)
        return unsafe srt_getsockflag(id, option, &value, &length) == SRT_ERROR ? nil : value
    }

    func text(_ option: SRT_SOCKOPT) -> String {
        var bytes: [UInt8] = Array(repeating: 0, count: 1024)
        var length = Int32(bytes.count)
        guard unsafe srt_getsockflag(id, option, &bytes, &length) != SRT_ERROR, length > 0 else { return "" }
        return String(decoding: bytes.prefix(Int(length)).prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Binds to or connects with an address: `call` is `srt_bind` or `srt_connect`.
    func use(
        _ address: SocketAddress, with call: (SRTSOCKET, UnsafePointer<sockaddr>?, Int32) -> Int32
    ) throws(SRTFailure) {
        guard unsafe address.withSockaddr({ unsafe call(id, $0, Int32($1)) }) != SRT_ERROR else { throw .last }
    }

    var state: SRT_SOCKSTATUS { srt_getsockstate(id) }

    /// How far a call has come.
    enum Progress { case underWay, connected, failed }

    var progress: Progress {
        switch state {
        case SRTS_CONNECTED: .connected
        case SRTS_INIT, SRTS_OPENED, SRTS_CONNECTING: .underWay
        // Between connecting and connected libsrt shows "broken" for a moment (its issue 508). A call that has failed has
        // a reason, which is there before.
        case SRTS_BROKEN: UInt32(bitPattern: srt_getrejectreason(id)) == SRT_REJ_UNKNOWN.rawValue ? .underWay : .failed
        default: .failed
        }
    }

    /// Why a call did not come about, as its operator should hear it.
    func failure(calling endpoint: SRTEndpoint, place: String) -> TransportError {
        let reason = srt_getrejectreason(id)
        switch UInt32(bitPattern: reason) {
        case SRT_REJ_UNKNOWN.rawValue, SRT_REJ_TIMEOUT.rawValue:
            return TransportError(.unreachable, place: place, "nobody answers there")
        case SRT_REJ_BADSECRET.rawValue:
            return TransportError(.refused, place: place, "the passphrase is wrong; give the peer's (passphrase=)")
        case SRT_REJ_UNSECURE.rawValue:
            let remedy =
                endpoint.passphrase == nil
                ? "the peer wants a passphrase; give it (passphrase=)"
                : "the peer has no passphrase; leave it out here, or set it there"
            return TransportError(.refused, place: place, remedy)
        default:
            let text = unsafe String(cString: srt_rejectreason_str(reason))
            return TransportError(.refused, place: place, "the peer refused: \(text) (code \(reason))")
        }
    }

    var localAddress: SocketAddress? { unsafe address(by: srt_getsockname) }
    var localPort: UInt16 { localAddress?.port ?? 0 }
    var peer: SocketAddress? { unsafe address(by: srt_getpeername) }

    private func address(
        by call: (SRTSOCKET, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<Int32>?) -> Int32
    ) -> SocketAddress? {
        unsafe SocketAddress.filled { pointer, length in
            var size = unsafe Int32(bitPattern: length.pointee)
            let code = unsafe call(id, pointer, &size)
            unsafe length.pointee = socklen_t(bitPattern: size)
            return code
        }
    }
}

extension SRTSocket {
    /// The settings of a live, non-blocking socket that both directions and both modes share.
    func configure(for endpoint: SRTEndpoint, early: Bool, tap: ArrivalTap?) throws(SRTFailure) {
        try set(SRTO_TRANSTYPE, SRTT_LIVE)
        try set(SRTO_RCVSYN, false)
        try set(SRTO_SNDSYN, false)
        // Our own messages have up to 1456 bytes. The peer has its own limit.
        if let size = endpoint.packetSize {
            try set(SRTO_MSS, Int32(size))
            try set(SRTO_PAYLOADSIZE, Int32(Message.largest))
        } else {
            try set(SRTO_PAYLOADSIZE, Int32(0))
        }
        // A listener may serve several legs: each caller's socket is configured when it is known whom it calls.
        if endpoint.mode != .listener { try Self.configure(id, for: endpoint) }
        if endpoint.mode != .listener, let streamID = endpoint.streamID { try set(SRTO_STREAMID, streamID) }
        if endpoint.mode == .rendezvous { try set(SRTO_RENDEZVOUS, true) }
        try Self.setIngest(early: early, on: id, tap: tap)
    }

    /// The settings of one connection; possible until the handshake is answered.
    static func configure(_ id: SRTSOCKET, for endpoint: SRTEndpoint) throws(SRTFailure) {
        if let latency = endpoint.latency { try set(SRTO_LATENCY, Int32(latency.count / 1_000_000), on: id) }
        if let passphrase = endpoint.passphrase { try set(SRTO_PASSPHRASE, passphrase.text, on: id) }
        if let length = endpoint.keyLength { try set(SRTO_PBKEYLEN, Int32(length), on: id) }
    }

    /// Chooses when messages become readable; possible until the handshake is answered.
    /// - Parameters:
    ///   - windowAsked: what the peer wants, in milliseconds, as far as it is known.
    ///   - signal: wakes the socket's own reader; nil for the tap's signal.
    static func setIngest(
        early: Bool, windowAsked: Int32 = 0, on id: SRTSOCKET, tap: ArrivalTap?, raising signal: ReaderSignal? = nil
    ) throws(SRTFailure) {
        try set(SRTO_TSBPDMODE, !early, on: id)
        // With TSBPD off and this left on, an outage wedges the connection for good when the sender marks its messages as
        // ordered: libsrt waits for ever for the packets that the sender has dropped. In a listener's callback the option
        // comes too late; there the completed handshake says the same.
        try set(SRTO_TLPKTDROP, !early, on: id)
        var window: Int32 = 0
        var length = Int32(MemoryLayout<Int32>.size)
        guard unsafe srt_getsockflag(id, SRTO_RCVLATENCY, &window, &length) != SRT_ERROR else { throw .last }
        tap?.open(id, requesting: early ? max(window, windowAsked) : nil, raising: signal)
    }
}
