import Media
import Testing

@testable import WebRTC

/// A port with its thread, and peers on sockets of their own.
struct PortLoopbackTests {
    static let timeout = Nanoseconds.seconds(60)

    /// A peer on a socket.
    struct Far: ~Copyable {
        let socket: PortSocket
        let peer: TestPeer
        var port: PeerAddress

        init(_ role: DTLSRole, _ local: PeerAddress, at target: PeerAddress, fingerprint: Fingerprint) throws {
            socket = try PortSocket(boundTo: local)
            self.port = target
            peer = TestPeer(role, to: fingerprint, at: socket.local)
        }

        /// Another socket of a peer.
        init(of peer: TestPeer, _ local: PeerAddress, at target: PeerAddress) throws {
            socket = try PortSocket(boundTo: local)
            (self.port, self.peer) = (target, peer)
        }

        func send(_ datagram: [UInt8]) { _ = datagram.withUnsafeBytes { unsafe socket.send($0, to: port) } }

        /// Answers what comes until the condition holds or the time is over.
        func run(until condition: () -> Bool) -> Bool {
            let limit = MonotonicTime.now() + PortLoopbackTests.timeout
            var bytes = [UInt8](repeating: 0, count: 2048)
            while !condition() {
                guard .now() < limit else { return false }
                let arrived = bytes.withUnsafeMutableBytes { unsafe socket.receive(into: $0) }
                if let arrived {
                    for datagram in peer.receive(Array(bytes[..<arrived.byteCount])) { send(datagram) }
                } else {
                    socket.wait(until: .now() + .milliseconds(50))
                    if peer.role == .client, peer.state == .pending, !peer.answers.isEmpty {
                        for datagram in peer.advance() { send(datagram) }
                    }
                }
            }
            return true
        }
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1", DTLSRole.client), ("127.0.0.1", "127.0.0.1", .server), ("::1", "::1", .client),
        // One socket for both families; the peer is known by its IPv4 address.
        ("::", "127.0.0.1", .client),
    ]) func aCallOverSockets(local: String, far: String, role: DTLSRole) throws {
        let identity = try #require(DTLSIdentity())
        let port = try WebRTCPort(.init(local: PeerAddress(host: local, port: 0)!), identity: identity)
        port.start()
        defer { port.close() }
        let target = PeerAddress(host: far, port: port.local.port)!
        let caller = try Far(role, PeerAddress(host: far, port: 0)!, at: target, fingerprint: identity.fingerprint)
        let receiver = RecordingReceiver()
        let (peer, answer) = try port.add(caller.peer.request, reachableAt: target, receiver: receiver)
        #expect(answer.candidates.first == target && answer.fingerprint == identity.fingerprint)
        caller.peer.remote = answer.credentials
        caller.send(caller.peer.check())
        let far = caller.peer
        #expect(caller.run { far.state == .connected && !receiver.changes.isEmpty })
        #expect(receiver.changes == [.connected(caller.socket.local, .aeadAES128GCM)])

        for number in 0..<100 { caller.send(far.protect(.rtp, TestPeer.rtp(sequence: UInt16(number)))) }
        #expect(caller.run { receiver.packetCount == 100 })
        #expect(port.statistics(of: peer)?.packets == 100)

        var buffer = TestPeer.rtp(sequence: 3, source: 9) + [UInt8](repeating: 0, count: Peer.trailerRoom)
        let count = buffer.count - Peer.trailerRoom
        #expect(buffer.withUnsafeMutableBytes { unsafe peer.send(.rtp, $0, count: count) } == .sent)
        #expect(caller.run { far.packets.last?.bytes == TestPeer.rtp(sequence: 3, source: 9) })

        let silence = try #require(port.silence(of: peer))
        #expect(silence < Self.timeout)
        port.close(peer)
        #expect(caller.run { far.state == .closed && receiver.changes.last == .ended(.closedHere) })
        #expect(port.peerCount == 0 && port.silence(of: peer) == nil)
    }

    /// Peers elsewhere can do nothing with the loopback address.
    @Test func theLoopbackAddressIsNamedToWhoCameByIt() throws {
        let port = try WebRTCPort(.init(local: PeerAddress(ipv4: 0, port: 0)), identity: try #require(DTLSIdentity()))
        defer { port.close() }
        let loopback = PeerAddress(ipv4: 0x7f00_0001, port: port.local.port)
        func named(_ reachableAt: PeerAddress?) throws -> [PeerAddress] {
            let far = TestPeer(.client, to: DTLSIdentity()!.fingerprint, at: port.local)
            return try port.add(far.request, reachableAt: reachableAt, receiver: RecordingReceiver()).answer.candidates
        }
        #expect(try named(loopback).first == loopback)
        #expect(try !named(PeerAddress(ipv4: 0xc000_0201, port: 80)).contains(loopback))
        // Alone, it is better than none.
        let others = try named(nil)
        #expect(!others.isEmpty && (others == [loopback] || !others.contains(loopback)))
    }

    /// The driver may be the caller's own thread.
    @Test func aTurnReturns() throws {
        let port = try WebRTCPort(
            .init(local: PeerAddress(host: "127.0.0.1", port: 0)!), identity: try #require(DTLSIdentity()))
        port.interrupt()
        port.turn(until: .now() + Self.timeout)
        port.turn(until: .now())
        port.close()
        #expect(port.local.port != 0)
        let far = TestPeer(.client, to: DTLSIdentity()!.fingerprint, at: port.local)
        #expect(throws: PeerRefusal.closed) { try port.add(far.request, receiver: RecordingReceiver()) }
    }

    @Test func aPortInUseIsSaidSo() throws {
        let identity = try #require(DTLSIdentity())
        let port = try WebRTCPort(.init(local: PeerAddress(host: "127.0.0.1", port: 0)!), identity: identity)
        #expect { _ = try WebRTCPort(.init(local: port.local), identity: identity) } throws: {
            "\($0)".contains("cannot listen there")
        }
        withExtendedLifetime(port) {}
    }

    @Test func whatIsAdvertisedIsNamed() throws {
        let local = PeerAddress(host: "127.0.0.1", port: 0)!
        let outside = PeerAddress(host: "192.0.2.7", port: 0)!
        let port = try WebRTCPort(.init(local: local, advertised: [outside]), identity: try #require(DTLSIdentity()))
        defer { port.close() }
        let far = TestPeer(.client, to: DTLSIdentity()!.fingerprint, at: local)
        let answer = try port.add(far.request, receiver: RecordingReceiver()).answer
        #expect(answer.candidates == [PeerAddress(host: "192.0.2.7", port: port.local.port)!])
    }
}
