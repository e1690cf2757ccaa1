import CSRT
import CSRTArrival
import Endpoint
import Glibc
import Media
import Synchronization

/// A listening SRT socket. ``CallAdmission`` decides during the handshake who is admitted, and keeps who was refused.
/// Used by one thread; libsrt's own thread asks the admission.
final class SRTListener: Sendable {
    private let socket: SRTSocket
    private let admission: CallAdmission
    /// Accepted by libsrt, not yet handed out by ``accept()``.
    private let next = Atomic<SRTSOCKET>(SRT_INVALID_SOCK)

    let tap: ArrivalTap
    let port: UInt16

    /// Binds and listens.
    /// - Parameters:
    ///   - readingEarly: how callers are read until ``admit(readingEarly:to:)`` says otherwise: one may come at once.
    ///   - tap: sees the listener's UDP socket, which its connections share.
    init(
        _ endpoint: SRTEndpoint, place: String, readingEarly: Bool, tap: ArrivalTap, health: ArrivalHealth = .shared
    ) throws(TransportError) {
        let address = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port, place: place)
        do throws(SRTFailure) {
            let socket = try SRTSocket()
            let admission = CallAdmission(
                hasPassphrase: endpoint.passphrase != nil, wantedStreamID: endpoint.streamID,
                rules: CallAdmission.Rules(readingEarly: readingEarly, place: .free), tap: tap, health: health)
            try socket.configure(for: endpoint, early: false, tap: nil)
            if address.family == AF_INET6 { try socket.set(SRTO_IPV6ONLY, Int32(address.isAnyIPv6 ? 0 : 1)) }
            unsafe try socket.use(address, with: srt_bind)
            guard let bound = socket.localAddress else { throw .last }
            tap.attach(to: bound)
            port = bound.port
            // Never released: libsrt's thread may be inside the callback while the socket is closed. One per listener.
            let opaque = unsafe Unmanaged.passRetained(admission).toOpaque()
            unsafe srt_listen_callback(socket.id, judgeCaller, opaque)
            guard srt_listen(socket.id, 4) != SRT_ERROR else { throw .last }
            self.socket = socket
            self.admission = admission
            self.tap = tap
        } catch {
            throw TransportError(.cannotBind, place: place, "cannot listen there: \(error.text)")
        }
    }

    deinit {
        let unclaimed = next.load(ordering: .acquiring)
        if unclaimed >= 0 { srt_close(unclaimed) }
        admission.close()
    }

    /// The place that one caller at a time has.
    enum Place {
        /// The next caller gets it.
        case free
        /// Others are refused at once.
        case taken
        /// A peer has it, was heard of at this time or later, and loses it when silent for too long. Others get no answer
        /// until the peer is heard of again, which refuses them, or has lost the place.
        case held(heard: MonotonicTime)
    }

    /// How callers are met from now on. While an admitted one waits for ``accept()``, a free place is not given to another.
    func admit(readingEarly: Bool, to place: Place) {
        admission.rules.withLock { $0 = CallAdmission.Rules(readingEarly: readingEarly, place: place) }
    }

    /// How many callers are without an answer. For tests.
    var callersUnanswered: Int { admission.unanswered }

    /// Whether a caller has been admitted that ``accept()`` will return.
    var someoneWaits: Bool {
        if next.load(ordering: .relaxed) < 0 {
            let id = srt_accept(socket.id, nil, nil)
            if id >= 0 { next.store(id, ordering: .relaxed) }
        }
        return next.load(ordering: .relaxed) >= 0
    }

    /// An admitted caller, and whether it is read early; does not wait. It may have come long ago: its socket says how it
    /// was met. It has the place from now on, and has been heard of.
    func accept() -> Caller? {
        guard someoneWaits else { return nil }
        // Changes the place first. Otherwise another caller would be admitted meanwhile, and refused again.
        admission.rules.withLock { $0.place = .held(heard: .now()) }
        return claimNext()
    }

    private func claimNext() -> Caller {
        let id = next.exchange(SRT_INVALID_SOCK, ordering: .relaxed)
        admission.recordAccepted(id)
        let connection = SRTSocket(adopting: id)
        let early = connection.integer(SRTO_TSBPDMODE) == 0
        return Caller(connection: connection, early: early, windowAsked: early ? tap.windowRequested(by: id) : -1)
    }

    /// Disconnects an admitted caller after all.
    func dismiss() {
        guard someoneWaits else { return }
        admission.recordTurnedAway(claimNext().connection.peer?.description)
    }

    struct Caller: ~Copyable {
        let connection: SRTSocket
        /// Whether it is read with TSBPD off.
        let early: Bool
        /// Where it is read early: the larger one of our window and the one that it asked for, in milliseconds, or -1.
        let windowAsked: Int32
    }

    /// Who was refused since the last call, and why.
    func refusals(now: MonotonicTime = .now()) -> [String] { admission.refusals(now: now) }
}

private func judgeCaller(
    _ opaque: UnsafeMutableRawPointer?, _ candidate: SRTSOCKET, _: Int32, _ peer: UnsafePointer<sockaddr>?,
    _ streamID: UnsafePointer<CChar>?
) -> Int32 {
    guard let opaque = unsafe opaque else { return -1 }
    let admission = unsafe Unmanaged<CallAdmission>.fromOpaque(opaque).takeUnretainedValue()
    var from: SocketAddress?
    if let peer = unsafe peer {
        let isIPv6 = unsafe Int32(peer.pointee.sa_family) == AF_INET6
        let length = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        from = unsafe SocketAddress(copying: peer, length: socklen_t(length))
    }
    let wanted = unsafe streamID.map { unsafe String(cString: $0) } ?? ""
    return admission.judge(candidate, from: from?.description ?? CallAdmission.unknown, streamID: wanted) ? 0 : -1
}
