import Media
import Testing

@testable import WebRTC

/// Calls between a port's core and a peer, without sockets.
struct PeerCoreTests {
    @Test(arguments: [DTLSRole.client, .server]) func packetsFlowBothWays(role: DTLSRole) throws {
        let call = try CallUnderTest(role)
        call.connect()
        #expect(call.isConnected)
        #expect(call.receiver.changes == [.connected(CallUnderTest.address, .aeadAES128GCM)])
        let packet = TestPeer.rtp(sequence: 7)
        _ = call.deliver(call.far.protect(.rtp, packet))
        _ = call.deliver(call.far.protect(.rtcp, TestPeer.report))
        let received = call.receiver.record.withLock { $0.packets }
        #expect(received.map(\.bytes) == [packet, TestPeer.report])
        #expect(received.map(\.kind) == [.rtp, .rtcp])

        for (kind, bytes) in [(PacketKind.rtp, TestPeer.rtp(sequence: 9, source: 5)), (.rtcp, TestPeer.report)] {
            var buffer = bytes + [UInt8](repeating: 0, count: Peer.trailerRoom)
            #expect(buffer.withUnsafeMutableBytes { unsafe call.peer.send(kind, $0, count: bytes.count) } == .sent)
            for datagram in call.output.drain() {
                #expect(datagram.address == CallUnderTest.address && datagram.bytes != bytes)
                _ = call.far.receive(datagram.bytes)
            }
            #expect(call.far.packets.last?.bytes == bytes)
        }
        #expect(call.peer.statistics().packetsSent == 2)
        #expect(call.statistics?.packets == 2)
    }

    @Test func replayedAndForgedPacketsAreCountedAndDropped() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        let packet = call.far.protect(.rtp, TestPeer.rtp(sequence: 7))
        _ = call.deliver(packet)
        _ = call.deliver(packet)
        for index in packet.indices.dropFirst(2) {
            var forged = packet
            forged[index] ^= 1
            _ = call.deliver(forged)
        }
        for count in 1..<packet.count { _ = call.deliver(Array(packet[..<count])) }
        let statistics = try #require(call.statistics)
        #expect(statistics.packets == 1 && call.receiver.packetCount == 1)
        #expect(statistics.faults[.replayed, default: 0] >= 1)
        #expect(statistics.faults[.wrongTag, default: 0] > 0 && statistics.faults[.malformed, default: 0] > 0)
        #expect(statistics.faults.values.reduce(0, +) == Int64(1 + packet.count - 2 + packet.count - 1))
        // From elsewhere it belongs to nobody.
        let unknown = call.counts.fromUnknownAddresses
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 8)), from: PeerAddress(ipv4: 1, port: 1))
        #expect(call.counts.fromUnknownAddresses == unknown + 1 && call.receiver.packetCount == 1)
    }

    @Test func sourcesAreBounded() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        for source in 0..<UInt32(SRTPSession.mostSources + 10) {
            _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 1, source: source + 1)))
        }
        #expect(call.receiver.packetCount == SRTPSession.mostSources)
        #expect(call.statistics?.faults[.tooManySources] == 10)
    }

    @Test(arguments: [DTLSRole.client, .server]) func anotherCertificateIsRefused(role: DTLSRole) throws {
        let otherFingerprint = DTLSIdentity()!.fingerprint
        let call = try CallUnderTest(role) { $0.fingerprints = [otherFingerprint] }
        call.connect()
        #expect(call.receiver.changes == [.ended(.wrongFingerprint)])
        #expect(!call.peer.isConnected && call.peerCount == 0)
    }

    /// The strongest function counts, and any of its digests.
    @Test func oneOfSeveralFingerprintsIsEnough() throws {
        let otherFingerprint = DTLSIdentity()!.fingerprint
        let call = try CallUnderTest(.client) { $0.fingerprints.insert(otherFingerprint, at: 0) }
        call.connect()
        #expect(call.isConnected)
    }

    /// Any single datagram of the handshake is lost. OpenSSL reads the clock itself, so this takes as long as its timer: 200 ms.
    @Test(arguments: [DTLSRole.client, .server]) func aLostDatagramIsSentAgain(role: DTLSRole) throws {
        let probe = try CallUnderTest(role)
        let counter = Lock(0)
        probe.loses = { number in
            counter.withLock { $0 = max($0, number) }
            return false
        }
        probe.connect()
        let last = counter.withLock { $0 }
        #expect(last >= 6)
        for lost in 1...last {
            let call = try CallUnderTest(role)
            call.loses = { $0 == lost }
            call.connect()
            let limit = MonotonicTime.now() + .seconds(20)
            while !call.isConnected, .now() < limit {
                // A browser checks again, too.
                call.exchange([call.far.check()] + call.far.advance())
                for datagram in call.tick(after: .microseconds(1)) { call.exchange(call.far.receive(datagram.bytes)) }
            }
            #expect(call.isConnected, "datagram \(lost) of \(last)")
        }
    }

    @Test func noDatagramIsLongerThanThePath() throws {
        let call = try CallUnderTest(.client)
        var toCore = [call.far.check()]
        var largest = 0
        while !toCore.isEmpty {
            let outgoing = toCore.flatMap { call.deliver($0) }
            largest = max(largest, outgoing.map(\.bytes.count).max() ?? 0)
            toCore = outgoing.flatMap { call.far.receive($0.bytes) }
        }
        #expect(call.isConnected && largest > 200 && largest <= DTLSConnection.largestDatagram)
    }

    // MARK: Bad input

    /// Garbage at every stage of the handshake, and alerts that anybody can forge.
    @Test(arguments: [DTLSRole.client, .server]) func garbageDoesNotEndACall(role: DTLSRole) throws {
        let call = try CallUnderTest(role)
        var random = SplitMix64(seed: 5)
        var toCore = [call.far.check()]
        let alert: [UInt8] = [21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 40]
        func garbage() -> [[UInt8]] {
            var all = [alert]
            for first in [20, 21, 22, 23, 25, 63] as [UInt8] {
                // The others have a record's form: one that is too short to be encrypted, and one that is not.
                all.append([first] + (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) })
                for length in [8, 40] as [UInt8] {
                    let head: [UInt8] = [first, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 1, length, 0, length]
                    all.append(head + (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
                }
            }
            return all
        }
        while !toCore.isEmpty {
            var outgoing: [PeerCore.Outgoing] = []
            for datagram in toCore {
                outgoing += call.deliver(datagram)
                for bytes in garbage() { outgoing += call.deliver(bytes) }
            }
            toCore = outgoing.flatMap { call.far.receive($0.bytes) }
        }
        #expect(call.isConnected, "\(call.far.state) \(call.receiver.changes) \(call.counts)")
        guard call.isConnected else { return }
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 1)))
        #expect(call.receiver.packetCount == 1)
    }

    /// Anybody can break a handshake that has not begun, and the peer must not hear of it.
    @Test(
        arguments: [
            // A ClientHello of 16 MiB of which 13 bytes are here, a fragment that is longer than its message, one of 16 MiB, a ClientHello
            // of zeros, and a ServerHello.
            [1, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 13], [1, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0, 14],
            [1, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff], [1, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0, 13],
            [2, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0, 13],
        ] as [[UInt8]]) func aForgedMessageEndsNoCall(head: [UInt8]) throws
    {
        let call = try CallUnderTest(.client)
        let answers = call.deliver(call.far.check())
        let message = head + [UInt8](repeating: 0, count: 13)
        let forged = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(message.count)] + message
        #expect(call.deliver(forged).isEmpty, "an alert went to the peer")
        #expect(call.counts.brokenHandshakes == 1)
        call.exchange(answers.flatMap { call.far.receive($0.bytes) })
        #expect(call.isConnected)
    }

    // MARK: Somebody else's address

    private let elsewhere = PeerAddress(ipv4: 0xc000_0201, port: 9)

    /// What the peer sends last in the handshake; nothing of it has come yet.
    private func lastFlight(_ call: CallUnderTest) -> [[UInt8]] {
        let hello = call.deliver(call.far.check()).flatMap { call.far.receive($0.bytes) }
        return hello.flatMap { call.deliver($0) }.flatMap { call.far.receive($0.bytes) }
    }

    private func send(_ call: CallUnderTest) -> PacketSent {
        var buffer = TestPeer.report + [UInt8](repeating: 0, count: Peer.trailerRoom)
        return buffer.withUnsafeMutableBytes { unsafe call.peer.send(.rtcp, $0, count: 8) }
    }

    /// An address that is nominated just before the handshake ends gets no media until it has answered, wherever the last flight seems
    /// to come from.
    @Test(arguments: [false, true]) func mediaBeginsWhereTheHandshakeWasRead(isForged: Bool) throws {
        let call = try CallUnderTest(.client)
        let last = lastFlight(call)
        _ = call.deliver(call.far.check(), from: elsewhere)
        let answers = last.flatMap { call.deliver($0, from: isForged ? elsewhere : CallUnderTest.address) }
        #expect(call.receiver.changes == [.connected(CallUnderTest.address, .aeadAES128GCM)])
        #expect(send(call) == .sent && call.output.drain().map(\.address) == [CallUnderTest.address])
        // It is asked, and gets media when it has answered.
        let asked = answers.filter { $0.address == elsewhere }
        #expect(asked.count == 1)
        for request in asked { for answer in call.far.receive(request.bytes) { _ = call.deliver(answer, from: elsewhere) } }
        #expect(call.receiver.changes.last == .moved(elsewhere))
        #expect(send(call) == .sent && call.output.drain().map(\.address) == [elsewhere])
    }

    /// Two addresses got our flights: which of them the peer has read is not known.
    @Test func mediaWaitsWhileNothingIsProven() throws {
        let call = try CallUnderTest(.client)
        let last = lastFlight(call)
        _ = call.deliver(call.far.check(), from: elsewhere)
        // OpenSSL repeats its flight after 200 ms, by its own clock.
        var again: [PeerCore.Outgoing] = []
        let limit = MonotonicTime.now() + .seconds(20)
        while again.isEmpty, .now() < limit { again = call.tick(after: .microseconds(1)) }
        #expect(!again.isEmpty && again.allSatisfy { $0.address == elsewhere })
        let answers = last.flatMap { call.deliver($0, from: elsewhere) }
        #expect(!call.peer.isConnected && send(call) == .notConnected)
        for answer in answers { for datagram in call.far.receive(answer.bytes) { _ = call.deliver(datagram, from: elsewhere) } }
        #expect(call.receiver.changes.last == .moved(elsewhere) && call.isConnected)
    }

    /// Nobody's call is kept up by what comes from elsewhere.
    @Test func evidenceIsOfTheAddressThatGetsMedia() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        _ = call.tick(after: .seconds(29))
        _ = call.deliver(call.far.check(), from: elsewhere)
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 1)), from: elsewhere)
        #expect(call.receiver.packetCount == 1)
        _ = call.tick(after: .seconds(1))
        #expect(call.receiver.changes.last == .ended(.consentExpired))
    }

    /// A peer with a password of its own writes another one's address into a check.
    @Test func nobodyTakesAnAddressThatIsInUse() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        let other = TestPeer(.client, to: call.identity.fingerprint, at: CallUnderTest.address)
        let added = try call.core.add(other.request, receiver: RecordingReceiver(), output: RecordingOutput(), at: call.now)
        other.remote = added.1
        #expect(call.deliver(other.check()).isEmpty && call.counts.withheld == 1)
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 1)))
        #expect(call.receiver.packetCount == 1)
        // One that vanished leaves it to others.
        _ = call.tick(after: .seconds(10))
        #expect(!call.deliver(other.check()).isEmpty)
    }

    // MARK: Amplification

    /// Requests that name nobody get at most as many bytes as they have.
    @Test func nobodyIsReachedThroughUsWithMoreBytes() throws {
        let call = try CallUnderTest(.client)
        let elsewhere = PeerAddress(ipv4: 0xc000_0201, port: 53)
        func request(_ fill: (inout STUNWriter) -> Void) -> [UInt8] {
            var writer = STUNWriter(.request, transaction: .init(first: 3, rest: 4))
            fill(&writer)
            return writer.finish()
        }
        let password = Array("somebodyelsespassword12".utf8)
        let cases: [(bytes: [UInt8], code: Int?)] = [
            (request { _ in }, nil),
            (request { $0.append(priority: 1) }, 400),
            (request { $0.append(username: "nobody12:wxyz") }, 400),
            (
                request { writer in
                    writer.append(username: "nobody12:wxyz")
                    writer.appendIntegrity(password: password.span)
                }, 401
            ),
            (
                request { [remote = call.far.remote!] writer in
                    writer.append(username: remote.userFragment + ":wxyz")
                    writer.appendIntegrity(password: password.span)
                }, 401
            ),
        ]
        for (bytes, code) in cases {
            let answers = call.deliver(bytes, from: elsewhere)
            #expect(answers.reduce(0) { $0 + $1.bytes.count } <= bytes.count)
            #expect(answers.first.flatMap { STUNMessage.read($0.bytes)?.errorCode } == code)
        }
        #expect(call.counts.refusedSTUN == 5)
        // DTLS and media from an address without a check are read by nobody.
        #expect(call.deliver([22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], from: elsewhere).isEmpty)
        #expect(call.counts.fromUnknownAddresses == 1)
        // A flood is answered a little.
        var sent = 0
        for _ in 0..<1000 { sent += call.deliver(cases[3].bytes, from: elsewhere).count }
        #expect(sent < 110)
    }

    /// A peer that checks and begins a handshake, but never shows that it gets what is sent.
    @Test func aSilentAddressGetsLittleMoreThanItSends() throws {
        let call = try CallUnderTest(.client)
        var sent = 0
        var hello: [[UInt8]] = []
        for datagram in call.deliver(call.far.check()) {
            sent += datagram.bytes.count
            hello += call.far.receive(datagram.bytes)
        }
        for datagram in hello { sent += call.deliver(datagram).reduce(0) { $0 + $1.bytes.count } }
        // OpenSSL repeats its flight after 200 ms, by its own clock.
        let limit = MonotonicTime.now() + .seconds(20)
        while call.counts.withheld == 0, .now() < limit {
            sent += call.tick(after: .microseconds(1)).reduce(0) { $0 + $1.bytes.count }
        }
        #expect(sent <= 3 * call.toCore + 2000 && sent > call.toCore)
        #expect(call.counts.withheld > 0)
    }

    // MARK: Ends

    @Test func aVanishedPeerIsGoneAfter30Seconds() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        _ = call.tick(after: .seconds(20))
        _ = call.deliver(call.far.protect(.rtp, TestPeer.rtp(sequence: 1)))
        #expect(call.tick(after: .seconds(29)).isEmpty)
        #expect(call.peer.isConnected)
        #expect(call.tick(after: .seconds(1)).isEmpty, "not even a goodbye without consent")
        #expect(call.receiver.changes.last == .ended(.consentExpired) && call.peerCount == 0)
        var buffer = TestPeer.report + [UInt8](repeating: 0, count: Peer.trailerRoom)
        #expect(buffer.withUnsafeMutableBytes { unsafe call.peer.send(.rtcp, $0, count: 8) } == .notConnected)
    }

    @Test func aReplayedPacketIsNoEvidence() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        let packet = call.far.protect(.rtp, TestPeer.rtp(sequence: 1))
        _ = call.deliver(packet)
        _ = call.tick(after: .seconds(29))
        _ = call.deliver(packet)
        _ = call.tick(after: .seconds(1))
        #expect(call.receiver.changes.last == .ended(.consentExpired))
    }

    @Test func whoNeverComesIsGoneAfter30Seconds() throws {
        let call = try CallUnderTest(.client)
        _ = call.tick(after: .seconds(29))
        #expect(call.peerCount == 1)
        _ = call.tick(after: .seconds(1))
        #expect(call.receiver.changes == [.ended(.neverConnected)])
    }

    @Test func goodbyesAreSaidAndHeard() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        call.exchange(call.far.close())
        #expect(call.receiver.changes.last == .ended(.closedByPeer))
        let other = try CallUnderTest(.server)
        other.connect()
        other.core.close(other.peer.id)
        other.exchange([])
        #expect(other.receiver.changes.last == .ended(.closedHere) && other.far.state == .closed)
    }

    @Test func aConnectedPeerMovesWhenItHasAnswered() throws {
        let call = try CallUnderTest(.client)
        call.connect()
        let there = PeerAddress(ipv4: 0x7f00_0001, port: 7000)
        let answers = call.deliver(call.far.check(), from: there)
        #expect(answers.count == 2 && answers.allSatisfy { $0.address == there })
        #expect(!call.receiver.changes.contains(.moved(there)))
        for answer in answers { for datagram in call.far.receive(answer.bytes) { _ = call.deliver(datagram, from: there) } }
        #expect(call.receiver.changes.last == .moved(there))
        var buffer = TestPeer.report + [UInt8](repeating: 0, count: Peer.trailerRoom)
        #expect(buffer.withUnsafeMutableBytes { unsafe call.peer.send(.rtcp, $0, count: 8) } == .sent)
        #expect(call.output.drain().map(\.address) == [there])
    }

    @Test func aFullPortSaysSo() throws {
        let call = try CallUnderTest(.client)
        let request = call.far.request
        for _ in 0..<3 { _ = try call.core.add(request, receiver: call.receiver, output: call.output, at: call.now) }
        var refusal: PeerRefusal?
        do throws(PeerRefusal) {
            _ = try call.core.add(request, receiver: call.receiver, output: call.output, at: call.now)
        } catch {
            refusal = error
        }
        #expect(refusal == .full(most: 4))
    }
}
