import CSRT
import Endpoint
import Media
import Packets

/// One leg's part of a listening SRT port. ``CallerAdmission`` decides during the handshake who is admitted, and keeps who was
/// refused. Used by one thread.
final class SRTListener: Sendable {
    private let shared: SharedSRTListener
    private let admission: CallerAdmission

    /// Sees the packets of all connections of the port.
    var tap: ArrivalTap { shared.tap }
    var port: UInt16 { shared.address.port }
    var address: SocketAddress { shared.address }

    /// Binds and listens, or joins the other legs of this process that listen there.
    /// - Parameters:
    ///   - readingEarly: how callers are read until ``admit(readingEarly:to:)`` says otherwise: one may come at once.
    ///   - signal: raised whenever libsrt has filed a datagram of one of the leg's connections.
    init(
        _ endpoint: SRTEndpoint, direction: SRTLink.Direction = .input, place: String, readingEarly: Bool,
        signal: ReaderSignal, health: ArrivalHealth = .shared
    ) throws(TransportError) {
        _ = SRTLibrary.started
        let address = try NameLookup.find(host: endpoint.host, port: endpoint.port, place: place)
        admission = CallerAdmission(
            endpoint, direction: direction, rules: CallerAdmission.Rules(readingEarly: readingEarly, place: .free),
            signal: signal, health: health)
        shared = try SharedSRTListener.join(admission, address: address, place: place, fault: health.fault)
    }

    deinit {
        shared.leave(admission)
        admission.close()
    }

    /// Whether there is a place for the next caller.
    enum Place {
        /// So many callers get one.
        case room(Int)
        /// Others are refused at once.
        case taken
        /// A peer has it, was heard of at this time or later, and loses it when silent for too long. Others get no answer
        /// until the peer is heard of again, which refuses them, or has lost the place. Where there are several peers, all were
        /// heard of.
        case held(heard: MonotonicTime)

        /// The next caller gets the only place.
        static var free: Place { .room(1) }
    }

    /// How callers are met from now on. While an admitted one waits for ``accept()``, a free place is not given to another.
    func admit(readingEarly: Bool, to place: Place) {
        admission.rules.withLock { $0 = CallerAdmission.Rules(readingEarly: readingEarly, place: place) }
    }

    /// How many callers are without an answer. For tests.
    var callersUnanswered: Int { admission.unanswered }

    /// Whether a caller has been admitted that ``accept()`` will return.
    var someoneWaits: Bool {
        shared.deliver()
        return admission.hasArrived
    }

    /// An admitted caller, and whether it is read early; does not wait. It may have come long ago: its socket says how it
    /// was met. It has a place from now on, and has been heard of.
    /// - Parameter place: what is left for others; nil where it has the only place.
    func accept(leaving place: Place? = nil) -> Caller? {
        guard someoneWaits else { return nil }
        // Changes the place first. Otherwise another caller would be admitted meanwhile, and refused again.
        admission.rules.withLock { $0.place = place ?? .held(heard: .now()) }
        return claimNext()
    }

    private func claimNext() -> Caller? {
        guard let id = admission.claimArrived() else { return nil }
        let connection = SRTSocket(adopting: id)
        let early = connection.integer(SRTO_TSBPDMODE) == 0
        return Caller(connection: connection, early: early, windowAsked: early ? tap.windowRequested(by: id) : -1)
    }

    /// Disconnects an admitted caller after all.
    func dismiss() {
        guard someoneWaits, let caller = claimNext() else { return }
        admission.record(.busy, from: caller.connection.peer?.description ?? CallerAdmission.unknown)
        tap.pin(caller.connection.id, false)
    }

    struct Caller: ~Copyable {
        let connection: SRTSocket
        /// Whether it is read with TSBPD off.
        let early: Bool
        /// Where it is read early: the larger one of our window and the one that it asked for, in milliseconds, or -1.
        let windowAsked: Int32
    }

    /// Refuses callers from this host for so long.
    func bar(_ host: String, until time: MonotonicTime) { admission.bar(host, until: time) }

    /// Who was refused since the last call, and why.
    func refusals(now: MonotonicTime = .now()) -> [String] { admission.refusals(now: now) }

    /// How many were refused so far.
    var refusalCounts: RefusalCounts { admission.counts }

    /// How many handshakes the port has dropped because they came too fast; zero on all its legs but the oldest.
    var handshakesDropped: Int64 { shared.handshakesDropped(reportedBy: admission) }
}
