import Endpoint
import Glibc
import Media
import Packets

/// The connections that come to a listening TCP socket: ICE's passive side (RFC 6544), for peers whose network carries no UDP.
///
/// Anybody can connect. A connection from which no peer shows its password is closed after ``timeout``, and earlier where there are more
/// than `most`: the oldest one first. Connections of peers stay. Any thread sends, one thread does all else.
final class TCPListener: Sendable {
    /// A connection lives so long without a peer.
    static let timeout = Nanoseconds.seconds(10)
    /// So many bytes of a connection are read before others have their turn.
    private static let largestRead = 16 * 1024

    /// What the reading thread has of a connection.
    private final class Reading {
        let connection: TCPConnection
        var frames = FrameReader()
        /// When it was accepted, or last seen to be a peer's.
        var shown: MonotonicTime

        init(_ connection: TCPConnection, at now: MonotonicTime) { (self.connection, shown) = (connection, now) }
    }

    private struct State: ~Copyable {
        /// For the kernel: ``bellPlace``, ``datagramsPlace``, ``listenerPlace``, and behind them those of ``readings``.
        var waiting: [pollfd]
        var readings: [Reading] = []
        let buffer = AlignedMemory(byteCount: largestRead)
    }

    private static let bellPlace = 0
    private static let datagramsPlace = 1
    private static let listenerPlace = 2
    private static let firstPlace = 3

    private let listener: SharedDescriptor
    private let most: Int
    let port: UInt16
    /// It takes IPv4 alone.
    let isIPv4: Bool
    private let state: ThreadConfined<State>
    private let connections = Lock<[PeerAddress: TCPConnection]>([:])

    /// - Parameters:
    ///   - listener: a listening socket that does not block.
    ///   - datagrams: another socket. What comes to it ends ``wait(or:until:)``, and so does the bell.
    ///   - most: connections at a time.
    init(_ listener: SharedDescriptor, beside datagrams: Int32, _ bell: Bell, most: Int) throws(TransportError) {
        let number = listener.descriptor.number
        guard let local = unsafe SocketAddress.filled(by: { unsafe getsockname(number, $0, $1) }) else {
            throw TransportError(.system, place: "webrtc", "cannot listen by TCP: \(Descriptor.lastError)")
        }
        self.listener = listener
        self.most = most
        port = local.port
        isIPv4 = local.ipv6 == nil
        let waiting = [bell.number, datagrams, number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        state = ThreadConfined(State(waiting: waiting))
    }

    var count: Int { connections.withLock { $0.count } }

    /// Sends a packet to whoever is connected from there. Any thread; never waits.
    /// - Returns: false when the packet is lost, because nobody is or they read too slowly.
    func send(_ packet: UnsafeRawBufferPointer, to address: PeerAddress) -> Bool {
        guard let connection = connections.withLock({ $0[address] }) else { return false }
        return unsafe connection.send(packet)
    }

    // MARK: The reading thread

    /// Waits until something has come, or the bell is rung, or the time.
    func wait(or bell: Bell, until limit: MonotonicTime) {
        let left = max((limit - .now()).count, 0)
        state.use { state in
            if poll(&state, milliseconds: Int32(clamping: (left + 999_999) / 1_000_000)),
                state.waiting[Self.bellPlace].revents != 0
            {
                bell.silence()
            }
        }
    }

    private func poll(_ state: inout State, milliseconds: Int32) -> Bool {
        unsafe state.waiting.withUnsafeMutableBufferPointer {
            unsafe Glibc.poll($0.baseAddress!, UInt($0.count), milliseconds) > 0
        }
    }

    /// Reads what has come, a part of each connection, and takes a new one.
    /// - Parameters:
    ///   - packet: gets each packet.
    ///   - isKnown: whether a peer has shown its password from there.
    func turn(
        at now: MonotonicTime, _ packet: (_ packet: UnsafeMutableRawBufferPointer, _ sender: PeerAddress) -> Void,
        isKnown: (PeerAddress) -> Bool
    ) {
        state.use { state in
            guard poll(&state, milliseconds: 0) else { return }
            // The last one first: it takes the place of one that is closed.
            for place in state.readings.indices.reversed() where state.waiting[Self.firstPlace + place].revents != 0 {
                if unsafe !read(state.readings[place], state.buffer, packet) { close(place, &state) }
            }
            if state.waiting[Self.listenerPlace].revents != 0 { accept(&state, at: now, isKnown) }
        }
    }

    private func read(
        _ reading: Reading, _ buffer: borrowing AlignedMemory, _ packet: (UnsafeMutableRawBufferPointer, PeerAddress) -> Void
    ) -> Bool {
        let room = unsafe UnsafeMutableRawBufferPointer(start: buffer.pointer(), count: Self.largestRead)
        let address = reading.connection.address
        guard let count = unsafe reading.connection.read(into: room) else { return false }
        return unsafe reading.frames.read(UnsafeRawBufferPointer(rebasing: room[..<count])) { unsafe packet($0, address) }
    }

    private func accept(_ state: inout State, at now: MonotonicTime, _ isKnown: (PeerAddress) -> Bool) {
        var number: Int32 = -1
        let sender = unsafe SocketAddress.filled { name, length in
            number = unsafe Glibc.accept(listener.descriptor.number, name, length)
            return number < 0 ? -1 : 0
        }
        guard number >= 0, let sender else { return }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        var address = PeerAddress(sender)
        address.isTCP = true
        let connection = TCPConnection(owning: number, from: address)
        guard state.readings.count < most || closeOldest(&state, isKnown) else { return }
        state.readings.append(Reading(connection, at: now))
        state.waiting.append(pollfd(fd: number, events: Int16(POLLIN), revents: 0))
        connections.withLock { $0[address] = connection }
    }

    /// Closes the oldest connection that is no peer's.
    /// - Returns: whether there was one.
    private func closeOldest(_ state: inout State, _ isKnown: (PeerAddress) -> Bool) -> Bool {
        var oldest: Int?
        for place in state.readings.indices where !isKnown(state.readings[place].connection.address) {
            if oldest.map({ state.readings[place].shown < state.readings[$0].shown }) ?? true { oldest = place }
        }
        guard let oldest else { return false }
        close(oldest, &state)
        return true
    }

    private func close(_ place: Int, _ state: inout State) {
        let connection = state.readings[place].connection
        state.readings.swapAt(place, state.readings.count - 1)
        state.waiting.swapAt(Self.firstPlace + place, state.waiting.count - 1)
        state.readings.removeLast()
        state.waiting.removeLast()
        // Whoever sends just now holds it a little longer.
        shutdown(connection.number, Int32(SHUT_RDWR))
        _ = connections.withLock { $0.removeValue(forKey: connection.address) }
    }

    /// Sends what is left of packets, and closes connections that have been no peer's for too long.
    /// - Parameter isKnown: whether a peer has shown its password from there.
    func tick(at now: MonotonicTime, isKnown: (PeerAddress) -> Bool) {
        state.use { state in
            for place in state.readings.indices.reversed() {
                let reading = state.readings[place]
                reading.connection.flush()
                if isKnown(reading.connection.address) {
                    reading.shown = now
                } else if now - reading.shown > Self.timeout {
                    close(place, &state)
                }
            }
        }
    }

    func closeAll() {
        state.use { state in for place in state.readings.indices.reversed() { close(place, &state) } }
    }
}
