import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import WorkerProtocol
@testable import Packets
@testable import Relay
@testable import Transport
@testable import WebRTC
@testable import Worker

/// A call whose viewers have links of their own, over sockets. The peers of the call run on the test's thread. What a link carries is made
/// up: its viewer says by its reports when packets came, and which were lost. Packets come by the times that they bear, so it does not
/// matter how busy the machine is.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ViewerLinkTests {
    private typealias Far = PortLoopbackTests.Far

    /// A way to a viewer: it carries so many bits a second, loses packets, and has a queue that drops what is too much.
    private struct Link {
        var capacity: Double
        /// Every so manieth packet is lost.
        var losesEvery: Int
        private var count = 0
        private var isFreeAt = MonotonicTime(nanoseconds: 0)
        private static let longestQueue = Nanoseconds.milliseconds(300)

        static let wide = Link(capacity: 100_000_000, losesEvery: .max)

        init(capacity: Double, losesEvery: Int) { (self.capacity, self.losesEvery) = (capacity, losesEvery) }

        /// When a packet comes; nil for one that is lost.
        mutating func carry(_ byteCount: Int, sent: MonotonicTime) -> MonotonicTime? {
            count += 1
            guard count % losesEvery > 0, isFreeAt - sent < Self.longestQueue else { return nil }
            isFreeAt = max(isFreeAt, sent) + .seconds(Double(byteCount * 8) / capacity)
            return isFreeAt
        }
    }

    /// One of the call's peers.
    private final class Member {
        var far: Far

        init(_ number: UInt64, _ side: CallSide, _ offer: String, to calls: StreamCalls, _ identity: DTLSIdentity) throws {
            let local = PeerAddress(ipv4: 0x7f00_0001, port: 0)
            far = try Far(.client, local, at: local, fingerprint: identity.fingerprint)
            let description = offer.replacing(StreamCallsTests.fingerprint, with: far.peer.identity.fingerprint.sdp)
            let answer = try calls.answer(OfferedCall(number: number, stream: "a", side: side, description: description)).get()
            try StreamCallsTests.read(answer, into: &far)
            far.send(far.peer.check())
            let peer = far.peer
            #expect(far.run { peer.state == .connected })
        }

        func send(_ kind: PacketKind, _ packet: [UInt8]) { far.send(far.peer.protect(kind, packet)) }

        /// Reads all that has come.
        /// - Returns: the packets of media and their reports.
        func receive() -> [(kind: PacketKind, bytes: [UInt8])] {
            let known = far.peer.packets.count
            var bytes = [UInt8](repeating: 0, count: 2048)
            while let arrived = bytes.withUnsafeMutableBytes({ unsafe far.socket.receive(into: $0) }) {
                for datagram in far.peer.receive(Array(bytes[..<arrived.byteCount])) { far.send(datagram) }
            }
            return Array(far.peer.packets[known...])
        }
    }

    /// Sends H.264 as it was coded, and begins anew with a keyframe whenever it is asked for one.
    private final class Publisher {
        private final class Wire: RTPSendWire {
            let packets = Lock<[(kind: PacketKind, bytes: [UInt8])]>([])

            func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
                let bytes = Array(packet)
                packets.withLock { $0.append((isControl ? .rtcp : .rtp, bytes)) }
                return .sent
            }
        }

        let pictures: [TestStream.Coded]
        private let caller: Member
        private let wire = Wire()
        private let viewers = RTPViewers(capacity: 1)
        private let sender: RTPViewer
        private var next = 0
        private var requests: Int64 = 0
        private(set) var sent = 0

        init(_ caller: Member) throws {
            self.caller = caller
            let size = PictureSize(width: 320, height: 192)
            pictures = TestStream.coded(in: try TestStream.video(frames: 120, size: size, keyframeEvery: 1_000))
            sender = try #require(viewers.add([RTPTrack([RTPFormat(.h264, payloadType: 109)])], wire, peer: "relay"))
        }

        /// Sends the next picture, 33 ms after the one before by its time stamp.
        func send() {
            let asked = sender.feedback.keyframeRequests
            if asked > requests { (requests, next) = (asked, 0) }
            let time = MediaTime(ticks: Int64(sent) * 3_000)
            var payloads = MediaPayloads()
            pictures[next % pictures.count].bytes.withUnsafeBytes { bytes in
                payloads.forEach(of: MediaUnit(kind: .video, bytes: bytes, presentation: time)) { head, body, time, isMarked in
                    _ = sender.send(head, body, .video, presentation: time, sourceTime: .now(), isMarked: isMarked)
                }
            }
            (next, sent) = (next + 1, sent + 1)
            let packets = wire.packets.withLock { packets in
                defer { packets = [] }
                return packets
            }
            for packet in packets { caller.send(packet.kind, packet.bytes) }
        }

        func receive() {
            for packet in caller.receive() where packet.kind == .rtcp {
                packet.bytes.withUnsafeBytes { sender.receive($0, at: .now()) }
            }
        }

        /// The last payload of each of its pictures.
        var ends: Set<[UInt8]> {
            var all: Set<[UInt8]> = []
            for picture in pictures {
                var payloads = MediaPayloads()
                picture.bytes.withUnsafeBytes { bytes in
                    let unit = MediaUnit(kind: .video, bytes: bytes, presentation: MediaTime(ticks: 0))
                    payloads.forEach(of: unit) { head, body, _, isMarked in
                        if isMarked { all.insert(Array(head) + Array(body)) }
                    }
                }
            }
            return all
        }
    }

    private final class Viewer {
        struct Picture {
            var timestamp: UInt32
            var isKeyframe: Bool
            /// Of its last packet.
            var payload: [UInt8]
        }

        private let caller: Member
        private let map: RTPExtensionMap
        /// Nil: the viewer reports nothing.
        var link: Link?
        private var sendTimes = SequenceUnwrapper(bits: 24)
        private var arrivals = PacketArrivals()
        private var newest: UInt16?
        private var isKeyframe = false
        private(set) var pictures: [Picture] = []
        private(set) var packets: Int64 = 0
        private(set) var gaps = 0

        init(_ caller: Member, link: Link? = nil) {
            (self.caller, self.link) = (caller, link)
            map = RTPExtensionMap([
                SDPHeaderExtension(id: 2, uri: RTPExtensionMap.URI.absoluteSendTime),
                SDPHeaderExtension(id: 4, uri: RTPExtensionMap.URI.transportSequence),
            ])
        }

        /// Reads what has come over the socket, and tells when it comes over the link.
        func receive() {
            for packet in caller.receive() where packet.kind == .rtp {
                guard let read = RTPPacket(reading: packet.bytes.span, map: map), read.payloadType == 109 else { continue }
                if let newest, read.sequence != newest &+ 1 { gaps += 1 }
                newest = read.sequence
                packets += 1
                let payload = Array(packet.bytes[read.payload])
                if Self.beginsKeyframe(payload) { isKeyframe = true }
                if read.isMarked {
                    pictures.append(Picture(timestamp: read.timestamp, isKeyframe: isKeyframe, payload: payload))
                    isKeyframe = false
                }
                guard let number = read.extensions.transportSequence, let stamp = read.extensions.absoluteSendTime else {
                    continue
                }
                let sent = MonotonicTime(nanoseconds: (sendTimes.unwrap(Int64(stamp)) * 1_000_000_000) >> 18)
                if let time = link?.carry(packet.bytes.count, sent: sent) { arrivals.record(number, at: time) }
            }
            guard arrivals.claim() else { return }
            var writer = RTCPWriter()
            writer.arrivals(arrivals.report, from: 1, media: 5)
            caller.send(.rtcp, writer.bytes)
        }

        /// Whether a packet has parameter sets or a piece of an instantaneous refresh (RFC 6184).
        private static func beginsKeyframe(_ payload: [UInt8]) -> Bool {
            let kind = payload[0] & 31
            return [5, 7].contains(kind) || kind == 24 && payload[3] & 31 == 7 || kind == 28 && payload[1] & 31 == 5
        }

        /// Pictures that come one after the other, of the same layer: whose they are, and how many.
        func runs(_ ends: Set<[UInt8]>) -> [(isSent: Bool, pictures: ArraySlice<Picture>)] {
            var runs: [(isSent: Bool, pictures: ArraySlice<Picture>)] = []
            for (place, picture) in pictures.enumerated() {
                let isSent = ends.contains(picture.payload)
                if runs.last?.isSent != isSent { runs.append((isSent, pictures[place..<place])) }
                runs[runs.count - 1].pictures = pictures[runs[runs.count - 1].pictures.startIndex...place]
            }
            return runs
        }
    }

    /// Media of one H.264 format. A viewer who does not tell when packets come is one whose link nobody knows.
    private static func offer(_ side: CallSide, tells: Bool) -> String {
        var text = CallOfferTests.edited(("id=64001f", "id=f4001f"))
        if !tells { text = text.replacing("a=rtcp-fb:109 transport-cc\n", with: "") }
        return side == .play ? text.replacing("a=sendonly", with: "a=recvonly") : text
    }

    /// A relay with its publisher and two viewers, of whom the second one tells when packets come.
    private final class Call {
        let calls: StreamCalls
        let relay: Relay
        let publisher: Publisher
        let good: Viewer
        let poor: Viewer
        private let thread: StageThread
        private let outcome = Outcome()
        private var due = MonotonicTime.now()

        private final class Outcome: Sendable {
            let report = Lock<RelayReport?>(nil)
        }

        static let (goodNumber, poorNumber): (UInt64, UInt64) = (2, 3)

        /// - Parameter small: the smaller encode that the output asks for.
        init(small: String = "") throws {
            let identity = try #require(DTLSIdentity())
            var configuration = RelayConfiguration(input: try StreamURL("whip:a"), output: try StreamURL("whep:a\(small)"))
            configuration.settings.budget = .seconds(60)
            configuration.settings.tier = .base
            configuration.settings.interpolate = 1
            configuration.settings.bitRateFloor = 2_000_000
            configuration.settings.bitRate = 3_000_000
            configuration.options.keepOutput = false
            calls = try #require(try StreamCalls(&configuration, identity: identity) { _, _, _ in })
            let relay = try Relay(configuration)
            self.relay = relay
            thread = StageThread(name: "relay") { [outcome] in
                let report = try? relay.run { _ in }
                outcome.report.withLock { $0 = report }
            }
            publisher = try Publisher(Member(1, .publish, ViewerLinkTests.offer(.publish, tells: false), to: calls, identity))
            good = Viewer(try Member(Self.goodNumber, .play, ViewerLinkTests.offer(.play, tells: false), to: calls, identity))
            poor = Viewer(
                try Member(Self.poorNumber, .play, ViewerLinkTests.offer(.play, tells: true), to: calls, identity), link: .wide)
            // Who comes later misses pictures.
            while relay.channels.connection.receiversSoFar < 2 { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }

        /// What the second viewer gets.
        var layer: ViewerLayer? { calls.callers.first { $0.id == Caller.firstCall | Self.poorNumber }?.layer }

        private func hasAll(_ viewer: Viewer, _ number: UInt64) -> Bool {
            viewer.packets == calls.callers.first { $0.id == Caller.firstCall | number }?.figures.packetsSent
        }

        /// Sends pictures until something is so, each when everybody has the one before, and no faster than they are to be shown.
        func send(least: Int = 0, until isDone: () -> Bool) {
            let first = publisher.sent
            let ledger = relay.channels.books.ledger
            while publisher.sent < first + least || !isDone() {
                publisher.send()
                due = max(due + .milliseconds(33), .now())
                while ledger.books.originals < UInt64(publisher.sent) || ledger.inFlight > 0 || .now() < due
                    || !hasAll(good, Self.goodNumber) || !hasAll(poor, Self.poorNumber)
                {
                    publisher.receive()
                    good.receive()
                    poor.receive()
                    (MonotonicTime.now() + .milliseconds(1)).sleep()
                }
            }
        }

        func end() -> RelayReport? {
            relay.stop()
            thread.join()
            calls.close()
            return outcome.report.withLock { $0 }
        }

        /// Checks that the second viewer has had these layers, each from a keyframe on and without a pause, and the first one every picture.
        func check(_ layers: [ViewerLayer], _ report: RelayReport) throws {
            let ends = publisher.ends
            let runs = poor.runs(ends)
            #expect(runs.map { $0.isSent ? .sent : .enhanced } == layers, "\(runs.map { ($0.isSent, $0.pictures.count) })")
            #expect(runs.allSatisfy { $0.pictures.first?.isKeyframe == true })
            #expect(poor.gaps == 0 && good.gaps == 0)
            for (before, after) in zip(poor.pictures, poor.pictures.dropFirst()) {
                #expect((3_000...6_000).contains(after.timestamp &- before.timestamp))
            }
            #expect(good.runs(ends).map(\.isSent) == [false] && good.pictures.count == publisher.sent)
            for (before, after) in zip(good.pictures, good.pictures.dropFirst()) {
                #expect(after.timestamp &- before.timestamp == 3_000)
            }
            let units = try #require(report.outputs[0].units)
            #expect(units.balance && units.sent == UInt64(good.pictures.count + poor.pictures.count), "\(report.text)")
            #expect(report.frames.balance && report.frames.dropped == 0, "\(report.text)")
        }
    }

    /// A viewer's link becomes narrow, and loses packets: they get the publisher's own pictures, from a keyframe on. It widens, and they
    /// get the enhanced ones again. The other viewer does not notice.
    @Test func whoseLinkIsNarrowGetsThePublishersPicturesUntilItWidens() throws {
        let call = try Call()
        call.send(least: 20) { call.layer == .enhanced }
        call.poor.link = Link(capacity: 900_000, losesEvery: 50)
        call.send { call.layer == .sent }
        call.send(least: 30) { true }
        call.poor.link = .wide
        call.send { call.layer == .enhanced }
        call.send(least: 20) { true }
        let report = try #require(call.end())
        try call.check([.enhanced, .sent, .enhanced], report)
        #expect(report.counters["viewers_to_sent"] == 1 && report.counters["viewers_to_enhanced"] == 1, "\(report.text)")
    }

    /// A viewer's link becomes too narrow for the publisher's pictures, too: they get the smaller encode, all of it. The other viewer gets
    /// every picture.
    @Test func whoseLinkCarriesNothingElseGetsTheSmallerEncode() throws {
        let call = try Call(small: "?small=160x96@150k")
        call.send(least: 20) { call.layer == .enhanced }
        call.poor.link = Link(capacity: 200_000, losesEvery: 50)
        call.send { call.layer == .small }
        let counters = call.relay.channels.books.counters
        let (pictures, encoded) = (call.poor.pictures.count, counters[.extraEncoded])
        // It changes with the link, and not before that.
        call.send(least: 60) { true }
        #expect(call.layer == .small)
        let added = Int(counters[.extraEncoded] - encoded)
        #expect(added + Int(counters[.extraReplaced] + counters[.extraThinned]) >= 57)
        // One may be on its way at both ends.
        #expect(call.poor.pictures.count - pictures >= added * 95 / 100 - 1)
        let report = try #require(call.end())
        #expect(call.poor.gaps == 0 && call.good.gaps == 0)
        for (before, after) in zip(call.poor.pictures, call.poor.pictures.dropFirst()) {
            #expect(after.timestamp &- before.timestamp >= 3_000)
        }
        #expect(call.good.pictures.count == call.publisher.sent)
        for (before, after) in zip(call.good.pictures, call.good.pictures.dropFirst()) {
            #expect(after.timestamp &- before.timestamp == 3_000)
        }
        #expect(report.counters["viewers_to_small"] ?? 0 >= 1 && report.counters["extra_pictures_failed"] == nil)
        let units = try #require(report.outputs[0].units)
        #expect(units.balance && report.frames.balance && report.frames.dropped == 0, "\(report.text)")
    }

    /// A viewer of a running call asks for the publisher's own pictures, and then for what their link carries.
    @Test func aRunningCallChangesItsLayer() throws {
        let call = try Call()
        call.send(least: 5) { call.layer == .enhanced }
        call.calls.choose(.sent, forCall: Call.poorNumber)
        call.send { call.layer == .sent }
        call.send(least: 5) { true }
        call.calls.choose(nil, forCall: Call.poorNumber)
        call.send { call.layer == .enhanced }
        call.send(least: 5) { true }
        // One who publishes, and a call that is not there.
        for number in [1, 9] as [UInt64] { call.calls.choose(.sent, forCall: number) }
        let report = try #require(call.end())
        try call.check([.enhanced, .sent, .enhanced], report)
    }
}
