import CSRT
import CSRTArrival
import Glibc
import Media
import Packets

/// Wakes the thread that reads from a leg. Thread-safe.
@safe final class ReaderSignal: Sendable {
    // Safe to share: the C functions are thread-safe, and the signal lives as long as this object.
    nonisolated(unsafe) fileprivate let pointer = unsafe burnish_srt_signal_create()!

    deinit { unsafe burnish_srt_signal_release(pointer) }

    /// How often the signal has been raised. Wraps.
    var count: UInt32 { unsafe burnish_srt_signal_count(pointer) }

    func raise() { unsafe burnish_srt_signal_raise(pointer) }

    /// Sleeps until the count differs from `seen` or the time comes; at times for less.
    func wait(_ seen: UInt32, until limit: MonotonicTime) {
        unsafe burnish_srt_signal_wait(pointer, seen, limit.nanoseconds)
    }
}

/// What happens on one of libsrt's UDP sockets (`CSRTArrival`): when packets came, that libsrt has filed them, and what
/// handshakes say. Thread-safe.
@safe final class ArrivalTap: Sendable {
    // Safe to share: the C functions are thread-safe, and the tap lives as long as this object.
    nonisolated(unsafe) private let pointer: OpaquePointer

    /// - Parameters:
    ///   - signal: raised whenever libsrt has filed a datagram for a socket that has no signal of its own.
    ///   - fault: breaks the tap from the beginning. For tests.
    init(raising signal: ReaderSignal?, fault: burnish_srt_fault = burnish_srt_fault_none) {
        unsafe pointer = burnish_srt_tap_create(signal?.pointer)
        self.break(fault)
    }

    deinit { unsafe burnish_srt_tap_retire(pointer) }

    /// Breaks the tap on purpose. For tests.
    func `break`(_ fault: burnish_srt_fault) { unsafe burnish_srt_tap_break(pointer, fault) }

    /// From now on the tap sees the UDP socket that libsrt has bound to this address.
    func attach(to address: SocketAddress) {
        unsafe address.withSockaddr { unsafe burnish_srt_tap_attach(pointer, $0, $1) }
    }

    /// Opens a memory for an SRT socket, before its handshake goes out.
    /// - Parameters:
    ///   - window: its handshakes ask for source times, for this window in milliseconds at least, and for no
    ///   drops; nil where they are to say what libsrt says.
    ///   - signal: wakes the socket's own reader; nil for the tap's signal.
    /// - Returns: false when all memories belong to connections.
    @discardableResult
    func open(_ id: SRTSOCKET, requesting window: Int32?, raising signal: ReaderSignal? = nil) -> Bool {
        unsafe burnish_srt_tap_open(pointer, id, window ?? -1, signal?.pointer)
    }

    /// Keeps a connection's memory from being forgotten for callers that come later, or no longer.
    func pin(_ id: SRTSOCKET, _ isPinned: Bool = true) { unsafe burnish_srt_tap_pin(pointer, id, isPinned) }

    /// The other end's number of the connection; nil while it is not known.
    func peerSocket(of id: SRTSOCKET) -> UInt32? {
        let number = unsafe burnish_srt_tap_peer_socket(pointer, id)
        return number == 0 ? nil : number
    }

    /// From now on callers' handshakes that come too fast are dropped before libsrt. To be called before ``attach(to:)``.
    func limitHandshakes() { unsafe burnish_srt_tap_limit_handshakes(pointer) }

    /// How many handshakes came too fast.
    var handshakesDropped: Int64 { unsafe burnish_srt_tap_handshakes_dropped(pointer) }

    /// Whether the socket has a memory here.
    func knows(_ id: SRTSOCKET) -> Bool { unsafe burnish_srt_tap_has(pointer, id) }

    /// The window that ``open(_:requesting:)`` was called with, in milliseconds, or -1.
    func windowRequested(by id: SRTSOCKET) -> Int32 { unsafe burnish_srt_tap_window_requested(pointer, id) }

    /// The window that the listener settled on for its caller `id`, or that the other side of a rendezvous asked for, in
    /// milliseconds, or -1.
    func windowOfPeer(of id: SRTSOCKET) -> Int32 { unsafe burnish_srt_tap_window_of_peer(pointer, id) }

    /// A data packet of one of the last 8192 that came for the socket; nil when it is not known.
    func packet(_ sequence: Int32, of id: SRTSOCKET) -> burnish_srt_packet? {
        var packet = burnish_srt_packet()
        return unsafe burnish_srt_tap_find(pointer, id, sequence, &packet) ? packet : nil
    }

    /// How many packets the message has whose last packet this is, as far as they are known; at least 1.
    func packets(ofMessageEndingWith sequence: Int32, of id: SRTSOCKET) -> Int {
        Int(unsafe burnish_srt_tap_message_packets(pointer, id, sequence))
    }
}
