import Endpoint
import Media
import Telemetry
import TestStreams
import Testing
@testable import Packets
@testable import Relay
@testable import Transport

/// Two receivers of plain RTP over loopback sockets, of whom one loses packets. Their time is virtual.
@Suite(.timeLimit(.minutes(2))) struct SlowReceiversTests {
    /// Reads what comes to its port, loses some of it, and reports.
    private final class Viewer {
        let sink: Sink
        private let socket: DatagramSocket
        private var session: RTPReceiveSession
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 16)
        private var sender: SocketAddress?
        private var packets = 0
        /// Every so manieth packet is lost; 0 for none.
        var losesEvery = 0
        /// What came to the port, lost behind it or not.
        private(set) var keyframes = 0
        private(set) var others = 0

        init(_ scratch: Scratch, _ name: String) throws {
            let local = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
            socket = try DatagramSocket(boundTo: local, place: name)
            let text = """
                v=0
                o=- 0 0 IN IP4 127.0.0.1
                s=-
                c=IN IP4 127.0.0.1
                t=0 0
                m=video \(socket.localPort) RTP/AVPF 96
                a=rtpmap:96 H264/90000
                a=fmtp:96 packetization-mode=1
                a=rtcp-fb:96 nack pli
                a=rtcp-mux

                """
            sink = try Sink(try StreamURL(try scratch.write(Array(text.utf8), to: name)))
            var track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
            track.feedback = .pictureLoss
            session = RTPReceiveSession([track])
        }

        deinit {
            sink.close()
            buffer.deallocate()
        }

        /// Loopback: what was sent has come.
        func read(at now: MonotonicTime) {
            let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            while let came = socket.receive(none, buffer) {
                sender = came.sender
                let datagram = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<came.byteCount])
                let isControl = datagram[1] >= 192 && datagram[1] <= 223
                if !isControl {
                    packets += 1
                    if datagram[12] & 0x1f == 5 { keyframes += 1 } else { others += 1 }
                    if losesEvery > 0, packets % losesEvery == 0 { continue }
                }
                session.receive(datagram, arrival: now)
            }
            while let (arrival, count) = session.next(at: now, into: buffer) {
                if arrival.isMarked, count > 0, buffer[0] & 0x1f == 5 { session.needsKeyframe = false }
            }
        }

        /// Reports what is due. Returns when the relay's end has read it.
        func report(at now: MonotonicTime) {
            guard let sender else { return }
            session.nextFeedback(at: now) { packet, _ in
                let before = sink.viewers!.reports
                _ = DatagramSocket.send(packet, from: socket.number, to: sender)
                while sink.viewers!.reports == before { (MonotonicTime.now() + .milliseconds(1)).sleep() }
            }
        }
    }

    /// Ten pictures a second, each of one packet.
    private static func unit(isKeyframe: Bool) -> [UInt8] {
        [0, 0, 0, 1, isKeyframe ? 0x65 : 0x41] + [UInt8](repeating: 0x80, count: 200)
    }

    @Test func oneWhoCannotFollowGetsKeyframesOnlyAndTheOtherEverything() throws {
        let scratch = try Scratch()
        let (good, bad) = (try Viewer(scratch, "good.sdp"), try Viewer(scratch, "bad.sdp"))
        var outputs = FanOut([good.sink, bad.sink], map: nil)
        var events: [(LegEvent, output: Int?, second: Int)] = []
        /// While the bad one gets keyframes only.
        var (seconds, keyframes, others) = (0.0, 0, 0)
        var isHeldBack: [Bool] = []
        bad.losesEvery = 3
        for number in 0..<600 {
            let now = MonotonicTime(nanoseconds: Int64(number + 1) * 100_000_000)
            // From now on its link holds.
            if number == 200 { bad.losesEvery = 0 }
            let isKeyframe = outputs.claimKeyframe(at: now) || number == 0
            let isSlow = outputs.receivers[1].pace.frames == .keyframesOnly
            let before = (bad.keyframes, bad.others)
            outputs.countOffered()
            Self.unit(isKeyframe: isKeyframe).withUnsafeBytes { bytes in
                let media = MediaUnit(
                    kind: .video, bytes: bytes, presentation: MediaTime(ticks: Int64(number) * 9_000))
                _ = outputs.sendVideo(isKeyframe: isKeyframe, stamp: now, media: media) { _ in }
            }
            for viewer in [good, bad] {
                viewer.read(at: now)
                viewer.report(at: now)
            }
            if isSlow {
                seconds += 0.1
                keyframes += bad.keyframes - before.0
                others += bad.others - before.1
                isHeldBack.append(bad.sink.viewers!.reports.allSatisfy(\.isHeldBack))
            }
            outputs.followPaces(floor: nil, ceiling: 3_000_000, at: now) { events.append(($0, $1, number / 10)) }
        }
        #expect(
            events.map(\.0) == [
                .fellBehind(peer: bad.sink.viewerName), .followsAgain(peer: bad.sink.viewerName),
            ], "\(events)")
        #expect(events.allSatisfy { $0.output == 2 })
        // Before the first trial, which fails, and between it and the second.
        #expect(seconds > 16 && others == 0 && keyframes >= 2, "\(seconds) s, \(keyframes), \(others)")
        #expect(Double(keyframes) <= seconds / 6 + 2, "\(keyframes) in \(seconds) s, \(events)")
        #expect(isHeldBack.allSatisfy { $0 } && bad.sink.viewers!.reports.allSatisfy { !$0.isHeldBack })
        #expect(outputs.receivers[1].pace.frames == .all && !outputs.receivers[1].keyframe.isOwed)
        let books = outputs.books
        #expect(books.allSatisfy(\.balance) && books.allSatisfy { $0.offered == 600 })
        #expect(good.keyframes + good.others == 600 && books[0].sent == 600)
        #expect(UInt64(bad.keyframes + bad.others) == books[1].sent)
        #expect(books[1][.awaitsKeyframe] == books[1].dropped && books[1].dropped > 100, "\(books[1])")
    }
}

extension Sink {
    fileprivate var viewerName: String { connection(at: 0).flatMap { viewers?.viewer(of: $0)?.peer } ?? "" }
}
