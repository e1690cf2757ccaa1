import Endpoint
import Glibc
import Media

/// Carries a session's packets over plain UDP, with sockets of its own for each track. Feedback goes to where the sender's
/// packets really come from: to its RTCP where that has come, else to where its stream comes from.
final class UDPCallWire: RTPWire {
    private let sockets: [CallSocket]
    private let bell = Bell()
    /// Belongs to the thread that reads.
    private let turn: ThreadConfined<Turn>

    private struct Turn {
        /// Where what was read last came from.
        var last: (track: Int, isControl: Bool, sender: SocketAddress)?
        /// The place of the socket that is read next, two of each track. None is read again before the others had their turn.
        var next = 0
        /// Where each track's stream comes from.
        var peers: [SocketAddress?]
    }

    private let numbers: [Int32]

    init(_ tracks: [RTPTrack], _ sockets: [CallSocket]) {
        call = RTPCall(number: 0, tracks: tracks)
        self.sockets = sockets
        numbers = sockets.flatMap(\.numbers)
        turn = ThreadConfined(Turn(peers: sockets.map { _ in nil }))
    }

    var place: ListeningPlace? { sockets[0].stream.place("rtp") }
    var localPorts: [UInt16] { sockets.map { $0.stream.localPort } }
    let call: RTPCall
    var callNumber: Int { 0 }
    var keepsOrder: Bool { numbers.count == 1 }
    /// Anybody can send to a port.
    var isAuthentic: Bool { false }
    var peer: String { sockets.lazy.compactMap { $0.peer.withLock { $0.stream } }.first.map { "\($0)" } ?? "" }
    func interrupt() { bell.ring() }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> RTPReading? {
        let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        let first = turn.use { $0.next }
        for step in 0..<2 * sockets.count {
            let place = (first + step) % (2 * sockets.count)
            let (track, isControl) = (place / 2, place % 2 == 1)
            let socket = sockets[track]
            guard let came = unsafe isControl ? socket.receiveControl(into: buffer) : socket.stream.receive(none, buffer) else {
                continue
            }
            if isControl, !came.isCut {
                unsafe socket.observe(UnsafeRawBufferPointer(rebasing: buffer[..<came.byteCount]), from: came.sender)
            }
            let isFromPeer = turn.use {
                ($0.last, $0.next) = ((track, isControl, came.sender), place + 1)
                return $0.peers[track] == came.sender
            }
            return RTPReading(
                byteCount: came.isCut ? 0 : came.byteCount, arrival: came.time, track: track, isFromPeer: isFromPeer)
        }
        return nil
    }

    func confirm() {
        let confirmed = turn.use { turn in
            if let last = turn.last, !last.isControl, turn.peers[last.track] != last.sender {
                turn.peers[last.track] = last.sender
            }
            return turn.last
        }
        guard let (track, isControl, sender) = confirmed else { return }
        sockets[track].peer.withLock { peer in
            if isControl {
                if peer.control != sender { peer.control = sender }
            } else if peer.stream != sender {
                peer.stream = sender
            }
        }
    }

    func sendFeedback(_ packet: UnsafeRawBufferPointer, track: Int) {
        guard sockets.indices.contains(track) else { return }
        _ = unsafe sockets[track].send(packet, isControl: true)
    }

    func wait(until limit: MonotonicTime) -> Bool {
        waitForDatagrams(numbers, or: bell, until: limit)
    }
}

extension CallSocket {
    /// The descriptors to wait for.
    var numbers: [Int32] {
        var all = [stream.number]
        if let number = controlNumber { all.append(number) }
        return all
    }
}

/// Waits until one of some sockets has something to read.
/// - Returns: false when the bell was rung.
func waitForDatagrams(_ sockets: [Int32], or bell: Bell, until limit: MonotonicTime) -> Bool {
    unsafe withUnsafeTemporaryAllocation(of: pollfd.self, capacity: sockets.count + 1) { descriptors in
        for index in 0...sockets.count {
            let number = index < sockets.count ? sockets[index] : bell.number
            unsafe descriptors.initializeElement(at: index, to: pollfd(fd: number, events: Int16(POLLIN), revents: 0))
        }
        while true {
            let left = max((limit - .now()).count, 0)
            let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
            let count = unsafe poll(descriptors.baseAddress, nfds_t(descriptors.count), milliseconds)
            if count < 0 && errno == EINTR && MonotonicTime.now() < limit { continue }
            guard count > 0, unsafe descriptors[sockets.count].revents != 0 else { return true }
            bell.silence()
            return false
        }
    }
}
