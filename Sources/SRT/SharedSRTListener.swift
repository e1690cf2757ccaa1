import CSRT
import CSRTArrival
import Endpoint
import Glibc
import Media
import Packets

/// A listening SRT socket of this process with the legs that share it. Its callers' stream IDs say which leg they want. Thread-safe.
///
/// A process can bind a UDP port once. So legs that name the same address find the socket that is there.
final class SharedSRTListener: Sendable {
    /// Sees the listener's UDP socket, which its connections share.
    let tap: ArrivalTap
    let address: SocketAddress
    private let socket: SRTSocket
    private let router: CallerRouter

    /// So many legs may share a port: each has a connection, and at times the next one.
    static let mostLegs = Int(burnish_srt_most_pinned) / 2

    private static let open = Lock<[SharedSRTListener]>([])

    /// Binds and listens, or joins the legs that listen on this address already.
    /// - Throws: `cannotBind` also where callers could not tell this leg from one that is there.
    static func join(
        _ leg: CallerAdmission, address: SocketAddress, place: String, fault: burnish_srt_fault
    ) throws(TransportError) -> SharedSRTListener {
        try open.withLock { (open) throws(TransportError) -> SharedSRTListener in
            if address.port != 0, let listener = open.first(where: { $0.address == address }) {
                leg.open(listener.tap)
                try listener.router.add(leg, place: place)
                return listener
            }
            do throws(SRTFailure) {
                let listener = try SharedSRTListener(leg, address: address, fault: fault)
                open.append(listener)
                return listener
            } catch {
                throw TransportError(.cannotBind, place: place, "cannot listen there: \(error.text)")
            }
        }
    }

    private init(_ leg: CallerAdmission, address: SocketAddress, fault: burnish_srt_fault) throws(SRTFailure) {
        let tap = ArrivalTap(raising: nil, fault: fault)
        tap.limitHandshakes()
        let socket = try SRTSocket()
        try socket.configure(for: leg.endpoint, early: false, tap: nil)
        if address.family == AF_INET6 { try socket.set(SRTO_IPV6ONLY, Int32(address.isAnyIPv6 ? 0 : 1)) }
        unsafe try socket.use(address, with: srt_bind)
        guard let bound = socket.localAddress else { throw .last }
        let router = CallerRouter(leg)
        leg.open(tap)
        tap.attach(to: bound)
        // Never released: libsrt's thread may be inside the callback while the socket is closed. One per listener.
        let opaque = unsafe Unmanaged.passRetained(router).toOpaque()
        unsafe srt_listen_callback(socket.id, judgeCaller, opaque)
        guard srt_listen(socket.id, Int32(Self.mostLegs)) != SRT_ERROR else { throw .last }
        self.tap = tap
        self.address = bound
        self.socket = socket
        self.router = router
    }

    /// The leg is closed. The last one closes the port.
    func leave(_ leg: CallerAdmission) {
        Self.open.withLock { open in
            guard router.remove(leg) else { return }
            open.removeAll { $0 === self }
            // Here and not in `deinit`: the next leg may bind the same port as soon as the lock is free.
            socket.close()
        }
    }

    /// How many handshakes the port has dropped because they came too fast. One leg reports them, so that sums are right.
    func handshakesDropped(reportedBy leg: CallerAdmission) -> Int64 { router.isFirst(leg) ? tap.handshakesDropped : 0 }

    /// Hands the connections that libsrt has accepted to the legs that admitted them.
    func deliver() {
        while true {
            let id = srt_accept(socket.id, nil, nil)
            guard id >= 0 else { return }
            guard let leg = router.owner(of: id), leg.deliver(id) else {
                srt_close(id)
                continue
            }
        }
    }
}

/// Finds the leg that a caller wants, on libsrt's thread. Thread-safe.
final class CallerRouter: Sendable {
    private struct Admitted {
        var id: SRTSOCKET
        var leg: CallerAdmission
    }

    private struct State {
        var legs: [CallerAdmission]
        /// Those that libsrt has not handed over yet, oldest first. Most of them never come: their passphrase was wrong.
        var admitted: [Admitted] = []
        var rate = CallerRate()
    }

    private static let mostAdmitted = 256
    private let state: Lock<State>

    init(_ leg: CallerAdmission) { state = Lock(State(legs: [leg])) }

    func add(_ leg: CallerAdmission, place: String) throws(TransportError) {
        try state.withLock { (state) throws(TransportError) in
            guard leg.endpoint.streamID != nil, state.legs.allSatisfy({ $0.endpoint.streamID != nil }) else {
                throw TransportError(
                    .cannotBind, place: place, "another stream listens there; give each a streamid, or another port")
            }
            guard !state.legs.contains(where: { $0.isNamed(like: leg) }) else {
                throw TransportError(
                    .cannotBind, place: place, "another stream listens there with the same streamid; give it another one")
            }
            guard state.legs.count < SharedSRTListener.mostLegs else {
                throw TransportError(
                    .cannotBind, place: place,
                    "\(SharedSRTListener.mostLegs) streams listen there, which is the most; give another port")
            }
            state.legs.append(leg)
        }
    }

    /// - Returns: whether it was the last.
    func remove(_ leg: CallerAdmission) -> Bool {
        state.withLock { state in
            state.legs.removeAll { $0 === leg }
            state.admitted.removeAll { $0.leg === leg }
            return state.legs.isEmpty
        }
    }

    func isFirst(_ leg: CallerAdmission) -> Bool { state.withLock { $0.legs.first === leg } }

    /// The leg that has admitted a caller; nil when it is closed.
    func owner(of id: SRTSOCKET) -> CallerAdmission? {
        state.withLock { state in
            guard let index = state.admitted.firstIndex(where: { $0.id == id }) else { return nil }
            return state.admitted.remove(at: index).leg
        }
    }

    /// Whether the caller may go on with the handshake.
    func judge(_ id: SRTSOCKET, from peer: SocketAddress?, streamID: String) -> Bool {
        let legs = state.withLock { $0.legs }
        let from = peer?.description ?? CallerAdmission.unknown
        let choice = CallerRouting.choose(
            streamID, among: legs.map { CallerRouting.Candidate(streamID: $0.endpoint.streamID, direction: $0.direction) })
        switch choice {
        case .refused(let reason):
            srt_setrejectreason(id, reason.code)
            // It belongs to none of them. The oldest one reports it.
            legs.first?.record(reason, from: from)
            return false
        case .leg(let index):
            let leg = legs[index]
            let host = peer?.host ?? CallerAdmission.unknown
            let isAdmitted = leg.judge(id, from: from, host: host) {
                state.withLock { $0.rate.admits(host, at: .now()) }
            }
            guard isAdmitted else { return false }
            state.withLock { state in
                if state.admitted.count == Self.mostAdmitted { state.admitted.removeFirst() }
                state.admitted.append(Admitted(id: id, leg: leg))
            }
            return true
        }
    }
}

private func judgeCaller(
    _ opaque: UnsafeMutableRawPointer?, _ candidate: SRTSOCKET, _: Int32, _ peer: UnsafePointer<sockaddr>?,
    _ streamID: UnsafePointer<CChar>?
) -> Int32 {
    guard let opaque = unsafe opaque else { return -1 }
    let router = unsafe Unmanaged<CallerRouter>.fromOpaque(opaque).takeUnretainedValue()
    var from: SocketAddress?
    if let peer = unsafe peer {
        let isIPv6 = unsafe Int32(peer.pointee.sa_family) == AF_INET6
        let length = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        from = unsafe SocketAddress(copying: peer, length: socklen_t(length))
    }
    let wanted = unsafe streamID.map { unsafe String(cString: $0) } ?? ""
    return router.judge(candidate, from: from, streamID: wanted) ? 0 : -1
}
