import Bitstream
import Codec
import Container
import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
@testable import Packets
@testable import Relay
@testable import Transport

/// Viewers of one stream who get different layers. Publisher, relay and viewers exchange packets in memory; the relay runs with its
/// threads, decoder and encoder.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ViewerLayerTests {
    /// Keeps what it gets, and tells when it came over a link of its own.
    private final class Viewer: RTPSendWire {
        struct Packet {
            var sequence: UInt16
            var timestamp: UInt32
            var isMarked: Bool
            var payload: [UInt8]
        }

        private struct State {
            var packets: [Packet] = []
            var arrivals = PacketArrivals()
            var isFreeAt = MonotonicTime(nanoseconds: 0)
        }

        private let state = Lock(State())
        private let own = Lock<RTPViewer?>(nil)
        private let map: RTPExtensionMap
        /// Of its link, in bits a second.
        let capacity: Double?

        init(
            _ viewers: RTPViewers, request: ViewerLayer? = nil, capacity: Double? = nil, codec: RTPFormat.Codec = .h264,
            isBaseline: Bool = false
        ) throws {
            self.capacity = capacity
            var track = RTPTrack([RTPFormat(codec, payloadType: 100)])
            track.formats[0].isBaseline = isBaseline
            track.feedback = [.pictureLoss, .arrivals]
            if capacity != nil { track.extensions.transportSequence = 3 }
            map = track.extensions
            let viewer = try #require(viewers.add([track], self, peer: "viewer", request: request))
            own.withLock { $0 = viewer }
        }

        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
            guard !isControl else { return .sent }
            let bytes = Array(packet)
            guard let read = RTPPacket(reading: bytes.span, map: map) else { return .notConnected }
            state.withLock { state in
                state.packets.append(
                    Packet(
                        sequence: read.sequence, timestamp: read.timestamp, isMarked: read.isMarked,
                        payload: Array(bytes[read.payload])))
                guard let capacity, let number = read.extensions.transportSequence else { return }
                state.isFreeAt = max(state.isFreeAt, .now()) + .seconds(Double(bytes.count * 8) / capacity)
                state.arrivals.record(number, at: state.isFreeAt)
            }
            return .sent
        }

        /// Tells when packets came, also those that are on their way yet.
        func report() {
            let bytes = state.withLock { state -> [UInt8] in
                guard state.arrivals.claim() else { return [] }
                var writer = RTCPWriter()
                writer.arrivals(state.arrivals.report, from: 1, media: 5)
                return writer.bytes
            }
            bytes.withUnsafeBytes { own.withLock { $0 }?.receive($0, at: .now()) }
        }

        func choose(_ layer: ViewerLayer?) { own.withLock { $0?.request = layer } }
        var layer: ViewerLayer? { own.withLock { $0?.layer } }
        var told: RTPSendSession.Feedback? { own.withLock { $0?.feedback } }
        var packets: [Packet] { state.withLock { $0.packets } }
        var pictures: Int { packets.count(where: \.isMarked) }
        /// Of the sequence parameter sets, alone in a payload or among others (STAP-A): `profile_idc` and the constraints.
        var profiles: Set<[UInt8]> {
            var all: Set<[UInt8]> = []
            for payload in packets.map(\.payload) {
                var units = [payload]
                if payload[0] & 31 == 24 {
                    units = []
                    var rest = payload.dropFirst()
                    while rest.count > 2 {
                        let size = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
                        units.append(Array(rest.dropFirst(2).prefix(size)))
                        rest = rest.dropFirst(2 + size)
                    }
                }
                for unit in units where unit.count > 3 && unit[0] & 31 == 7 { all.insert(Array(unit[1...2])) }
            }
            return all
        }

        /// Numbers without a gap, and times that never go back.
        func check() {
            for (before, after) in zip(packets, packets.dropFirst()) {
                #expect(after.sequence == before.sequence &+ 1)
                #expect(Int32(bitPattern: after.timestamp &- before.timestamp) >= 0)
            }
        }
    }

    /// The payloads of a publisher's pictures, as a viewer gets them untouched.
    private func payloads(_ bytes: [UInt8]) -> [[UInt8]] {
        var all: [[UInt8]] = []
        var payloads = MediaPayloads()
        bytes.withUnsafeBytes { bytes in
            payloads.forEach(of: MediaUnit(kind: .video, bytes: bytes, presentation: MediaTime(ticks: 0))) { head, body, _, _ in
                all.append(Array(head) + Array(body))
            }
        }
        return all
    }

    private func relay(
        _ publisher: CallKeyframeTests.Publisher, to viewers: RTPViewers,
        _ adjust: @escaping (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> SRTRelayTests.Running {
        let running = try SRTRelayTests.Running(input: "rtp://127.0.0.1:0", output: "rtp://127.0.0.1:9") {
            guard let url = try? StreamURL("rtp://127.0.0.1:9") else { return }
            $0.inputCall = Source($0.input, over: publisher.inbox)
            $0.outputCalls = [0: Sink(url, viewers: viewers)]
            $0.settings.tier = .base
            $0.settings.interpolate = 1
            $0.settings.budget = .seconds(60)
            $0.options.keepOutput = false
            adjust(&$0)
        }
        wait { running.relay.channels.connection.receiversSoFar == viewers.viewers.count }
        return running
    }

    private func wait(until isThere: () -> Bool) {
        while !isThere() { (MonotonicTime.now() + .milliseconds(1)).sleep() }
    }

    /// Sends the publisher's pictures one by one until something is so, each when everybody has the one before.
    /// - Returns: how many.
    private func send(
        _ publisher: CallKeyframeTests.Publisher, from first: Int, _ running: SRTRelayTests.Running, least: Int = 0,
        until isDone: () -> Bool
    ) throws -> Int {
        let ledger = running.relay.channels.books.ledger
        var number = first
        while number < first + least || !isDone() {
            try publisher.send(number % publisher.pictures.count)
            number += 1
            wait { ledger.books.originals == UInt64(number) && ledger.inFlight == 0 }
            // The stages look at viewers ten times a second.
            (MonotonicTime.now() + .milliseconds(5)).sleep()
        }
        return number
    }

    /// What a viewer has of the publisher's own pictures at the end of what it got, and how many pictures that are.
    private func own(_ viewer: Viewer, _ publisher: CallKeyframeTests.Publisher, upTo end: Int) -> Int {
        var left = viewer.packets[...]
        var number = end
        while number > 0 {
            let wanted = payloads(publisher.pictures[(number - 1) % publisher.pictures.count].bytes)
            guard left.suffix(wanted.count).map(\.payload) == wanted else { break }
            left = left.dropLast(wanted.count)
            number -= 1
        }
        return end - number
    }

    /// One asks for the publisher's own pictures and gets them to the byte, from a keyframe on. The other gets what the relay makes of
    /// them, every picture.
    @Test func twoViewersGetTwoLayers() throws {
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 2)
        let (first, second) = (try Viewer(viewers), try Viewer(viewers, request: .sent))
        let running = try relay(publisher, to: viewers)
        var sent = try send(publisher, from: 0, running) { second.layer == .sent }
        sent = try send(publisher, from: sent, running, least: 25) { true }
        #expect(own(second, publisher, upTo: sent) >= 25 && own(first, publisher, upTo: sent) == 0)
        #expect(first.pictures >= sent && first.layer == .enhanced)
        let report = try #require(running.stop())
        first.check()
        second.check()
        let units = try #require(report.outputs[0].units)
        #expect(units.balance && units.sent == UInt64(first.pictures + second.pictures), "\(report.text)")
        #expect(report.frames.dropped == 0 && report.frames.balance, "\(report.text)")
        #expect(report.counters["pictures_to_viewers"] ?? 0 >= 25 && report.counters["viewers_to_sent"] == 1)
    }

    /// Asks for the smaller encode of an output.
    private static func askForSmall(_ configuration: inout RelayConfiguration) {
        guard let url = try? StreamURL("whep:a?small=160x96@150k") else { return }
        configuration.outputs = [url]
    }

    /// Sends on until the one more encode has done what it got.
    private func settleExtra(_ running: SRTRelayTests.Running, _ viewer: Viewer) {
        let channels = running.relay.channels
        var (seen, since) = (UInt64(0), 0)
        wait {
            let encoded = channels.books.counters[.extraEncoded]
            since = encoded == seen && channels.extra.pictures.count == 0 ? since + 1 : 0
            seen = encoded
            return since > 100
        }
    }

    /// One asks for the smaller encode, and gets every picture of it from a keyframe on. The other gets every enhanced picture. When
    /// nobody wants it any more, it ends.
    @Test func theSmallerEncodeIsMadeWhileSomebodyGetsIt() throws {
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 2)
        let (first, second) = (try Viewer(viewers), try Viewer(viewers, request: .small))
        let running = try relay(publisher, to: viewers, Self.askForSmall)
        let channels = running.relay.channels
        var sent = try send(publisher, from: 0, running) { second.layer == .small }
        settleExtra(running, second)
        let (before, encoded) = (second.pictures, channels.books.counters[.extraEncoded])
        let bytes = second.packets.count
        sent = try send(publisher, from: sent, running, least: 30) { true }
        settleExtra(running, second)
        let added = channels.books.counters[.extraEncoded] - encoded
        #expect(added >= 25 && UInt64(second.pictures - before) == added)
        // They are the smaller ones.
        func size(_ packets: ArraySlice<Viewer.Packet>) -> Int { packets.reduce(0) { $0 + $1.payload.count } }
        #expect(size(second.packets[bytes...]) < size(first.packets.suffix(30)))
        #expect(first.pictures >= sent && first.layer == .enhanced)
        for (before, after) in zip(first.packets, first.packets.dropFirst()) {
            #expect(after.timestamp == before.timestamp || after.timestamp &- before.timestamp == 3_000)
        }
        second.choose(.enhanced)
        sent = try send(publisher, from: sent, running, least: 5) { second.layer == .enhanced }
        #expect(channels.extra.wanted == nil)
        let report = try #require(running.stop())
        first.check()
        second.check()
        let units = try #require(report.outputs[0].units)
        #expect(units.balance && units.sent == UInt64(first.pictures + second.pictures), "\(report.text)")
        #expect(report.frames.dropped == 0 && report.frames.balance, "\(report.text)")
        #expect(report.counters["viewers_to_small"] == 1 && report.counters["extra_encode_microseconds"] ?? 0 > 0)
    }

    /// At a constant rate most originals give way to pictures between them. These go into the smaller encode. Nobody gets the encoder's own
    /// pictures, and the books say why.
    @Test func theSmallerEncodeHasThePicturesOfAConstantRate() throws {
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 1)
        let viewer = try Viewer(viewers, request: .small)
        let running = try relay(publisher, to: viewers) {
            Self.askForSmall(&$0)
            $0.options.fps = Rational(25)
        }
        let counters = running.relay.channels.books.counters
        let sent = try send(publisher, from: 0, running) { viewer.layer == .small }
        func offered() -> Int { Int(counters[.extraEncoded] + counters[.extraReplaced] + counters[.extraThinned]) }
        let before = offered()
        _ = try send(publisher, from: sent, running, least: 60) { true }
        settleExtra(running, viewer)
        // Every fifth slot of 25 a second is an original's of 30.
        #expect(offered() - before > 30, "\(offered() - before)")
        let report = try #require(running.stop())
        viewer.check()
        #expect(report.frames.droppedByReason["other_layer"] ?? 0 > 30 && report.frames.balance, "\(report.text)")
    }

    /// Pictures of an encoder: when each is shown, and whether the mask is in it.
    private final class Seen: Sendable {
        let pictures = Lock<[(time: MediaTime, isMasked: Bool)]>([])

        func encoder(_ configuration: VideoEncoderConfiguration) throws(CodecError) -> any PictureEncoder {
            let encoder = try VideoEncoder(configuration)
            return WatchedEncoder(encoder, self)
        }
    }

    private final class WatchedEncoder: PictureEncoder {
        private let encoder: VideoEncoder
        private let seen: Seen
        init(_ encoder: VideoEncoder, _ seen: Seen) { (self.encoder, self.seen) = (encoder, seen) }

        var configuration: VideoEncoderConfiguration { encoder.configuration }

        func encode(
            _ picture: PictureView, id: Int64, at time: MediaTime, asKeyframe: Bool, carrying userData: PictureUserData?,
            emit: (borrowing EncodedUnit) -> Void
        ) throws(CodecError) {
            let luma = picture.y
            let columns = luma.width * 3 / 10..<luma.width * 7 / 10
            let rows = luma.height * 11 / 20..<luma.height * 17 / 20
            let isMasked = rows.allSatisfy { y in columns.allSatisfy { luma.row(y)[$0] > 200 } }
            seen.pictures.withLock { $0.append((time, isMasked)) }
            try encoder.encode(picture, id: id, at: time, asKeyframe: asKeyframe, carrying: userData, emit: emit)
        }

        func change(_ rateControl: VideoEncoderConfiguration.RateControl, at frameRate: Rational) -> Bool {
            encoder.change(rateControl, at: frameRate)
        }
    }

    /// A mask that is set holds for the smaller encode from the same picture on.
    @Test func theSmallerEncodeHasTheMask() throws {
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 2)
        let (_, second) = (try Viewer(viewers), try Viewer(viewers, request: .small))
        let (main, extra) = (Seen(), Seen())
        let running = try relay(publisher, to: viewers) {
            Self.askForSmall(&$0)
            $0.makeEncoder = { (configuration) throws(CodecError) in try main.encoder(configuration) }
            $0.makeExtraEncoder = { (configuration, _) throws(CodecError) in try extra.encoder(configuration) }
        }
        var sent = try send(publisher, from: 0, running, least: 12) { second.layer == .small }
        var settings = running.relay.settings
        settings.steps.mask = PrivacyMask([.init(x: 25, y: 50, width: 50, height: 40, .fill(PrivacyMask.FillColor("white")!))])
        running.relay.change(settings)
        let before = second.pictures
        sent = try send(publisher, from: sent, running, least: 20) { second.pictures > before + 10 }
        #expect(second.layer == .small)
        let report = try #require(running.stop())
        second.check()
        let masked = main.pictures.withLock { $0 }.filter(\.isMasked).map(\.time)
        let first = try #require(masked.first)
        let all = extra.pictures.withLock { $0 }
        #expect(all.contains { !$0.isMasked } && all.contains { $0.isMasked })
        for picture in all { #expect(picture.isMasked == (picture.time >= first), "\(picture)") }
        #expect(report.frames.balance, "\(report.text)")
    }

    /// A program that shows VP8 alone gets frames of VP8, from a keyframe on, and the other one H.264.
    @Test func whoShowsVP8AloneGetsVP8() throws {
        guard VP8Encoder.isAvailable else { return }
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 3)
        let (first, second, third) = (
            try Viewer(viewers), try Viewer(viewers, codec: .vp8), try Viewer(viewers, request: .small)
        )
        let running = try relay(publisher, to: viewers, Self.askForSmall)
        var sent = try send(publisher, from: 0, running) { second.pictures > 0 }
        // The smaller encode gives way, so that there is no third one.
        sent = try send(publisher, from: sent, running, least: 20) { third.layer == .sent }
        #expect(running.relay.channels.extra.wanted == .vp8)
        let report = try #require(running.stop())
        second.check()
        var decoding = VideoDecoder.Configuration()
        decoding.codec = .vp8
        let decoder = try VideoDecoder(decoding)
        let size = PictureSize(width: 320, height: 192)
        var (frame, pictures): ([UInt8], Int) = ([], 0)
        for packet in second.packets {
            // The descriptor has four bytes.
            frame += packet.payload.dropFirst(4)
            guard packet.isMarked else { continue }
            _ = try frame.withUnsafeBytes { try decoder.decode($0, id: Int64(pictures)) }
            frame = []
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                #expect(picture.damage.isEmpty && picture.size == size)
                pictures += 1
            }
        }
        #expect(pictures >= 15 && second.layer == .small && first.pictures >= sent)
        #expect(report.frames.balance && report.frames.dropped == 0, "\(report.text)")
    }

    /// A program that asks for constrained baseline gets it in full size, from a keyframe on. The other one gets what it would get
    /// alone, and the smaller encode gives way.
    @Test func whoAsksForConstrainedBaselineGetsIt() throws {
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 3)
        let (first, second, third) = (
            try Viewer(viewers), try Viewer(viewers, isBaseline: true), try Viewer(viewers, request: .small)
        )
        let running = try relay(publisher, to: viewers) {
            Self.askForSmall(&$0)
            $0.options.preset = .veryfast
        }
        var sent = try send(publisher, from: 0, running) { second.pictures > 0 }
        sent = try send(publisher, from: sent, running, least: 20) { third.layer == .sent }
        #expect(running.relay.channels.extra.wanted == .baseline)
        settleExtra(running, second)
        let report = try #require(running.stop())
        second.check()
        let profiles = second.profiles
        #expect(!profiles.isEmpty && profiles.allSatisfy { $0[0] == 66 && $0[1] & 0x40 != 0 }, "\(profiles)")
        #expect(first.profiles.allSatisfy { $0[0] == 100 } && first.layer == .enhanced && first.pictures >= sent)
        #expect(second.layer == .small && second.pictures >= 15)
        #expect(report.frames.balance && report.frames.dropped == 0, "\(report.text)")
    }

    /// There is one more encode at most, and who can show nothing but VP8 comes first.
    @Test func besideVP8NobodyGetsConstrainedBaseline() throws {
        guard VP8Encoder.isAvailable else { return }
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 2)
        let (first, second) = (try Viewer(viewers, isBaseline: true), try Viewer(viewers, codec: .vp8))
        let running = try relay(publisher, to: viewers, Self.askForSmall)
        let sent = try send(publisher, from: 0, running) { second.pictures > 5 && first.layer == .sound }
        let before = first.pictures
        _ = try send(publisher, from: sent, running, least: 10) { true }
        #expect(first.pictures == before && running.relay.channels.extra.wanted == .vp8)
        let report = try #require(running.stop())
        #expect(report.frames.balance, "\(report.text)")
    }

    /// The only viewer's link carries the publisher's pictures alone: nothing is encoded any more.
    @Test func aLinkThatCarriesNoMoreEndsTheEncode() throws {
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 1)
        let viewer = try Viewer(viewers, capacity: 3_000_000)
        let running = try relay(publisher, to: viewers) {
            $0.settings.bitRateFloor = 8_000_000; $0.settings.bitRate = 9_000_000
        }
        let channels = running.relay.channels
        var sent = try send(publisher, from: 0, running) {
            viewer.report()
            return channels.path.isBypassed
        }
        #expect(viewer.told?.capacity ?? 0 > 100_000 && viewer.told?.capacity ?? 0 < 8_000_000)
        let before = channels.books.ledger.books.bypassed
        sent = try send(publisher, from: sent, running, least: 15) { true }
        #expect(channels.books.ledger.books.bypassed == before + 15 && own(viewer, publisher, upTo: sent) >= 15)
        wait { viewer.layer == .sent }
        let report = try #require(running.stop())
        viewer.check()
        #expect(report.frames.balance && report.frames.dropped == 0, "\(report.text)")
    }

    /// A mask is set while a viewer gets the publisher's own pictures: not one more leaves, and the viewer goes on with masked ones.
    @Test func besideAMaskNobodyGetsThePublishersPictures() throws {
        let publisher = try CallKeyframeTests.Publisher(keyframeEvery: 10)
        let viewers = RTPViewers(capacity: 2)
        let (first, second) = (try Viewer(viewers), try Viewer(viewers, request: .sent))
        let running = try relay(publisher, to: viewers)
        var sent = try send(publisher, from: 0, running, least: 12) { second.layer == .sent }
        var settings = running.relay.settings
        settings.steps.mask = PrivacyMask([.init(x: 25, y: 50, width: 50, height: 40, .fill(PrivacyMask.FillColor("white")!))])
        running.relay.change(settings)
        let before = second.packets.count
        let counted = running.relay.channels.books.counters[.picturesToViewers]
        sent = try send(publisher, from: sent, running, least: 12) { second.layer == .enhanced }
        #expect(running.relay.channels.books.counters[.picturesToViewers] == counted)
        #expect(second.packets.count > before && first.layer == .enhanced)
        // Both end with the same pictures.
        let both = min(first.packets.count, second.packets.count - before)
        #expect(first.packets.suffix(both).map(\.payload) == second.packets.suffix(both).map(\.payload))
        let report = try #require(running.stop())
        second.check()
        #expect(report.frames.balance, "\(report.text)")
    }
}
