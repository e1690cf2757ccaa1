import Codec
import Container
import Endpoint
import Foundation
import Measure
import Media
import Packets
import Schedule
import Settings
import Synchronization
import TestStreams
import Testing
import Transport

@testable import Relay

/// Stills of a call by RTP time stamps, as its sender gave them and as a viewer got them.
@Suite(.timeLimit(.minutes(5))) struct PastStampTests {
    private static let size = PictureSize(width: 320, height: 180)

    /// Carries packets to the relay, and remembers the newest one's time stamp.
    private final class Wire: RTPSendWire {
        let inbox = CallInbox()
        let newest = Atomic<UInt32>(0)

        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
            if !isControl { newest.store(packet[4..<8].reduce(0) { $0 << 8 | UInt32($1) }, ordering: .relaxed) }
            inbox.push(packet, arrival: .now())
            return .sent
        }
    }

    /// Nothing comes back.
    private final class Back: RTPSendWire {
        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent { .sent }
    }

    /// Sends numbered pictures.
    private struct Publisher {
        let wire = Wire()
        private let viewers = RTPViewers(capacity: 1)
        private let sink: Sink
        private let pictures: [TestStream.Coded]

        init(frames: Int) throws {
            pictures = TestStream.coded(in: try TestStream.video(frames: frames, size: PastStampTests.size))
            let tracks = [RTPTrack([RTPFormat(.h264, payloadType: 96)])]
            _ = try #require(viewers.add(tracks, wire, peer: "relay"))
            sink = Sink(try StreamURL("rtp://127.0.0.1:9"), viewers: viewers)
            wire.inbox.begin(tracks, peer: "publisher", feedback: Back())
        }

        /// - Returns: the time stamp of each, as it stood on the wire.
        func sendAll() throws -> [UInt32] {
            let connection = try #require(sink.connection(at: 0))
            return pictures.enumerated().map { index, picture in
                let time = MediaTime(ticks: Int64(index) * 3_000)
                var payloads = MediaPayloads()
                picture.bytes.withUnsafeBytes { bytes in
                    payloads.forEach(of: MediaUnit(kind: .video, bytes: bytes, presentation: time)) {
                        head, body, time, isMarked in
                        _ = sink.viewers!.viewer(of: connection)!.send(
                            head, body, .video, presentation: time, sourceTime: .now(), isMarked: isMarked)
                    }
                }
                return wire.newest.load(ordering: .relaxed)
            }
        }
    }

    /// What a viewer sees under each time stamp.
    private func shown(to call: HeardCall) throws -> [UInt32: UInt16] {
        var demuxer = RTPDemuxer([RTPStreamDescription(id: 0, format: .h264)])
        var units: [(bytes: [UInt8], stamp: UInt32)] = []
        for packet in call.video {
            let facts = RTPPacketFacts(
                stream: 0, format: .h264, timestamp: packet.timestamp,
                presentation: MediaTime(ticks: Int64(packet.timestamp)), isMarked: packet.isMarked, arrival: .now())
            packet.payload.withUnsafeBytes { payload in
                demuxer.push(payload, facts) { event in
                    if case .unit(let unit) = event { units.append((Array(unit.bytes), packet.timestamp)) }
                }
            }
        }
        let decoder = try VideoDecoder()
        var numbers: [UInt32: UInt16] = [:]
        for (index, unit) in units.enumerated() {
            _ = try unit.bytes.withUnsafeBytes { try decoder.decode($0, id: Int64(index)) }
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                if case .code(let code) = TimeCodeReading(luma: picture.view.y, near: WallTime(microseconds: 0)) {
                    numbers[units[Int(picture.id)].stamp] = code.number
                }
            }
        }
        return numbers
    }

    @Test func aHundredStillsShowThePictureThatHasTheStamp() throws {
        let frames = 110
        let (publisher, call) = (try Publisher(frames: frames), HeardCall())
        let running = try SRTRelayTests.Running(input: "rtp://127.0.0.1:0", output: "rtp://127.0.0.1:9") {
            guard let url = try? StreamURL("rtp://127.0.0.1:9") else { return }
            $0.inputCall = Source($0.input, over: publisher.wire.inbox)
            $0.outputCalls = [0: Sink(url, viewers: call.viewers)]
            $0.settings.tier = .base
            $0.settings.interpolate = 1
            $0.options.past = .seconds(600)
            $0.options.pastMemory = 24_000_000
        }
        func wait(until isThere: () -> Bool) { while !isThere() { (MonotonicTime.now() + .milliseconds(2)).sleep() } }
        wait { running.relay.channels.connection.receiversSoFar == 1 }
        let stamps = try publisher.sendAll()
        wait { call.video.count { $0.isMarked } >= frames }
        let seen = try shown(to: call)
        try #require(seen.count >= 100)

        let scratch = try Scratch()
        func ask(_ side: StreamPicture.Side, _ stamp: UInt32) throws -> UInt16? {
            let answers = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1)
            running.relay.requestPast(side, .rtp(stamp), width: 3840) { _ = answers.push($0) }
            let picture = try #require(try answers.pop(until: .now() + .seconds(60))?.get())
            let reader = try FileReader(path: try scratch.write(picture.bytes, to: "still.jpg"))
            while let item = try reader.next() {
                guard case .picture(let shown, _) = consume item else { continue }
                if case .code(let code) = TimeCodeReading(luma: shown.view.y, near: WallTime(microseconds: 0)) {
                    return code.number
                }
            }
            return nil
        }
        var right = (before: 0, after: 0)
        for (number, stamp) in stamps.enumerated().prefix(100) {
            if try ask(.before, stamp) == UInt16(number) { right.before += 1 }
        }
        for (stamp, number) in seen.prefix(100) { if try ask(.after, stamp) == number { right.after += 1 } }
        #expect(right == (100, 100))
        // A stamp between two pictures is nobody's.
        let answers = BoundedQueue<Result<PastPicture, PastFault>>(capacity: 1)
        running.relay.requestPast(.before, .rtp(stamps[50] &+ 1), width: 64) { _ = answers.push($0) }
        guard case .failure(let fault)? = answers.pop(until: .now() + .seconds(60)) else { return #expect(Bool(false)) }
        #expect(fault.kind == .missing)
        #expect(running.stop()?.frames.balance == true)
    }
}
