import Endpoint
import Media
import Testing

@testable import WebRTC

/// A stream's calls, over sockets: one publisher, and viewers.
struct StreamCallsTests {
    static let local = PeerAddress(host: "127.0.0.1", port: 0)!

    final class Viewer: CallViewer {
        let reports = Lock<[[UInt8]]>([])
        let end = Lock<PeerEnd?>(nil)
        func receive(_ packet: UnsafeRawBufferPointer, arrival: MonotonicTime) {
            let bytes = Array(packet)
            reports.withLock { $0.append(bytes) }
        }
        func left(_ end: PeerEnd) { self.end.withLock { $0 = end } }
    }

    struct Joined {
        var peer: Peer
        var tracks: [CallTrack]
        var sources: CallSources
        var viewer: Viewer
    }

    /// A peer's offer in words.
    static func offer(_ peer: TestPeer, _ kind: CallKind) -> String {
        let text = CallOfferTests.offer
            .replacing(/fingerprint:.*/, with: "fingerprint:\(peer.identity.fingerprint.sdp)")
            .replacing(/a=setup:.*/, with: "a=setup:\(peer.role == .client ? "actpass" : "passive")")
        return kind == .publisher ? text : text.replacing("a=sendonly", with: "a=recvonly")
    }

    /// Reads the answer and sends the first check.
    static func connect(_ far: borrowing PortLoopbackTests.Far, _ answer: String) throws {
        let description = try SessionDescription(parsing: answer)
        let section = try #require(description.media.first { $0.port != 0 })
        far.peer.remote = ICECredentials(userFragment: section.iceUser ?? "", password: section.icePassword ?? "")
        far.send(far.peer.check())
    }

    static func calls(
        publisher: CallRules? = .publisher, viewer: CallRules? = .viewer, mostViewers: Int = 2, _ identity: DTLSIdentity
    ) throws -> StreamCalls {
        try StreamCalls(
            .init(port: .init(local: local), publisher: publisher, viewer: viewer, mostViewers: mostViewers), identity: identity
        )
    }

    static func fault(_ body: () throws -> Void) -> CallFault.Kind? {
        do {
            try body()
            return nil
        } catch { return (error as? CallFault)?.kind }
    }

    @Test func aPublisherIsReadAndAnswered() throws {
        let identity = try #require(DTLSIdentity())
        let calls = try Self.calls(identity)
        defer { calls.close() }
        let ended = Lock<[UInt64]>([])
        calls.onEnd { number in ended.withLock { $0.append(number) } }
        let far = try PortLoopbackTests.Far(
            .client, Self.local, to: calls.port, at: calls.port.local, fingerprint: identity.fingerprint)
        let peer = far.peer
        try Self.connect(far, try calls.answer(7, .publisher, Self.offer(peer, .publisher)))
        func turn() { _ = calls.wait(until: .now()) }
        #expect(
            far.run {
                turn()
                return peer.state == .connected && calls.publisherAddress != nil
            })
        #expect(calls.publisherAddress == far.socket.local)
        // Another one has to wait for as long as this one is there.
        #expect(Self.fault { _ = try calls.answer(8, .publisher, Self.offer(peer, .publisher)) } == .occupied)

        let packet = TestPeer.rtp(sequence: 5)
        var offered = packet
        offered[1] = 109
        for bytes in [offered, [0x80, 45] + packet.dropFirst(2)] { far.send(peer.protect(.rtp, bytes)) }
        far.send(peer.protect(.rtcp, TestPeer.report))
        var got: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 2048)
        #expect(
            far.run {
                turn()
                while let read = buffer.withUnsafeMutableBytes({ unsafe calls.read(into: $0) }) {
                    got.append(Array(buffer[..<read.byteCount]))
                }
                return got.count == 2
            })
        // The format that was not agreed on is missing.
        #expect(got == [packet, TestPeer.report])
        #expect(TestPeer.report.withUnsafeBytes { unsafe calls.sendFeedback($0) } == .sent)
        #expect(far.run { peer.packets.last?.bytes == TestPeer.report })

        calls.hangUp(7)
        #expect(
            far.run {
                turn()
                return peer.state == .closed && ended.withLock { $0 } == [7]
            })
        #expect(calls.publisherEnd == PeerEnd.closedHere.description && calls.publisherAddress == nil)
        // The place is free.
        #expect(Self.fault { _ = try calls.answer(9, .publisher, Self.offer(peer, .publisher)) } == nil)
    }

    /// Whoever has not connected gives way.
    @Test func aPublisherThatNeverCameGivesWay() throws {
        let identity = try #require(DTLSIdentity())
        let calls = try Self.calls(identity)
        defer { calls.close() }
        let peer = TestPeer(.client, to: identity.fingerprint, at: Self.local)
        for number in 1...5 { _ = try calls.answer(UInt64(number), .publisher, Self.offer(peer, .publisher)) }
        _ = calls.wait(until: .now())
        #expect(calls.port.peerCount == 1)
    }

    @Test func viewersJoinAndLeave() throws {
        let identity = try #require(DTLSIdentity())
        let joined = Lock<[Joined]>([])
        let calls = try StreamCalls(
            .init(port: .init(local: Self.local), publisher: nil, viewer: .viewer, mostViewers: 1) { peer, tracks, sources, _ in
                let viewer = Viewer()
                joined.withLock { $0.append(Joined(peer: peer, tracks: tracks, sources: sources, viewer: viewer)) }
                return viewer
            }, identity: identity)
        defer { calls.close() }
        let far = try PortLoopbackTests.Far(
            .server, Self.local, to: calls.port, at: calls.port.local, fingerprint: identity.fingerprint)
        let peer = far.peer
        let answer = try calls.answer(1, .viewer, Self.offer(peer, .viewer))
        #expect(Self.fault { _ = try calls.answer(2, .viewer, Self.offer(peer, .viewer)) } == .full)
        #expect(Self.fault { _ = try calls.answer(3, .publisher, Self.offer(peer, .publisher)) } == .unavailable)
        try Self.connect(far, answer)
        #expect(far.run { peer.state == .connected && joined.withLock { $0.count } == 1 })
        let viewer = joined.withLock { $0[0] }
        let description = try SessionDescription(parsing: answer)
        #expect(description.media[0].sources.first?.id == viewer.sources.video && viewer.tracks.count == 2)

        let packet = TestPeer.rtp(sequence: 1, source: viewer.sources.video)
        #expect(packet.withUnsafeBytes { unsafe viewer.peer.send(.rtp, copying: $0) } == .sent)
        #expect(far.run { peer.packets.last?.bytes == packet })
        far.send(peer.protect(.rtcp, TestPeer.report))
        #expect(far.run { viewer.viewer.reports.withLock { $0.count } == 1 })
        for datagram in peer.close() { far.send(datagram) }
        #expect(far.run { viewer.viewer.end.withLock { $0 } == .closedByPeer })
        #expect(packet.withUnsafeBytes { unsafe viewer.peer.send(.rtp, copying: $0) } == .notConnected)
        #expect(calls.viewerCount == 0)
    }

    @Test func offersThatCannotBeAnsweredSaySo() throws {
        let identity = try #require(DTLSIdentity())
        let calls = try Self.calls(viewer: nil, identity)
        #expect(Self.fault { _ = try calls.answer(1, .publisher, "hello") } == .malformed)
        #expect(Self.fault { _ = try calls.answer(1, .publisher, CallOfferTests.head) } == .unacceptable)
        #expect(Self.fault { _ = try calls.answer(1, .viewer, CallOfferTests.offer) } == .unavailable)
        calls.interrupt()
        #expect(!calls.wait(until: .now() + .seconds(60)))
        calls.close()
        #expect(Self.fault { _ = try calls.answer(1, .publisher, CallOfferTests.offer) } == .unavailable)
    }
}
