import Endpoint
import Measure
import Media
import Synchronization
import Testing
@testable import Packets
@testable import SRT
@testable import Transport

/// SRT through a bad network, read early. Senders: ours, whose messages are not marked as ordered, and in-order ones as
/// FFmpeg's (`inOrder`).
@Suite(.serialized) struct ImpairedLoopbackTests {
    struct Leg {
        let reader: Reader
        let proxy: ImpairmentProxy
        let sink: Sink

        init(
            latency: Int, inOrder: Bool = false, _ settings: ImpairmentSettings = ImpairmentSettings(),
            rewrite: (@Sendable (inout [UInt8]) -> Void)? = nil
        ) throws {
            reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=\(latency)&ingest=early")
            proxy = try ImpairmentProxy(
                to: UDPEndpoint(host: "127.0.0.1", port: reader.source.localPort), settings: settings, rewrite: rewrite)
            sink = try Sink(StreamURL("srt://127.0.0.1:\(proxy.localPort)?latency=\(latency)"), marksOrder: inOrder)
            _ = try #require(reader.awaitConnection())
            #expect(sink.awaitPeer())
        }
    }

    /// A data packet's header.
    private struct DataHeader {
        let number: UInt32
        let isRepeat: Bool
        /// In microseconds.
        let time: UInt32

        /// - Returns: nil for a control packet.
        init?(_ datagram: [UInt8]) {
            guard datagram.count > 16, datagram[0] & 0x80 == 0 else { return nil }
            func word(_ at: Int) -> UInt32 { datagram[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }
            number = word(0)
            isRepeat = word(4) & 1 << 26 != 0
            time = word(8)
        }
    }

    private func paced(_ sink: Sink, _ range: Range<Int>, every interval: Nanoseconds = .milliseconds(2)) {
        let start = MonotonicTime.now()
        for i in range {
            let time = start + Nanoseconds(interval.count * Int64(i - range.lowerBound))
            time.sleep()
            #expect(sink.send(numbered(i), sourceTime: time) == .sent)
        }
    }

    @Test(arguments: [false, true]) func lossIsRepairedInOrder(inOrder: Bool) throws {
        var settings = ImpairmentSettings()
        settings.loss = 0.05
        settings.delay = .milliseconds(20)
        settings.jitter = .milliseconds(2)
        settings.seed = 7
        let wire = Lock<[DataHeader]>([])
        let leg = try Leg(latency: 2000, inOrder: inOrder, settings) { datagram in
            if let header = DataHeader(datagram) { wire.withLock { $0.append(header) } }
        }
        let sink = leg.sink
        let sender = StageThread(name: "sender") { paced(sink, 0..<420) }
        // Twenty more than are read: SRT repairs a loss when it sees what comes after it.
        var last: Message?
        for i in 0..<400 {
            let (message, bytes) = try #require(leg.reader.next(), "message \(i)")
            try #require(number(of: bytes) == i)
            if let last { #expect(message.sequence == last.sequence + 1) }
            #expect(message.sourceTime != nil)
            last = message
        }
        sender.join()
        // Dated 2 ms apart, repeats too: not by when they were sent again.
        let packets = wire.withLock { $0 }
        let start = try #require(packets.first { !$0.isRepeat })
        #expect(packets.contains { $0.isRepeat })
        for packet in packets {
            let due = start.time &+ 2_000 &* (packet.number &- start.number)
            #expect(abs(Int32(bitPattern: packet.time &- due)) <= 2, "packet \(packet.number &- start.number)")
        }
        #expect(leg.reader.source.statistics().packetsLost > 0)
        #expect(leg.reader.events.allSatisfy { if case .gap = $0 { false } else { true } })
    }

    /// TSBPD off and the receiver's TLPKTDROP left on wedge an ordered sender's connection.
    @Test(arguments: [false, true]) func outageRecoversWithItsBacklog(inOrder: Bool) throws {
        let leg = try Leg(latency: 120, inOrder: inOrder)
        paced(leg.sink, 0..<20)
        for i in 0..<20 { #expect(leg.reader.nextNumber() == i) }
        leg.proxy.isDark = true
        let sink = leg.sink
        let sender = StageThread(name: "sender") { paced(sink, 20..<520, every: .milliseconds(5)) }
        // Two seconds of silence: 400 messages.
        #expect(leg.reader.nextNumber(within: .seconds(2)) == nil)
        leg.proxy.isDark = false
        var next = 20
        while next < 520 {
            let (_, bytes) = try #require(leg.reader.next(), "message \(next)")
            let index = number(of: bytes)
            // Nothing is dropped: an ordered sender's messages all come. With others, a gap is waited for for a while.
            #expect(inOrder ? index == next : index >= next)
            next = index + 1
        }
        sender.join()
        #expect(leg.reader.events.allSatisfy { if case .disconnected = $0 { false } else { true } })
    }

    /// One packet never comes, however often it is asked for, and more come behind it than can be held: all of them are delivered.
    @Test func aGapCostsNothingButItself() throws {
        let endpoint = SRTEndpoint(mode: .listener, host: "127.0.0.1", port: 0, latency: .seconds(5), ingest: .early)
        let source = try SRTSource(endpoint, mostHeld: 64)
        let first = Lock<UInt32?>(nil)
        let proxy = try ImpairmentProxy(
            to: UDPEndpoint(host: "127.0.0.1", port: source.localPort), settings: ImpairmentSettings()
        ) { datagram in
            guard let number = DataHeader(datagram)?.number else { return }
            let start = first.withLock { first in
                first = first ?? number
                return first!
            }
            if number == (start &+ 10) & 0x7fff_ffff { datagram = [] }
        }
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(proxy.localPort)?latency=5000"))
        #expect(sink.awaitPeer())
        let sender = StageThread(name: "sender") { paced(sink, 0..<300, every: .milliseconds(1)) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        var numbers: [Int] = []
        var missing: [Int64] = []
        let limit = MonotonicTime.now() + Reader.timeout
        while numbers.last != 299, .now() < limit {
            switch source.receive(into: buffer, until: limit) {
            case .message(let message): numbers.append(number(of: Array(buffer[..<message.byteCount])))
            case .event(.gap(let messages)): missing.append(messages)
            default: break
            }
        }
        sender.join()
        #expect(numbers == Array(0..<10) + Array(11..<300))
        #expect(missing == [1])
    }

    /// A reader that was held up until nothing would be waited for finds the missing message in libsrt.
    @Test func whatHasComeIsNotAbandoned() throws {
        let first = Lock<UInt32?>(nil)
        let isThere = Atomic<Bool>(false)
        let leg = try Leg(latency: 300) { datagram in
            guard let number = DataHeader(datagram)?.number else { return }
            let start = first.withLock { first in
                first = first ?? number
                return first!
            }
            if number == (start &+ 10) & 0x7fff_ffff, !isThere.load(ordering: .relaxed) { datagram = [] }
        }
        let source = leg.reader.source
        /// Waits until libsrt has so many, and filed those before the last.
        func arrived(_ count: Int64) -> Bool {
            let limit = MonotonicTime.now() + Reader.timeout
            while source.statistics().packetsReceived < count, .now() < limit {
                (MonotonicTime.now() + .milliseconds(1)).sleep()
            }
            return source.statistics().packetsReceived >= count
        }
        paced(leg.sink, 0..<20)
        for i in 0..<10 { #expect(leg.reader.nextNumber() == i) }
        #expect(arrived(19))
        // Reads what lies behind the gap out of libsrt, and holds it.
        #expect(leg.reader.isIdle)
        isThere.store(true, ordering: .relaxed)
        #expect(arrived(20))
        #expect(leg.sink.send(numbered(20)) == .sent)
        #expect(arrived(21))
        // Longer than anything is waited for.
        (MonotonicTime.now() + .milliseconds(600)).sleep()
        for i in 10..<21 { try #require(leg.reader.nextNumber() == i) }
        #expect(leg.reader.events.allSatisfy { if case .gap = $0 { false } else { true } })
    }

    @Test func blackoutBeyondTheIdleLimitReconnects() throws {
        let leg = try Leg(latency: 120)
        paced(leg.sink, 0..<5)
        for i in 0..<5 { #expect(leg.reader.nextNumber() == i) }
        leg.reader.forget()
        leg.proxy.isDark = true
        #expect(leg.reader.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        leg.proxy.isDark = false
        #expect(leg.reader.awaitConnection() != nil)
        #expect(leg.sink.awaitPeer())
        paced(leg.sink, 0..<5)
        for i in 0..<5 { #expect(leg.reader.nextNumber() == i) }
    }

    /// Ordered messages, a window of less than a round trip: what is behind a lost message comes too late.
    @Test func anUnfitLegIsReadWithTSBPDNextTime() throws {
        var settings = ImpairmentSettings()
        settings.loss = 0.1
        settings.delay = .milliseconds(20)
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=30")
        let proxy = try ImpairmentProxy(
            to: UDPEndpoint(host: "127.0.0.1", port: reader.source.localPort), settings: settings)
        let url = try StreamURL("srt://127.0.0.1:\(proxy.localPort)?latency=30")
        var ingest: [SRTEndpoint.Ingest?] = []
        var told: [LegEvent] = []
        // How many seconds that takes depends on the machine: come back until it has, for a while.
        for _ in 0..<10 where ingest.last != .tsbpd {
            told += reader.events
            reader.forget()
            let sink = try Sink(url, marksOrder: true)
            ingest.append(try #require(reader.awaitConnection()).ingest)
            #expect(sink.awaitPeer())
            let sender = StageThread(name: "sender") { paced(sink, 0..<1000, every: .milliseconds(4)) }
            while let index = reader.nextNumber(within: .seconds(1)), index < 990 {}
            sender.join()
        }
        #expect(ingest.first == .early)
        #expect(ingest.last == .tsbpd)
        // Whoever would have to break the connection for it is told.
        #expect((told + reader.events).count { $0 == .nextIngest(.tsbpd) } == 1)
    }

    @Test func garbageLeavesTheListenerAlone() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        let port = reader.source.localPort
        let noise = try Sink(StreamURL("udp://127.0.0.1:\(port)"))
        var random = SplitMix64(seed: 3)
        for _ in 0..<2000 {
            var bytes = (0..<Int(1 + random.next() % 1456)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            // Half of them look like handshakes for the listener.
            if random.next() % 2 == 0 && bytes.count > 64 {
                bytes.replaceSubrange(0..<16, with: [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }
            _ = noise.send(bytes)
        }
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(port)?latency=20"))
        #expect(reader.awaitConnection() != nil)
        #expect(sink.awaitPeer())
        paced(sink, 0..<5)
        for i in 0..<5 { #expect(reader.nextNumber() == i) }
    }
}
