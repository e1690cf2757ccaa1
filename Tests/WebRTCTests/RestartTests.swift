import Endpoint
import Media
import Synchronization
import Testing

@testable import WebRTC

/// ICE restarts: a peer that comes from another network, and whose call goes on.
@Suite(.timeLimit(.minutes(5))) struct RestartTests {
    private let elsewhere = PeerAddress(ipv6: 0x2001_0db8_0000_0000, 7, port: 9)

    private func send(_ call: CallUnderTest) -> (PacketSent, PeerAddress?) {
        var buffer = TestPeer.report + [UInt8](repeating: 0, count: Peer.trailerRoom)
        let sent = buffer.withUnsafeMutableBytes { unsafe call.peer.send(.rtcp, $0, count: 8) }
        return (sent, call.output.drain().last?.address)
    }

    private func restart(_ call: CallUnderTest) throws {
        let ours = call.core.restart(call.peer.id, call.far.credentials, at: call.now)
        call.far.remote = try #require(ours).credentials
    }

    /// Carries what is said at the new address.
    private func check(_ call: CallUnderTest, from address: PeerAddress, nominates: Bool = true) {
        var toCore = [call.far.check(nominates: nominates)]
        while !toCore.isEmpty {
            let outgoing = toCore.flatMap { call.deliver($0, from: address) }
            toCore = outgoing.filter { $0.address == address }.flatMap { call.far.receive($0.bytes) }
        }
    }

    @Test(arguments: [DTLSRole.client, .server]) func mediaGoesOnWhereItWasUntilThePeerHasMoved(role: DTLSRole) throws {
        let call = try CallUnderTest(role)
        call.connect()
        let former = try #require(call.far.remote)
        call.far.rename()
        try restart(call)
        #expect(send(call) == (.sent, CallUnderTest.address))
        check(call, from: elsewhere, nominates: false)
        #expect(send(call) == (.sent, CallUnderTest.address))
        // Media is read wherever the peer has shown its password.
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 1)))
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 2)), from: elsewhere)
        #expect(call.receiver.packetCount == 2)
        check(call, from: elsewhere)
        #expect(send(call) == (.sent, elsewhere))
        #expect(call.receiver.changes == [.connected(CallUnderTest.address, .aeadAES128GCM), .moved(elsewhere)])
        // What was on its way from the old address still counts. Its name does not.
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 3)))
        #expect(call.receiver.packetCount == 3)
        let refused = call.counts.refusedSTUN
        call.far.remote = former
        _ = call.deliver(call.far.check())
        #expect(call.counts.refusedSTUN == refused + 1)
    }

    /// Somebody else's address in a check with the new names gets no media.
    @Test func aForgedAddressGetsNoMedia() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        call.far.rename()
        try restart(call)
        _ = call.deliver(call.far.check(), from: elsewhere)
        #expect(send(call) == (.sent, CallUnderTest.address))
    }

    /// The old address is without consent before the peer has come from the new one.
    @Test func thePeerMayComeAfterItsOldAddressHasLostConsent() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        _ = call.tick(after: .seconds(25))
        call.far.rename()
        try restart(call)
        _ = call.tick(after: .seconds(6))
        #expect(send(call).0 == .notConnected && call.peerCount == 1)
        check(call, from: elsewhere)
        #expect(send(call) == (.sent, elsewhere))
        // Whoever does not come is gone.
        call.far.rename(2)
        try restart(call)
        _ = call.tick(after: .seconds(31))
        #expect(call.receiver.changes.last == .ended(.consentExpired) && call.peerCount == 0)
        #expect(call.core.restart(call.peer.id, call.far.credentials, at: call.now) == nil)
    }

    /// A phone on a train: more addresses than a peer may have at a time, one after the other.
    @Test func aPeerMayMoveAgainAndAgain() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        for number in 1...20 {
            call.far.rename(number)
            try restart(call)
            let place = PeerAddress(ipv4: 0x7f00_0001, port: UInt16(6000 + number))
            check(call, from: place)
            #expect(send(call) == (.sent, place))
        }
        #expect(call.peerCount == 1)
    }

    /// A port for both families, and a peer that goes from IPv4 to IPv6. No packet is lost either way.
    @Test func aCallOverSocketsGoesOnFromAnotherFamily() throws {
        let identity = try #require(DTLSIdentity())
        let port = try WebRTCPort(.init(local: PeerAddress(ipv6: 0, 0, port: 0)), identity: identity)
        port.start()
        defer { port.close() }
        func address(_ host: String, _ number: UInt16) -> PeerAddress { PeerAddress(host: host, port: number)! }
        let first = try PortLoopbackTests.Far(
            .client, address("127.0.0.1", 0), at: address("127.0.0.1", port.local.port), fingerprint: identity.fingerprint)
        let receiver = RecordingReceiver()
        let (peer, answer) = try port.add(first.peer.request, receiver: receiver)
        let far = first.peer
        far.remote = answer.credentials
        first.send(far.check())
        #expect(first.run { far.state == .connected && !receiver.changes.isEmpty })

        var sequence: UInt16 = 0
        func packets() -> [[UInt8]] {
            (0..<10).map { _ in
                sequence += 1
                return far.protect(.rtp, TestPeer.rtp(sequence: sequence))
            }
        }
        for packet in packets() { first.send(packet) }
        far.rename()
        far.remote = try #require(port.restart(peer, far.credentials)).credentials
        for packet in packets() { first.send(packet) }
        let second = try PortLoopbackTests.Far(
            of: far, address("::1", 0), at: address("::1", port.local.port))
        second.send(far.check())
        for packet in packets() { second.send(packet) }
        let place = second.socket.local
        #expect(second.run { receiver.changes.last == .moved(place) && receiver.packetCount == 30 })
        #expect(peer.address == place && place.ipv4 == nil)
        var buffer = TestPeer.rtp(sequence: 3, source: 9) + [UInt8](repeating: 0, count: Peer.trailerRoom)
        let count = buffer.count - Peer.trailerRoom
        #expect(buffer.withUnsafeMutableBytes { unsafe peer.send(.rtp, $0, count: count) } == .sent)
        #expect(second.run { far.packets.last?.bytes == TestPeer.rtp(sequence: 3, source: 9) })
    }

    @Test func theAnswerNamesTheFirstSection() throws {
        let offer = try CallOfferTests.read(CallOfferTests.head + CallOfferTests.video + CallOfferTests.audio)
        let text = RestartFragment(offer).text(CallOfferTests.peerAnswer)
        let lines = text.split(separator: "\r\n").map(String.init)
        let transport = CallOfferTests.peerAnswer
        #expect(text.hasSuffix("a=end-of-candidates\r\n") && lines[0] == "a=ice-lite")
        #expect(lines[1].hasPrefix("a=group:BUNDLE ") && lines[2].hasPrefix("m=") && lines[3].hasPrefix("a=mid:"))
        #expect(lines[1].split(separator: " ")[1] == lines[3].dropFirst(6))
        #expect(lines[4] == "a=ice-ufrag:\(transport.credentials.userFragment)")
        #expect(lines[5] == "a=ice-pwd:\(transport.credentials.password)")
        #expect(lines.count(where: { $0.hasPrefix("a=candidate:") }) == transport.candidates.count)
    }
}
