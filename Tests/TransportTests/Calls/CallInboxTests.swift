import Endpoint
import Media
import Testing
@testable import Packets
@testable import Transport

/// Calls that something else carries, one after the other, and the feedback that goes back.
struct CallInboxTests {
    private final class Back: RTPSendWire {
        let packets = Lock<[[UInt8]]>([])

        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
            let bytes = Array(packet)
            packets.withLock { $0.append(bytes) }
            return .sent
        }
    }

    private func packet(_ number: UInt16, type: UInt8, source: UInt32, _ payload: UInt8) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 12)
        let header = RTPHeader(payloadType: type, sequence: number, timestamp: UInt32(number) * 3000, source: source)
        bytes.withUnsafeMutableBytes { header.write(to: $0) }
        return bytes + [payload]
    }

    @Test func oneCallFollowsAnother() throws {
        let inbox = CallInbox()
        let source = try Source(StreamURL("rtp://127.0.0.1:0"), over: inbox)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
        defer { buffer.deallocate() }
        var payloads: [UInt8] = []
        var events: [LegEvent] = []
        /// Reads what is there.
        func read() {
            while true {
                switch source.receive(into: buffer, until: .now()) {
                case .message(let message):
                    #expect(message.byteCount == 1 && message.packet != nil)
                    payloads.append(buffer[0])
                case .event(let event): events.append(event)
                default: return
                }
            }
        }
        read()
        #expect(source.tracks == [] && !source.statistics().isConnected)
        let (first, second) = (Back(), Back())
        inbox.begin([RTPTrack([RTPFormat(.h264, payloadType: 96)])], peer: "alice", feedback: first)
        packet(1, type: 96, source: 7, 1).withUnsafeBytes { inbox.push($0, arrival: .now()) }
        read()
        #expect(events.last == .connected(Connection(peer: "alice", window: .milliseconds(20))) && payloads == [1])
        source.needsKeyframe(true)
        read()
        #expect(first.packets.withLock { $0.count } == 1)
        // Another one with other numbers takes its place.
        inbox.begin([RTPTrack([RTPFormat(.vp8, payloadType: 100)])], peer: "bob", feedback: second)
        packet(2, type: 96, source: 7, 9).withUnsafeBytes { inbox.push($0, arrival: .now()) }
        packet(1, type: 100, source: 8, 2).withUnsafeBytes { inbox.push($0, arrival: .now()) }
        read()
        #expect(payloads == [1, 2] && source.tracks?.first?.formats[0].codec == .vp8)
        #expect(events.contains(.disconnected(reason: "another call has taken its place")))
        inbox.end(reason: "the peer closed the call")
        read()
        #expect(events.last == .disconnected(reason: "the peer closed the call") && source.tracks == [])
        #expect(source.statistics().connections == 2 && source.statistics().packetsUnexpected == 1)
        source.interrupt()
        #expect(source.receive(into: buffer, until: .now() + .seconds(20)) == .idle)
    }

    /// How much a publisher may send is the operator's to say.
    @Test(arguments: [("whip:a", 4_000_000), ("whip:a?bitrate=2M", 2_000_000)]) func theSenderIsToldItsBitRate(
        url: String, rate: UInt64
    ) throws {
        let inbox = CallInbox()
        let source = try Source(StreamURL(url), over: inbox)
        let back = Back()
        var track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
        track.feedback = .bitRate
        inbox.begin([track], peer: "alice", feedback: back)
        // A second ago, so that a report is due.
        packet(1, type: 96, source: 7, 1).withUnsafeBytes { inbox.push($0, arrival: .now() - .seconds(2)) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
        defer { buffer.deallocate() }
        while source.receive(into: buffer, until: .now()) != .idle {}
        var told: [UInt64] = []
        for bytes in back.packets.withLock({ $0 }) {
            var reader = RTCPReader(bytes.span)
            while let packet = reader.next() { if case .bitRate(let bits) = packet { told.append(bits) } }
        }
        #expect(told.first == rate)
    }

    @Test func aViewerGetsWhatItAsksForAgain() throws {
        let viewers = RTPViewers(capacity: 1)
        let back = Back()
        var track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
        (track.source, track.feedback) = (5, .retransmission)
        let viewer = try #require(viewers.add([track], back, peer: "carol"))
        #expect(viewers.add([track], back, peer: "dave") == nil)
        let sink = Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)
        let connection = try #require(sink.connection(at: 0))
        [UInt8(3)].withUnsafeBytes { payload in
            let none = UnsafeRawBufferPointer(start: nil, count: 0)
            #expect(
                sink.viewers!.viewer(of: connection)!.send(
                    payload, none, .video, presentation: MediaTime(ticks: 0), sourceTime: .now(), isMarked: true)
                    == .sent)
            // Who has no track for it misses nothing.
            #expect(
                sink.viewers!.viewer(of: connection)!.send(
                    payload, none, .sound, presentation: MediaTime(ticks: 0), sourceTime: .now(), isMarked: true)
                    == .sent)
        }
        let sent = back.packets.withLock { $0 }
        // The packet and a report.
        #expect(sent.count == 2)
        var writer = RTCPWriter()
        writer.lost([UInt16(sent[0][2]) << 8 | UInt16(sent[0][3])], from: 1, media: 5)
        writer.pictureLoss(from: 1, media: 5)
        writer.bytes.withUnsafeBytes { viewer.receive($0, at: .now() + .milliseconds(50)) }
        #expect(back.packets.withLock { $0.last } == sent[0])
        #expect(
            sink.viewers!.viewer(of: connection)!.claimKeyframe(at: .now())
                && !sink.viewers!.viewer(of: connection)!.claimKeyframe(at: .now()))
        viewers.remove(viewer)
        #expect(!sink.isConnected && !sink.hasConnection(connection))
        let figures = sink.statistics()
        #expect(figures.packetsSent == 1 && figures.packetsRetransmitted == 1 && figures.reports == 2)
    }
}
