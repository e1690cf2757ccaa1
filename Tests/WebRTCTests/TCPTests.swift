import Glibc
import Media
import Testing

@testable import Packets
@testable import WebRTC

/// Calls by TCP: ICE's passive side (RFC 6544), with real sockets.
@Suite(.timeLimit(.minutes(5))) struct TCPTests {
    // MARK: Framing

    private func read(_ stream: [UInt8], cutAt cuts: [Int]) -> (packets: [[UInt8]], goesOn: Bool) {
        var reader = FrameReader()
        var packets: [[UInt8]] = []
        var goesOn = true
        var start = 0
        for end in cuts + [stream.count] where goesOn {
            goesOn = stream[start..<end].withUnsafeBytes { reader.read($0) { packets.append(Array($0)) } }
            start = end
        }
        return (packets, goesOn)
    }

    private static func framed(_ packet: [UInt8]) -> [UInt8] { [UInt8(packet.count >> 8), UInt8(packet.count & 255)] + packet }

    @Test func packetsAreCutOutOfAnyParts() {
        let packets: [[UInt8]] = [[1], [UInt8](repeating: 2, count: 300), [UInt8](repeating: 3, count: 2048), [4, 5]]
        let stream = packets.flatMap { Self.framed($0) }
        #expect(read(stream, cutAt: []) == (packets, true))
        #expect(read(stream, cutAt: Array(1..<stream.count)) == (packets, true))
        var random = SplitMix64(seed: 4)
        for _ in 0..<50 {
            let cuts = (0..<5).map { _ in Int(random.next() % UInt64(stream.count)) }.sorted()
            #expect(read(stream, cutAt: cuts) == (packets, true))
        }
    }

    /// An empty packet keeps a path open. One that nobody sends who means well ends the stream.
    @Test func emptyPacketsAreLeftOutAndLongOnesEndTheStream() {
        #expect(read([0, 0, 0, 0, 0, 1, 7], cutAt: [1, 3]) == ([[7]], true))
        #expect(read(Self.framed([9]) + [0x08, 0x01, 1, 2, 3], cutAt: []) == ([[9]], false))
        #expect(read([0xff, 0xff], cutAt: [1]).goesOn == false)
    }

    // MARK: Sockets

    private static func listener() throws -> SharedDescriptor {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var size: Int32 = 4096
        #expect(setsockopt(number, SOL_SOCKET, SO_SNDBUF, &size, 4) == 0)
        let address = SocketAddress(ipv4: 0x7f00_0001, port: 0)
        try #require(address.withSockaddr { bind(number, $0, $1) } == 0 && Glibc.listen(number, 64) == 0)
        return SharedDescriptor(Descriptor(owning: number))
    }

    /// A peer's end of a connection.
    private final class Client {
        let number: Int32
        var frames = FrameReader()

        init(_ port: UInt16) throws {
            let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            self.number = number
            let address = SocketAddress(ipv4: 0x7f00_0001, port: port)
            try #require(address.withSockaddr { connect(number, $0, $1) } == 0)
        }

        deinit { close(number) }

        var local: PeerAddress {
            var address = PeerAddress(SocketAddress.filled { getsockname(number, $0, $1) }!)
            address.isTCP = true
            return address
        }

        /// Whether the other side has closed. Takes no packet.
        var isClosed: Bool {
            var byte: UInt8 = 0
            let count = recv(number, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK))
            return count == 0 || count < 0 && errno != EAGAIN
        }

        func send(_ bytes: [UInt8]) { #expect(Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count) }

        /// The packets that come until the condition holds; nil when the other side has closed.
        func run(_ packet: ([UInt8]) -> Void, until condition: () -> Bool) -> Bool {
            var bytes = [UInt8](repeating: 0, count: 4096)
            while !condition() {
                var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, 20) > 0 else { continue }
                let count = recv(number, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return false }
                let goesOn = bytes[..<count].withUnsafeBytes { frames.read($0) { packet(Array($0)) } }
                #expect(goesOn)
            }
            return true
        }
    }

    /// The answer names the port behind those of UDP, the handshake and media go by the connection, and a slow reader loses packets
    /// and holds up nobody.
    @Test func aCallByTCP() throws {
        let identity = try #require(DTLSIdentity())
        let port = try WebRTCPort(
            .init(local: PeerAddress(ipv4: 0x7f00_0001, port: 0)), identity: identity, listener: try Self.listener())
        port.start()
        defer { port.close() }
        let receiver = RecordingReceiver()
        let far = TestPeer(.client, to: identity.fingerprint, at: port.local)
        let (peer, answer) = try port.add(far.request, receiver: receiver)
        let place = try #require(answer.candidates.last)
        #expect(place.isTCP && !answer.candidates[0].isTCP)
        #expect(answer.priority(ofCandidate: answer.candidates.count - 1) < answer.priority(ofCandidate: 0))
        let line = answer.attributes.last { $0.name == "candidate" }?.value
        #expect(line?.contains(" tcp ") == true && line?.hasSuffix(" typ host tcptype passive") == true)

        let client = try Client(place.port)
        far.remote = answer.credentials
        client.send(Self.framed(far.check()))
        let number = client.number
        let isUp = client.run { packet in
            for next in far.receive(packet) {
                let bytes = Self.framed(next)
                #expect(Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
            }
        } until: {
            far.state == .connected && !receiver.changes.isEmpty
        }
        #expect(isUp && receiver.changes == [.connected(client.local, .aeadAES128GCM)])
        for sequence in 1...50 as ClosedRange<UInt16> {
            client.send(Self.framed(far.protect(.rtp, TestPeer.rtp(sequence: sequence))))
        }
        #expect(client.run({ _ in }, until: { receiver.packetCount == 50 }))

        // Nothing is read for a while: the kernel's buffers are full, and nobody waits.
        var buffer = [UInt8](repeating: 0, count: 1200 + Peer.trailerRoom)
        var lost = 0
        var sequence: UInt16 = 0
        while lost < 100 {
            sequence &+= 1
            buffer.replaceSubrange(0..<12, with: TestPeer.rtp(sequence: sequence, source: 9, payload: []))
            if buffer.withUnsafeMutableBytes({ unsafe peer.send(.rtp, $0, count: 1200) }) != .sent { lost += 1 }
        }
        #expect(peer.statistics().packetsLost == 100)
        // Whole packets come of what was taken.
        let sent = peer.statistics().packetsSent
        var count = 0
        #expect(
            client.run(
                { packet in
                    _ = far.receive(packet)
                    count += 1
                }, until: { count >= sent - 1 }))
        #expect(far.packets.count >= sent - 1 && far.packets.allSatisfy { $0.bytes.count == 1200 })
        port.close(peer)
    }

    /// Who sends garbage, or nothing, is closed. Peers are not.
    @Test func connectionsOfNoUseAreClosed() throws {
        let datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(datagrams) }
        let listener = try TCPListener(try Self.listener(), beside: datagrams, Bell(), most: 3)
        let now = MonotonicTime.now()
        let known = Lock<Set<PeerAddress>>([])
        let packets = Lock(0)
        func isKnown(_ address: PeerAddress) -> Bool { known.withLock { $0.contains(address) } }
        func turn(until condition: () -> Bool) {
            while !condition() {
                listener.turn(at: now, { _, _ in packets.withLock { $0 += 1 } }, isKnown: isKnown)
            }
        }
        let good = try Client(listener.port)
        let address = good.local
        _ = known.withLock { $0.insert(address) }
        turn { listener.count == 1 }
        good.send(Self.framed([1, 2, 3]))
        turn { packets.withLock { $0 == 1 } }
        let garbage = try Client(listener.port)
        turn { listener.count == 2 }
        garbage.send([0xff, 0xff, 1])
        turn { listener.count == 1 }
        #expect(garbage.isClosed)

        // There is room for three. The oldest that is no peer's gives way to the fourth.
        let first = try Client(listener.port)
        turn { listener.count == 2 }
        let second = try Client(listener.port)
        turn { listener.count == 3 }
        let third = try Client(listener.port)
        turn { first.isClosed }
        #expect(listener.count == 3 && !second.isClosed && !third.isClosed && !good.isClosed)
        // Where all are peers the next is refused.
        let peers = [second.local, third.local]
        known.withLock { $0.formUnion(peers) }
        let next = try Client(listener.port)
        turn { next.isClosed }
        #expect(listener.count == 3)

        known.withLock { $0 = [address] }
        listener.tick(at: now + TCPListener.timeout, isKnown: isKnown)
        #expect(listener.count == 3)
        listener.tick(at: now + TCPListener.timeout + .seconds(1), isKnown: isKnown)
        #expect(listener.count == 1 && second.isClosed && third.isClosed && !good.isClosed)
        #expect([1, 2].withUnsafeBytes { listener.send($0, to: address) })
        listener.closeAll()
        #expect(listener.count == 0 && ![1, 2].withUnsafeBytes { listener.send($0, to: address) })
    }
}
