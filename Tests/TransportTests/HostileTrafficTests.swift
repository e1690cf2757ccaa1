import Endpoint
import Glibc
import Media
import Synchronization
import Testing
@testable import Packets
@testable import Transport

/// A stream flows into a listener while others send it whatever they like. `tools/check/hostile` does the same with a whole
/// relay, and measures it.
@Suite(.serialized) struct HostileTrafficTests {
    /// A handshake (draft-sharabayko-srt, section 3.2.1): 16 bytes of header and 48 of body.
    private static func handshake(version: UInt32, field: UInt32, request: UInt32, cookie: UInt32) -> [UInt8] {
        let words: [UInt32] = [
            0x8000_0000, 0, 0, 0, version, field, .random(in: 0..<1 << 31), 1500, 8192, request, .random(in: 1..<1 << 30),
            cookie, 0x7f00_0001, 0, 0, 0,
        ]
        return words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    private static let kinds: [@Sendable (inout SplitMix64) -> [UInt8]] = [
        // Garbage, and nothing at all.
        { random in (0..<Int(random.next() % 1_500)).map { _ in UInt8(truncatingIfNeeded: random.next()) } },
        // Inductions, conclusions with made-up cookies, and both cut anywhere.
        { _ in handshake(version: 4, field: 2, request: 1, cookie: 0) },
        { random in
            handshake(version: 5, field: 1, request: 0xffff_ffff, cookie: UInt32(truncatingIfNeeded: random.next()))
        },
        { random in Array(handshake(version: 4, field: 2, request: 1, cookie: 0).prefix(Int(random.next() % 64))) },
        // Data, acknowledgements, loss reports and goodbyes for connections that do not exist.
        { random in
            let first: [UInt8] = [[0x00, 0x01], [0x80, 0x02], [0x80, 0x03], [0x80, 0x05]][Int(random.next() % 4)]
            return first + (0..<Int(14 + random.next() % 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        },
    ]

    private static func send(_ count: Int, to port: UInt16, random: inout SplitMix64) {
        let target = SocketAddress.numeric(host: "127.0.0.1", port: port)!
        guard let socket = try? openUDP(target, place: "here") else { return }
        for index in 0..<count {
            let packet = kinds[index % kinds.count](&random)
            _ = target.withSockaddr { sendto(socket.number, packet, packet.count, 0, $0, $1) }
            // As fast as the kernel takes them, with a breath for whoever receives.
            if index % 100 == 99 { (MonotonicTime.now() + .milliseconds(5)).sleep() }
        }
    }

    @Test(arguments: ["", "&streamid=cam"]) func aStreamFlowsOn(query: String) throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=1000&passphrase=correct%20horse\(query)")
        let port = reader.source.localPort
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(port)?latency=1000&passphrase=correct%20horse\(query)"))
        #expect(reader.awaitConnection() != nil && sink.awaitPeer())
        let isOver = Atomic<Bool>(false)
        let attacker = StageThread(name: "attacker") {
            var random = SplitMix64(seed: 16)
            Self.send(10_000, to: port, random: &random)
            isOver.store(true, ordering: .releasing)
        }
        defer { attacker.join() }
        var number = 0
        while !isOver.load(ordering: .acquiring) {
            try #require(sink.send(numbered(number)) == .sent)
            try #require(reader.nextNumber() == number)
            number += 1
            (MonotonicTime.now() + .milliseconds(1)).sleep()
        }
        let figures = reader.source.statistics()
        #expect(figures.connections == 1 && figures.messagesUnstamped == 0)
        #expect(figures.handshakesDropped > 0, "what comes too fast does not reach libsrt")
        #expect(reader.source.peers.count == 1)
    }
}
