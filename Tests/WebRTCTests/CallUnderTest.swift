import Media
import Testing

@testable import WebRTC

/// A port's core and one peer, with a network between them that can lose datagrams. Time is what the test says.
final class CallUnderTest {
    static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    static let address = PeerAddress(ipv4: 0x7f00_0001, port: 5000)

    let identity = DTLSIdentity()!
    var core: PeerCore
    let far: TestPeer
    let receiver = RecordingReceiver()
    let output = RecordingOutput()
    let peer: Peer
    var now = start
    /// Bytes that went each way.
    var toCore = 0
    var fromCore = 0
    /// Decides about each datagram of the handshake; its number counts both ways.
    var loses: (_ number: Int) -> Bool = { _ in false }
    private var number = 0

    init(_ role: DTLSRole, fingerprint: Fingerprint? = nil, changing: (inout PeerRequest) -> Void = { _ in }) throws {
        core = PeerCore(identity: identity, mostPeers: 4)
        far = TestPeer(role, to: fingerprint ?? identity.fingerprint, at: Self.address)
        var request = far.request
        changing(&request)
        let (peer, credentials) = try core.add(request, receiver: receiver, output: output, at: now)
        self.peer = peer
        far.remote = credentials
    }

    /// One datagram arrives at the port; what it answers.
    func deliver(_ bytes: [UInt8], from address: PeerAddress = address) -> [PeerCore.Outgoing] {
        toCore += bytes.count
        var bytes = bytes
        let now = now
        let packet = bytes.withUnsafeMutableBytes { unsafe self.core.receive($0, from: address, at: now) }
        if let packet {
            bytes.withUnsafeBytes { buffer in
                unsafe packet.peer.receiver.receive(
                    packet.kind, UnsafeRawBufferPointer(rebasing: buffer[..<packet.count]), arrival: now)
            }
        }
        return drain()
    }

    func drain() -> [PeerCore.Outgoing] {
        var outgoing: [PeerCore.Outgoing] = []
        var changes: [(peer: Peer, change: PeerChange)] = []
        core.drain(&outgoing, &changes)
        for (peer, change) in changes { peer.receiver.peerChanged(change) }
        fromCore += outgoing.reduce(0) { $0 + $1.bytes.count }
        return outgoing
    }

    /// Carries datagrams to and fro until both sides are silent.
    func exchange(_ first: [[UInt8]]) {
        var toCore = first
        var toFar: [PeerCore.Outgoing] = drain()
        while !toCore.isEmpty || !toFar.isEmpty {
            for datagram in toCore {
                number += 1
                if !loses(number) { toFar += deliver(datagram) }
            }
            toCore = []
            for datagram in toFar where datagram.address == far.address {
                number += 1
                if !loses(number) { toCore += far.receive(datagram.bytes) }
            }
            toFar = []
        }
    }

    func connect() { exchange([far.check()]) }

    func tick(after time: Nanoseconds) -> [PeerCore.Outgoing] {
        now = now + time
        _ = core.tick(at: now)
        return drain()
    }

    var counts: PortCounts { core.counts }
    var peerCount: Int { core.peerCount }
    var statistics: InboundStatistics? { core.statistics(of: peer.id) }
    var isConnected: Bool { peer.isConnected && far.state == .connected }
}
