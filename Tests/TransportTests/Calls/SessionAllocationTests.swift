import Endpoint
import Foundation
import Media
import TestSupport
import Testing
@testable import Packets
@testable import Transport

/// No packet of a call costs an allocation, on the way in or out. The count is taken in a child process, by an interposed
/// `malloc`.
struct SessionAllocationTests {
    static let packets = 2000
    /// Without optimisation the standard library allocates in many places of a session.
    private static var isOptimised: Bool { !_isDebugAssertConfiguration() }
    private static let variable = "BURNISH_COUNT_SESSION_ALLOCATIONS"

    @Test(.enabled(if: AllocationCounting.isPossible)) func packetsCostNoAllocation() throws {
        let (status, output) = try AllocationCounting.runChild("SessionCost", [Self.variable: "1"])
        #expect(status == 0, "\(output)")
        let counts = output.split(separator: "\n").filter { $0.hasPrefix("allocations ") }
        #expect(counts.count == 5, "\(output)")
        for line in counts where Self.isOptimised || line.contains("feedback") || line.contains("control") {
            // That it counts at all is part of the test.
            #expect(line.hasSuffix(": 0") != line.contains("control"), "\(line) in \(Self.packets) packets")
        }
    }

    private final class Nowhere: RTPSendWire {
        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent { .sent }
    }

    /// Video and sound as browsers send them, a packet of each in turn, every 10 ms.
    private static var tracks: [RTPTrack] {
        var video = RTPTrack([RTPFormat(.h264, payloadType: 96, retransmission: 97)])
        video.feedback = [.retransmission, .pictureLoss, .bitRate, .arrivals]
        var sound = RTPTrack([RTPFormat(.opus, payloadType: 111, channels: 2)])
        sound.feedback = .arrivals
        (video.mid, sound.mid) = ("0", "1")
        (video.source, sound.source) = (5, 6)
        var map = RTPExtensionMap()
        (map.absoluteSendTime, map.transportSequence, map.playoutDelay, map.mid) = (1, 2, 3, 4)
        (video.extensions, sound.extensions) = (map, map)
        return [video, sound]
    }

    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private static func time(_ number: Int) -> MonotonicTime { start + .milliseconds(10) * Int64(number) }

    /// The packets of both, and the reports between them.
    private static func sent(_ count: Int) -> [(time: MonotonicTime, bytes: [UInt8])] {
        var session = RTPSendSession(tracks)
        let payload = [UInt8](repeating: 0x41, count: 900)
        return payload.withUnsafeBytes { payload in
            (0..<count).flatMap { number in
                var made: [[UInt8]] = []
                _ = session.send(
                    payload, UnsafeRawBufferPointer(start: nil, count: 0), track: number % 2,
                    presentation: MediaTime(ticks: Int64(number) * 900), sourceTime: time(number), isMarked: true,
                    at: time(number)
                ) {
                    made.append(Array($0))
                    return .sent
                }
                session.nextReport(at: time(number)) { packet, _ in made.append(Array(packet)) }
                return made.map { (time(number), $0) }
            }
        }
    }

    /// The child's part.
    @Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct SessionCost {
        private func count(_ name: String, _ body: (Range<Int>) -> Void) throws {
            let counting = try #require(AllocationCounting())
            body(0..<SessionAllocationTests.packets)
            let before = counting.bySwift + counting.byOthers
            counting.begin()
            body(SessionAllocationTests.packets..<2 * SessionAllocationTests.packets)
            counting.end()
            print("allocations \(name): \(counting.bySwift + counting.byOthers - before)")
            fflush(nil)
        }

        @Test func session() throws {
            let packets = SessionAllocationTests.sent(2 * SessionAllocationTests.packets)
            var session = RTPReceiveSession(SessionAllocationTests.tracks)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
            defer { buffer.deallocate() }
            var (delivered, reports) = (0, 0)
            try count("session") { range in
                for number in range {
                    let now = packets[number].time
                    packets[number].bytes.withUnsafeBytes { _ = session.receive($0, arrival: now) }
                    while session.nextEvent(at: now) != nil {}
                    while session.next(at: now, into: buffer) != nil { delivered += 1 }
                    session.nextFeedback(at: now) { _, _ in reports += 1 }
                    _ = session.nextTimer
                }
            }
            // Reports came between the packets, and others went out: of arrivals, and one a second of each track.
            #expect(delivered > SessionAllocationTests.packets && delivered < packets.count && reports > 500)
        }

        @Test func source() throws {
            let packets = SessionAllocationTests.sent(2 * SessionAllocationTests.packets)
            let inbox = CallInbox()
            let source = try Source(StreamURL("rtp://127.0.0.1:0"), over: inbox)
            inbox.begin(SessionAllocationTests.tracks, peer: "test", feedback: Nowhere())
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
            defer { buffer.deallocate() }
            var delivered = 0
            try count("source") { range in
                for number in range {
                    packets[number].bytes.withUnsafeBytes { inbox.push($0, arrival: .now()) }
                    var isRead = false
                    while !isRead {
                        switch source.receive(into: buffer, until: .now()) {
                        case .message: delivered += 1
                        case .idle: isRead = true
                        case .event, .end, .failed: break
                        }
                    }
                }
            }
            #expect(delivered > SessionAllocationTests.packets)
        }

        @Test func sending() throws {
            let viewers = RTPViewers(capacity: 1)
            _ = try #require(viewers.add(SessionAllocationTests.tracks, Nowhere(), peer: "test"))
            let sink = Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)
            let connection = try #require(sink.connection(at: 0))
            let payload = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 16)
            defer { payload.deallocate() }
            payload.initializeMemory(as: UInt8.self, repeating: 1)
            let (head, body) = (
                UnsafeRawBufferPointer(rebasing: payload[..<2]), UnsafeRawBufferPointer(rebasing: payload[2...])
            )
            try count("sending") { range in
                for number in range {
                    _ = sink.viewers!.viewer(of: connection)!.send(
                        head, body, number % 2 == 0 ? .video : .sound, presentation: MediaTime(ticks: Int64(number) * 900),
                        sourceTime: .now(), isMarked: true)
                    _ = sink.viewers!.viewer(of: connection)!.claimKeyframe(at: .now())
                }
            }
        }

        /// A viewer tells when packets came, twenty times a second.
        @Test func feedback() throws {
            let viewers = RTPViewers(capacity: 1)
            let viewer = try #require(viewers.add(SessionAllocationTests.tracks, Nowhere(), peer: "test"))
            var writer = RTCPWriter()
            var feedback = TransportFeedback()
            feedback.arrivals = [0, 1, nil, 3, 5_000]
            writer.arrivals(feedback, from: 1, media: 5)
            let bytes = writer.bytes
            try count("feedback") { range in
                for number in range {
                    bytes.withUnsafeBytes { viewer.receive($0, at: SessionAllocationTests.time(number)) }
                }
            }
            #expect(viewer.feedback.reports > 10)
        }

        @Test func control() throws {
            let counting = try #require(AllocationCounting())
            let before = counting.bySwift
            counting.begin()
            withExtendedLifetime([UInt8](repeating: 0, count: Int.random(in: 100...200))) {}
            counting.end()
            print("allocations control: \(counting.bySwift - before)")
            fflush(nil)
        }
    }
}
