import Endpoint
import Foundation
import Measure
import Media
import Testing
@testable import Packets
@testable import Transport

/// RTP legs with real sockets on loopback, on ports that the system chose.
struct RTPLoopbackTests {
    /// A sender of any packets to a leg's two ports, and the leg's reader.
    private final class Raw {
        let reader: Reader
        private let stream: Sink
        private let reports: Sink
        var source: UInt32 = 0x1234_5678
        /// What all time stamps are more than a packet's number says.
        var offset: UInt32 = 0

        init(_ query: String = "", room: Int = Message.largest) throws {
            reader = try Reader("rtp://127.0.0.1:0\(query)", room: room)
            let port = reader.source.localPort
            stream = try Sink(StreamURL("udp://127.0.0.1:\(port)"))
            reports = try Sink(StreamURL("udp://127.0.0.1:\(port + 1)"))
        }

        func packet(_ number: Int, _ payload: [UInt8], type: UInt8 = 33) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 12)
            let header = RTPHeader(
                payloadType: type, sequence: UInt16(truncatingIfNeeded: number),
                timestamp: UInt32(truncatingIfNeeded: number * 3_000) &+ offset, source: source)
            bytes.withUnsafeMutableBytes { header.write(to: $0) }
            return bytes + payload
        }

        /// Sends a numbered message.
        func send(_ number: Int, type: UInt8 = 33) {
            #expect(stream.send(packet(number, numbered(number, count: 188), type: type)) == .sent)
        }
        /// Sends and reads messages until one has the time of its arrival. The kernel begins to stamp packets some time after
        /// the first socket has asked for it; until then they bear the time at which they are read.
        /// - Returns: the next message's number.
        func sendUntilStamped() throws -> Int {
            for number in 0... {
                send(number)
                let sent = MonotonicTime.now()
                (sent + .milliseconds(4)).sleep()
                if try #require(reader.next()).message.arrival < sent + .milliseconds(2) { return number + 1 }
            }
            fatalError("there are numbers without end")
        }

        func send(datagram: [UInt8]) { #expect(stream.send(datagram) == .sent) }
        func send(report: [UInt8]) { #expect(reports.send(report) == .sent) }

        func report(goodbye: Bool = false) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: RTCPDatagram.mostBytes)
            let said = SenderReport(source: source, wallClock: wallClockNow(), timestamp: 1)
            let count = bytes.withUnsafeMutableBytes { RTCPDatagram.write(said, name: 1, isGoodbye: goodbye, to: $0) }
            return Array(bytes[..<count])
        }

        var figures: LegFigures { reader.source.statistics() }
        var gaps: [Int64] { reader.events.compactMap { if case .gap(let messages) = $0 { messages } else { nil } } }
        func refusals(with text: String) -> Int {
            reader.events.count { if case .refused(let reason) = $0 { reason.contains(text) } else { false } }
        }
        func disconnections(with text: String) -> Int {
            reader.events.count { if case .disconnected(let reason) = $0 { reason.contains(text) } else { false } }
        }

        /// Reads on until something holds.
        func read(until isSo: () -> Bool) -> Bool {
            let limit = MonotonicTime.now() + Reader.timeout
            while !isSo() {
                guard .now() < limit else { return false }
                _ = reader.next(within: .milliseconds(5))
            }
            return true
        }
    }

    @Test(arguments: ["127.0.0.1", "[::1]"]) func whatIsSentIsReceived(host: String) throws {
        let reader = try Reader("rtp://\(host):0?latency=50")
        var sink: Sink? = try Sink(StreamURL("rtp://\(host):\(reader.source.localPort)"))
        var first: Int64?
        for i in 0..<100 {
            #expect(sink?.send(numbered(i, count: 188 * (1 + i % 7))) == .sent)
            let (message, bytes) = try #require(reader.next())
            #expect(bytes == numbered(i, count: 188 * (1 + i % 7)))
            first = first ?? message.sequence
            #expect(message.sequence == first! + Int64(i))
        }
        #expect(
            reader.events.first
                == .listening(
                    ListeningPlace(scheme: "rtp", host: host.filter { $0 != "[" && $0 != "]" }, port: reader.source.localPort)))
        guard case .connected(let connection) = reader.events.last else { throw CancellationError() }
        #expect(connection.window == .milliseconds(50) && connection.peer.hasPrefix(host))
        let (input, output) = (reader.source.statistics(), try #require(sink?.statistics()))
        #expect(input.packetsReceived == 100 && input.packetsLost == 0 && input.bytesReceived == output.bytesSent)
        #expect(input.isConnected && input.window == .milliseconds(50) && reader.source.negotiatedWindow == input.window)
        #expect(output.packetsSent == 100 && output.reports == 1 && output.packetsDropped == 0)
        // Whoever ends says so.
        sink = nil
        let goodbye = LegEvent.disconnected(reason: "the sender said goodbye")
        #expect(reader.wait(for: { $0 == goodbye }) != nil)
        #expect(!reader.source.statistics().isConnected && reader.source.negotiatedWindow == .zero)
        #expect(reader.source.statistics().reports == 2)
    }

    /// What the sink writes, packet by packet.
    @Test func packetsAreAsTheStandardHasThem() throws {
        let sockets = try RTPSockets.bound(to: RTPEndpoint(host: "127.0.0.1", port: 0))
        let bell = Bell()
        let sink = try Sink(StreamURL("rtp://127.0.0.1:\(sockets.stream.localPort)"))
        let begin = MonotonicTime.now()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_000, alignment: 16)
        defer { buffer.deallocate() }
        let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        var before: RTPHeader?
        for i in 0..<50 {
            let sourceTime = begin + .milliseconds(Double(i) * 40)
            #expect(sink.send(numbered(i), sourceTime: sourceTime) == .sent)
            let ready = sockets.stream.wait(or: bell, until: .now() + Reader.timeout)
            #expect(ready == .ready)
            let received = sockets.stream.receive(none, buffer)
            let datagram = try #require(received)
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<datagram.byteCount])
            guard let header = RTPHeader(reading: Span(_unsafeBytes: bytes)) else {
                Issue.record("no RTP")
                return
            }
            #expect(header.payloadType == 33 && Array(bytes[12...]) == numbered(i) && bytes[0] == 0x80 && bytes[1] == 33)
            if let before {
                #expect(header.sequence == before.sequence &+ 1 && header.source == before.source)
                let ticks = header.timestamp &- before.timestamp
                #expect((3_599...3_601).contains(ticks))
            }
            before = header
        }
        let ready = sockets.reports.wait(or: bell, until: .now() + Reader.timeout)
        #expect(ready == .ready)
        let received = sockets.reports.receive(none, buffer)
        let datagram = try #require(received)
        let said = RTCPDatagram(reading: Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<datagram.byteCount])))
        let report = try #require(said?.report)
        // It came behind the first packet, and dates the same stamps.
        #expect(report.source == before?.source && report.packets == 1 && report.bytes == 1316)
        let age = Double(Int32(bitPattern: before!.timestamp &- report.timestamp)) / 90_000
        #expect(abs(age - 49 * 0.04) < 0.5)
    }

    /// Overtaken packets are delivered in order, doubled ones once. Lost ones are reported when the wait for them is over.
    @Test func packetsComeInOrder() throws {
        let raw = try Raw("?latency=200")
        for number in [65_530, 65_532, 65_531, 65_531, 65_532, 65_533, 65_535, 65_536, 65_534, 65_537, 65_537, 65_540, 65_541] {
            raw.send(number)
        }
        for number in 65_530...65_537 { #expect(raw.reader.nextNumber() == number) }
        #expect(raw.gaps.isEmpty)
        // In time after all.
        raw.send(65_538)
        #expect(raw.reader.nextNumber() == 65_538 && raw.gaps.isEmpty)
        #expect(raw.reader.nextNumber() == 65_540 && raw.gaps == [1])
        #expect(raw.reader.nextNumber() == 65_541)
        // Too late.
        raw.send(65_539)
        raw.send(65_542)
        #expect(raw.reader.nextNumber() == 65_542 && raw.gaps == [1])
        let figures = raw.figures
        #expect(figures.packetsReceived == 16 && figures.packetsDropped == 1 && figures.packetsLost == 4)
        #expect(figures.packetsUnexpected == 0)
    }

    /// A reader that was held up finds the missing packet among the others.
    @Test func whatHasComeIsNotGivenUp() throws {
        let raw = try Raw("?latency=50")
        raw.send(0)
        #expect(raw.reader.nextNumber() == 0)
        for number in [2, 4, 3, 1, 5] { raw.send(number) }
        (MonotonicTime.now() + .milliseconds(60)).sleep()
        for number in 1...5 { try #require(raw.reader.nextNumber() == number) }
        #expect(raw.gaps.isEmpty && raw.figures.packetsDropped == 0)
    }

    /// Nor does a flood prolong a wait: a gap is abandoned once something has come that came after its deadline.
    @Test func aHoleIsGivenUpInAFlood() throws {
        let raw = try Raw("?latency=50")
        raw.send(0)
        #expect(raw.reader.nextNumber() == 0)
        raw.send(2)
        (MonotonicTime.now() + .milliseconds(60)).sleep()
        for _ in 0..<50 { raw.send(9, type: 96) }
        #expect(raw.reader.nextNumber() == 2 && raw.gaps == [1])
        #expect(raw.figures.packetsUnexpected == 1)
    }

    /// What is of no use does not keep the reader's thread, which may have been called.
    @Test(arguments: [true, false]) func aFloodDoesNotHoldTheReader(isCalled: Bool) throws {
        let raw = try Raw()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        for _ in 0..<150 { raw.send(9, type: 96) }
        raw.send(0)
        #expect(raw.reader.wait(for: { if case .refused = $0 { true } else { false } }) != nil)
        var looks = 0
        while raw.figures.connections == 0, looks < 10 {
            if isCalled { raw.reader.source.interrupt() }
            // An hour, if it were not called.
            let limit = MonotonicTime.now() + .seconds(isCalled ? 3_600 : 0)
            guard case .idle = raw.reader.source.receive(into: buffer, until: limit) else { break }
            looks += 1
            #expect(raw.figures.packetsUnexpected == 1 + Int64(looks) * 64)
        }
        // The packet's source was reported then.
        #expect(looks == 2)
        #expect(raw.reader.nextNumber() == 0)
    }

    /// A burst with a gap at its beginning, longer than can be held: everything that has come is delivered.
    @Test func aHoleCostsNothingButItself() throws {
        let raw = try Raw("?latency=5000")
        raw.send(0)
        #expect(raw.reader.nextNumber() == 0)
        // More than the socket's buffer holds would be lost: some are read now and then.
        var numbers: [Int] = []
        for number in 2..<1_500 {
            raw.send(number)
            while number % 50 == 0, let read = raw.reader.nextNumber(within: .milliseconds(1)) { numbers.append(read) }
        }
        while numbers.last != 1_499, let read = raw.reader.nextNumber() { numbers.append(read) }
        #expect(numbers == Array(2..<1_500) && raw.gaps == [1])
    }

    @Test func headersOfAnyLengthAreTakenOff() throws {
        let raw = try Raw(room: 9_300)
        raw.send(0)
        #expect(raw.reader.nextNumber() == 0)
        for (number, hold) in [(1, false), (2, true), (4, true)] {
            if hold { raw.send(number + 1) }
            var packet = raw.packet(number, numbered(number, count: 376))
            packet[0] = 0xb2
            packet.insert(contentsOf: bytes("aaaaaaaa bbbbbbbb beef 0002 cccccccc dddddddd"), at: 12)
            packet += [0, 0, 3]
            raw.send(datagram: packet)
            #expect(try #require(raw.reader.next()).bytes == numbered(number, count: 376))
            if hold { #expect(raw.reader.nextNumber() == number + 1) }
        }
    }

    /// Nothing but a header is a packet too: its number is not missing.
    @Test func emptyPacketsCount() throws {
        let raw = try Raw()
        raw.send(0)
        raw.send(datagram: raw.packet(1, []))
        raw.send(datagram: raw.packet(3, []))
        raw.send(2)
        #expect(raw.reader.nextNumber() == 0)
        #expect(try #require(raw.reader.next()).bytes.isEmpty)
        #expect(raw.reader.nextNumber() == 2)
        #expect(try #require(raw.reader.next()).bytes.isEmpty && raw.gaps.isEmpty)
    }

    @Test func unexpectedPayloadsAreReportedOnce() throws {
        let raw = try Raw()
        for number in 0..<20 { raw.send(number, type: 96) }
        for _ in 0..<20 { raw.send(datagram: [0x47, 0x40, 0x11, 0x10] + numbered(0, count: 184)) }
        #expect(raw.read(until: { raw.figures.packetsUnexpected == 40 }))
        #expect(raw.refusals(with: "payload type 96") == 1 && raw.refusals(with: "ffmpeg: -f rtp_mpegts)") == 2)
        #expect(raw.refusals(with: "udp://") == 1 && raw.reader.events.count == 3)
        raw.send(3)
        #expect(raw.reader.nextNumber() == 3)
        #expect(raw.figures.packetsReceived == 1)
    }

    /// Some encoders send transport streams with a payload type of the dynamic range, or another one.
    @Test func transportPacketsAreReadWhateverTheirPayloadType() throws {
        let raw = try Raw()
        let packets: [UInt8] = (0..<2).flatMap { (k: Int) -> [UInt8] in [0x47, 0, 0x11, 0x10] + numbered(k, count: 184) }
        for (number, type) in [(0, 96), (1, 35), (2, 33)] as [(Int, UInt8)] {
            raw.send(datagram: raw.packet(number, packets, type: type))
            #expect(try #require(raw.reader.next()).bytes == packets)
        }
        // What only begins like one is something else, and so is a part of one.
        let others: [[UInt8]] = [packets[..<188] + numbered(0, count: 188), Array(packets[..<300]), packets + [0x47]]
        for other in others { raw.send(datagram: raw.packet(3, other, type: 96)) }
        #expect(raw.read(until: { raw.figures.packetsUnexpected == 3 }))
        #expect(raw.refusals(with: "payload type 96") == 1)
        raw.send(datagram: raw.packet(3, packets, type: 96))
        #expect(try #require(raw.reader.next()).bytes == packets && raw.gaps.isEmpty)
    }

    @Test func anotherSourceWaitsForTheSilenceOfTheFirst() throws {
        let raw = try Raw()
        raw.send(0)
        #expect(raw.reader.nextNumber() == 0)
        raw.source = 99
        raw.send(7_000)
        raw.send(7_001)
        #expect(raw.read(until: { raw.figures.packetsUnexpected == 2 }))
        #expect(raw.refusals(with: "another source") == 1)
        // It goes on to send, and is heard when the first has been silent for a while.
        var next = 7_002
        let limit = MonotonicTime.now() + Reader.timeout
        var heard: Int?
        while heard == nil, .now() < limit {
            raw.send(next)
            heard = raw.reader.nextNumber(within: .milliseconds(5))
            next += 1
        }
        // A slow machine may read it when the next one has been sent.
        #expect(heard.map { (7_002..<next).contains($0) } == true)
        #expect(raw.disconnections(with: "another source") == 1 && raw.figures.connections == 2)
        #expect(raw.gaps.isEmpty)
    }

    @Test func aSourceThatCountsAnewIsANewOne() throws {
        let raw = try Raw("?latency=5000")
        for number in [0, 1, 3] { raw.send(number) }
        #expect(raw.reader.nextNumber() == 0 && raw.reader.nextNumber() == 1)
        raw.send(40_000)
        raw.send(40_001)
        raw.send(40_002)
        // What was there comes first, without waiting for what is missing.
        #expect(raw.reader.nextNumber() == 3 && raw.gaps == [1])
        #expect(raw.reader.nextNumber() == 40_001 && raw.reader.nextNumber() == 40_002)
        #expect(raw.disconnections(with: "began anew") == 1 && raw.figures.connections == 2)
        #expect(raw.figures.packetsUnexpected == 1)
    }

    /// Its numbers lie within those that may have been overtaken. Its time stamps show that they have not.
    @Test(arguments: [1, 20, 400]) func aSourceThatBeginsAnewNearbyIsANewOne(behind: Int) throws {
        let raw = try Raw("?latency=5000")
        for number in 0...500 {
            raw.send(number)
            #expect(raw.reader.nextNumber() == number)
        }
        raw.offset = 123_456
        for number in 500 - behind...510 - behind { raw.send(number) }
        for number in 501 - behind...510 - behind { try #require(raw.reader.nextNumber() == number) }
        #expect(raw.disconnections(with: "began anew") == 1 && raw.figures.connections == 2)
        #expect(raw.figures.packetsUnexpected == 1 && raw.gaps.isEmpty)
    }

    /// Packets that came while nobody read have the time of their arrival.
    @Test func aSourceDoesNotGiveWayToAStall() throws {
        // The sender must not have been held up itself: then this is tried again.
        for _ in 0..<10 {
            let raw = try Raw()
            let begin = MonotonicTime.now()
            let first = try raw.sendUntilStamped()
            let ours = raw.source
            raw.source = 99
            for number in 7_000..<7_010 { raw.send(number) }
            raw.source = ours
            raw.send(first)
            guard MonotonicTime.now() - begin < RTPFeed.silenceTimeout else { continue }
            (MonotonicTime.now() + RTPFeed.silenceTimeout + .milliseconds(50)).sleep()
            #expect(raw.reader.nextNumber() == first)
            #expect(raw.figures.connections == 1 && raw.figures.packetsUnexpected == 10)
            return
        }
        Issue.record("the machine never sent twelve packets within a second")
    }

    /// Reports on the port above and on the stream's own are applied, those of other sources are not.
    @Test func reportsAreTakenFromBothPorts() throws {
        let raw = try Raw()
        raw.send(0)
        #expect(raw.reader.nextNumber() == 0)
        raw.send(report: raw.report())
        raw.send(datagram: raw.report())
        let source = raw.source
        raw.source = 5
        raw.send(report: raw.report(goodbye: true))
        raw.source = source
        raw.send(report: [1, 2, 3])
        #expect(raw.read(until: { raw.figures.reports == 2 && raw.figures.packetsUnexpected == 1 }))
        #expect(raw.reader.events.count == 2)
        raw.send(datagram: raw.report(goodbye: true))
        #expect(raw.read(until: { raw.disconnections(with: "goodbye") == 1 }))
    }

    /// Whatever comes, at whichever port: nothing crashes, and the stream goes on.
    @Test(arguments: 0..<3) func noDatagramCrashes(seed: UInt64) throws {
        let raw = try Raw()
        var random = SplitMix64(seed: seed)
        raw.send(0)
        #expect(raw.reader.nextNumber() == 0)
        let ours = raw.source
        var base = 0
        for i in 0..<4_000 {
            // Mostly packets of the stream or reports with a few bytes changed, some noise. The stream begins anew now and
            // then, near where it was or far off, in its numbers or its time stamps, and repeats itself.
            raw.source = random.next() % 3 == 0 ? UInt32(truncatingIfNeeded: random.next()) : ours
            if random.next() % 200 == 0 { raw.offset = UInt32(truncatingIfNeeded: random.next()) }
            if random.next() % 200 == 0 { base += Int(random.next() % 4_000) - 2_000 }
            let number = base + i - Int(random.next() % 40) * Int(random.next() % 2)
            var bytes =
                switch random.next() % 3 {
                case 0: (0..<Int(1 + random.next() % 1_456)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                case 1: raw.packet(number, numbered(i, count: 188))
                default: raw.report(goodbye: random.next() % 50 == 0)
                }
            for _ in 0..<random.next() % 4 {
                bytes[Int(random.next() % UInt64(min(bytes.count, 64)))] = UInt8(truncatingIfNeeded: random.next())
            }
            random.next() % 2 == 0 ? raw.send(datagram: bytes) : raw.send(report: bytes)
            if i % 16 == 0 { while raw.reader.next(within: .zero) != nil {} }
        }
        // Whichever source is served now, it gives way to ours.
        raw.source = ours
        var number = 50_000
        #expect(
            raw.read {
                number += 1
                raw.send(number)
                return raw.reader.nextNumber(within: .milliseconds(1)) == number
            })
    }

    @Test func portsComeInPairs() throws {
        let sources = try (0..<8).map { _ in try Source(StreamURL("rtp://127.0.0.1:0")) }
        for source in sources {
            // Both ports are in use.
            for port in [source.localPort, source.localPort + 1] {
                let error = #expect(throws: TransportError.self) { _ = try Source(StreamURL("udp://127.0.0.1:\(port)")) }
                #expect(error?.code == .cannotBind)
            }
        }
        // The port below one in use has no port for its reports.
        let lower = sources[0].localPort - 1
        if (try? Source(StreamURL("udp://127.0.0.1:\(lower)"))) != nil {
            let error = #expect(throws: TransportError.self) { _ = try Source(StreamURL("rtp://127.0.0.1:\(lower)")) }
            #expect(error?.code == .cannotBind && error?.description.contains("RTCP has port \(lower + 1)") == true)
        }
    }

    @Test func outputsSayWhatTheyNeed() {
        for (url, hint) in [
            ("rtp://:5004", "needs a host"), ("rtp://127.0.0.1:0", "a port"), ("rtp://h:5004?latency=3", "inputs"),
        ] {
            let error = #expect(throws: TransportError.self) { _ = try Sink(StreamURL(url)) }
            #expect(error?.code == .badURL && error?.message.contains(hint) == true)
        }
    }

    /// Two proxies on neighbouring ports, for a stream and its reports.
    private func impairedPair(
        to port: UInt16, _ settings: ImpairmentSettings
    ) throws -> (stream: ImpairmentProxy, reports: ImpairmentProxy) {
        while true {
            let stream = try ImpairmentProxy(to: UDPEndpoint(host: "127.0.0.1", port: port), settings: settings)
            guard stream.localPort < .max,
                let reports = try? ImpairmentProxy(
                    port: stream.localPort + 1, to: UDPEndpoint(host: "127.0.0.1", port: port + 1), settings: settings)
            else { continue }
            return (stream, reports)
        }
    }

    /// Jitter, reordering and loss on the way: packets come in order, and each is received or reported missing.
    @Test func aBadNetworkIsAccountedFor() throws {
        let reader = try Reader("rtp://127.0.0.1:0?latency=100")
        var settings = ImpairmentSettings()
        settings.loss = 0.02
        settings.delay = .milliseconds(5)
        settings.jitter = .milliseconds(3)
        settings.reorder = 0.05
        settings.reorderBy = .milliseconds(6)
        settings.seed = 4
        let (proxy, reports) = try impairedPair(to: reader.source.localPort, settings)
        let sink = try Sink(StreamURL("rtp://127.0.0.1:\(proxy.localPort)"))
        let sender = StageThread(name: "sender") {
            let start = MonotonicTime.now()
            for i in 0..<1_000 {
                (start + .milliseconds(2) * Int64(i)).sleep()
                _ = sink.send(numbered(i))
            }
        }
        var numbers: [Int] = []
        while let index = reader.nextNumber(within: numbers.isEmpty ? Reader.timeout : .seconds(1)) { numbers.append(index) }
        sender.join()
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        let gaps = reader.events.reduce(0) { if case .gap(let messages) = $1 { $0 + Int(messages) } else { $0 } }
        #expect(numbers.last! - numbers[0] + 1 == numbers.count + gaps)
        let figures = reader.source.statistics()
        #expect(gaps > 0 && figures.packetsDropped == gaps && figures.packetsLost > gaps)
        // A packet of an abandoned gap that comes after all counts as received, too.
        #expect(Int(figures.packetsReceived) >= numbers.count && Int(figures.packetsReceived) <= 1_000)
        #expect(gaps <= Int(proxy.counts.lost) + Int(figures.packetsReceived) - numbers.count)
        #expect(reports.counts.forwarded + reports.counts.lost >= 1)
    }
}
