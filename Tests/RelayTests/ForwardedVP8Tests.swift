import Container
import Media
import Testing
@testable import Packets
@testable import Relay

/// VP8 as Janus 1.1 forwards it from aiortc: packet numbers and time stamps from the beginning, a header extension that nobody
/// described, and a small keyframe in one packet, which comes once. Virtual time.
struct ForwardedVP8Tests {
    /// What a relay knows of its sender.
    private struct Path: ~Copyable {
        var session: RTPReceiveSession
        var demuxer: CallDemuxer
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        var keyframes: [Bool] = []
        var events: [RTPReceiveSession.Event] = []
        /// When a keyframe was asked for, in milliseconds.
        var requests: [Int64] = []

        init(feedback: RTPFeedback = .pictureLoss) {
            var video = RTPTrack([RTPFormat(.vp8, payloadType: 96)])
            video.feedback = feedback
            session = RTPReceiveSession([video, RTPTrack([RTPFormat(.opus, payloadType: 97, channels: 2)])])
            demuxer = CallDemuxer([video, RTPTrack([RTPFormat(.opus, payloadType: 97, channels: 2)])])
        }

        /// - Returns: whether it was the stream's.
        @discardableResult mutating func push(_ packet: [UInt8], track: Int = 0) -> Bool {
            let isOurs = packet.withUnsafeBytes { session.receive($0, arrival: now, track: track) }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
            defer { buffer.deallocate() }
            while let (arrival, count) = session.next(at: now, into: buffer) {
                var message = Message(byteCount: count, arrival: now, sourceTime: arrival.sourceTime, sequence: 0)
                message.packet = arrival
                demuxer.push(UnsafeRawBufferPointer(rebasing: buffer[..<count]), message) { event in
                    if case .unit(let unit) = event, unit.isMainVideo { keyframes.append(unit.isKeyframe && !unit.isDamaged) }
                }
                if let isNeeded = demuxer.keyframeNeed(after: message) { session.needsKeyframe = isNeeded }
            }
            while let event = session.nextEvent(at: now) { events.append(event) }
            let milliseconds = now.nanoseconds / 1_000_000
            session.nextFeedback(at: now) { packet, _ in
                let bytes = unsafe Span<UInt8>(_unsafeElements: packet.assumingMemoryBound(to: UInt8.self))
                var reader = RTCPReader(bytes)
                while let packet = reader.next() {
                    if case .pictureLoss(media: 0x4dd8_0fbd) = packet { requests.append(milliseconds) }
                }
            }
            return isOurs
        }

        /// A picture of one packet.
        mutating func picture(_ number: Int, isKeyframe: Bool, sequence: Int? = nil) {
            let stamp = UInt32(number * 3000)
            let sequence = sequence ?? number + 1
            let head: [UInt8] =
                [0x90, 0xe0, UInt8(sequence >> 8), UInt8(sequence & 255)]
                + (0..<4).map { UInt8(truncatingIfNeeded: stamp >> (24 - 8 * $0)) }
            // The extension, and a descriptor with a picture number of 15 bits.
            let middle: [UInt8] = [
                0x4d, 0xd8, 0x0f, 0xbd, 0xbe, 0xde, 0, 1, 0x10, 0x30, 0, 0, 0x90, 0x80, 0xc1, UInt8(0x14 + number),
            ]
            // 320x180.
            let body: [UInt8] =
                isKeyframe
                ? [0xd0, 0x0f, 0x00, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xb4, 0x00, 0x39, 0x09, 0x00]
                : [0x51, 0x09, 0x00, 0xe4, 0x49, 0xd8, 0x20, 0x03]
            push(head + middle + body)
        }
    }

    /// More packets are lost than can be asked for, and those behind them wait. Sound comes meanwhile.
    @Test func soundEndsNoNeedForAKeyframe() {
        var path = Path(feedback: [.pictureLoss, .retransmission])
        for number in 0..<3 { path.picture(number, isKeyframe: number == 0) }
        var needs = [path.session.needsKeyframe]
        path.picture(3, isKeyframe: false, sequence: 400)
        needs.append(path.session.needsKeyframe)
        path.push([0x80, 97, 0, 1, 0, 0, 0, 0, 0, 0, 0, 6, 0xfc], track: 1)
        needs.append(path.session.needsKeyframe)
        #expect(needs == [false, true, true] && path.keyframes.count == 3)
    }

    private static let empty: [UInt8] = [0x80] + [UInt8](repeating: 0, count: 11)

    @Test func theFirstPacketIsAKeyframe() {
        var path = Path()
        // What Janus begins with is no news.
        for _ in 0..<2 {
            let isOurs = path.push(Self.empty)
            #expect(!isOurs && path.session.unexpected > 0)
        }
        for number in 0..<30 {
            path.picture(number, isKeyframe: number == 0)
            path.now = path.now + .milliseconds(33)
        }
        #expect(path.keyframes == [true] + [Bool](repeating: false, count: 29))
        #expect(path.events == [.began(track: 0)] && path.requests.isEmpty)
    }

    /// The sender began before anybody listened. It is asked at its second packet and every 250 ms, and an event says that it does not
    /// answer.
    @Test func aMissedKeyframeIsAskedForAndItsAbsenceIsReported() {
        var path = Path()
        for number in 0..<200 {
            path.picture(number + 4, isKeyframe: number == 190)
            path.now = path.now + .milliseconds(50)
        }
        #expect(path.requests == stride(from: 1_050, to: 10_500, by: 250).map { Int64($0) })
        #expect(path.events == [.began(track: 0), .keyframeWithheld])
        #expect(path.keyframes.count { $0 } == 1)
    }
}
