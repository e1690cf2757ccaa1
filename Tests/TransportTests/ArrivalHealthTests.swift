import CSRTArrival
import Endpoint
import Glibc
import Media
import Testing
@testable import Packets
@testable import SRT
@testable import Transport

/// What happens where `CSRTArrival` does not see what libsrt receives, which these tests bring about on purpose.
@Suite(.serialized) struct ArrivalHealthTests {
    /// An SRT input with a health of its own, and a sender to it.
    private final class Leg {
        let health: ArrivalHealth
        let source: SRTSource
        private(set) var events: [LegEvent] = []
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)

        init(_ health: ArrivalHealth, ingest: SRTEndpoint.Ingest = .auto) throws {
            self.health = health
            source = try SRTSource(
                SRTEndpoint(mode: .listener, host: "127.0.0.1", port: 0, latency: .milliseconds(20), ingest: ingest),
                health: health)
        }

        deinit {
            health.stop()
            buffer.deallocate()
        }

        func call() throws -> Sink { try Sink(StreamURL("srt://127.0.0.1:\(source.localPort)?latency=20")) }

        /// Reads until a message comes; nil when none does.
        func next() -> (message: Message, number: Int)? {
            let limit = MonotonicTime.now() + Reader.timeout
            while .now() < limit {
                switch source.receive(into: buffer, until: limit) {
                case .message(let message): return (message, number(of: Array(buffer[..<message.byteCount])))
                case .event(let event): events.append(event)
                default: break
                }
            }
            return nil
        }

        /// Reads events until there is one like this.
        func wait(for wanted: (LegEvent) -> Bool) -> LegEvent? {
            let limit = MonotonicTime.now() + Reader.timeout
            while !events.contains(where: wanted), .now() < limit {
                if case .event(let event) = source.receive(into: buffer, until: .now() + .milliseconds(10)) {
                    events.append(event)
                }
            }
            return events.first(where: wanted)
        }

        func awaitConnection() -> Connection? {
            guard case .connected(let connection) = wait(for: { if case .connected = $0 { true } else { false } }) else {
                return nil
            }
            events.removeAll { if case .connected = $0 { true } else { false } }
            return connection
        }

        var failures: [LegEvent] { events.filter { if case .earlyIngestFailed = $0 { true } else { false } } }
    }

    private func exchange(_ leg: Leg, _ sink: Sink, _ range: Range<Int>) throws {
        for i in range {
            try #require(sink.send(numbered(i)) == .sent)
            try #require(leg.next()?.number == i)
        }
    }

    private func settle(_ health: ArrivalHealth) -> LegFigures.EarlyIngest {
        let limit = MonotonicTime.now() + Reader.timeout
        while health.state == .unproven && .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        return health.state
    }

    @Test func theProofSucceedsHere() {
        #expect(ArrivalProof.run() == .proven)
    }

    @Test func theProofFindsEachFault() {
        #expect(ArrivalProof.run(fault: burnish_srt_fault_no_stamps) == .failed("16 of 16 packets left no arrival stamp"))
        #expect(ArrivalProof.run(fault: burnish_srt_fault_blind) == .failed("16 of 16 packets left no arrival stamp"))
    }

    @Test func anUnknownVersionIsNotReadEarly() {
        #expect(ArrivalHealth(version: 0x010600).failure == "libsrt 1.6.0 is not a version whose calls are known")
        #expect(ArrivalHealth(version: 0x010499).state == .failed)
        #expect(ArrivalHealth().failure == nil)
    }

    @Test func aWellProcessReadsEarlyAndSaysSo() throws {
        let leg = try Leg(ArrivalHealth())
        let sink = try leg.call()
        #expect(leg.awaitConnection()?.ingest == .early)
        #expect(sink.awaitPeer())
        try exchange(leg, sink, 0..<50)
        #expect(settle(leg.health) == .proven)
        #expect(leg.source.statistics().earlyIngest == .proven && leg.source.statistics().messagesUnstamped == 0)
        #expect(leg.failures.isEmpty)
    }

    /// The proof fails while a stream is read early: that one goes on, polled, and the next is read with TSBPD.
    @Test(arguments: [burnish_srt_fault_no_stamps, burnish_srt_fault_blind])
    func aBrokenTapFallsBackToTSBPD(fault: burnish_srt_fault) throws {
        let leg = try Leg(ArrivalHealth(fault: fault))
        do {
            let sink = try leg.call()
            #expect(leg.awaitConnection() != nil)
            #expect(sink.awaitPeer())
            try exchange(leg, sink, 0..<50)
            #expect(settle(leg.health) == .failed)
            try exchange(leg, sink, 50..<100)
            #expect(leg.wait(for: { if case .earlyIngestFailed = $0 { true } else { false } }) != nil)
        }
        #expect(leg.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        let sink = try leg.call()
        #expect(leg.awaitConnection()?.ingest == .tsbpd)
        #expect(sink.awaitPeer())
        try exchange(leg, sink, 0..<50)
        #expect(leg.failures.count == 1, "said once")
        #expect(leg.source.statistics().earlyIngest == .failed)
    }

    /// It breaks under a stream that was well.
    @Test(arguments: [burnish_srt_fault_no_stamps, burnish_srt_fault_blind])
    func aStreamNoticesAndGoesOn(fault: burnish_srt_fault) throws {
        let leg = try Leg(ArrivalHealth(), ingest: .early)
        let sink = try leg.call()
        #expect(leg.awaitConnection()?.ingest == .early)
        #expect(sink.awaitPeer())
        #expect(settle(leg.health) == .proven)
        try exchange(leg, sink, 0..<20)
        let tap = try #require(leg.source.tap)
        tap.break(fault)
        try exchange(leg, sink, 20..<100)
        #expect(leg.health.failure == "32 messages in a row left no arrival stamp")
        #expect(leg.wait(for: { if case .earlyIngestFailed = $0 { true } else { false } }) != nil)
        #expect(leg.source.statistics().messagesUnstamped >= 32)
        // It works again, and is not trusted in this process any more.
        tap.break(burnish_srt_fault_none)
        try exchange(leg, sink, 100..<120)
        #expect(leg.source.statistics().earlyIngest == .failed && leg.failures.count == 1)
    }

    /// A second call is refused at once: without the tap nobody can be left without an answer.
    @Test func aBrokenTapRefusesSecondCallers() throws {
        let leg = try Leg(ArrivalHealth(version: 0), ingest: .early)
        let sink = try leg.call()
        #expect(leg.awaitConnection()?.ingest == .tsbpd)
        #expect(sink.awaitPeer())
        let other = try leg.call()
        let refusal = other.wait(for: { if case .refused = $0 { true } else { false } })
        #expect(refusal?.description.contains("1409") == true)
        try exchange(leg, sink, 0..<10)
    }

    /// Calls on sockets of other code pass untouched, whatever their shape.
    @Test func callsOfOthersPassUntouched() throws {
        var pair: (Int32, Int32) = (-1, -1)
        let code = withUnsafeMutableBytes(of: &pair) {
            socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, $0.baseAddress!.assumingMemoryBound(to: Int32.self))
        }
        try #require(code == 0)
        defer {
            close(pair.0)
            close(pair.1)
        }
        // What libsrt's refusal for now looks like: a tap would not send it.
        var handshake = [UInt8](repeating: 0, count: 64)
        handshake[0] = 0x80
        let reason = UInt32(1000 + burnish_srt_no_answer_yet)
        for i in 0..<4 { handshake[16 + 20 + i] = UInt8(truncatingIfNeeded: reason >> UInt32(24 - 8 * i)) }
        #expect(pass(handshake, through: pair) == handshake)
        let data = (0..<64).map { UInt8($0) }
        #expect(pass(data, through: pair) == data)
    }

    /// Sends and receives a datagram with calls of libsrt's shape.
    private func pass(_ bytes: [UInt8], through pair: (Int32, Int32)) -> [UInt8] {
        var (sent, received) = (bytes, [UInt8](repeating: 0, count: bytes.count))
        func call(_ bytes: inout [UInt8], _ body: (inout msghdr) -> Int) -> Int {
            bytes.withUnsafeMutableBytes { bytes in
                var pieces = [
                    iovec(iov_base: bytes.baseAddress, iov_len: 16),
                    iovec(iov_base: bytes.baseAddress! + 16, iov_len: bytes.count - 16),
                ]
                return pieces.withUnsafeMutableBufferPointer { pieces in
                    var header = msghdr()
                    header.msg_iov = pieces.baseAddress
                    header.msg_iovlen = 2
                    return body(&header)
                }
            }
        }
        guard call(&sent, { sendmsg(pair.0, &$0, 0) }) == bytes.count else { return [] }
        guard call(&received, { recvmsg(pair.1, &$0, Int32(MSG_DONTWAIT)) }) == bytes.count else { return [] }
        return received
    }
}
