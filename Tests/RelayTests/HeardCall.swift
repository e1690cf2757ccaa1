import Container
import Foundation
import Media
import Packets
import TestStreams
import Testing
@testable import Relay

/// A viewer of a call that keeps what it gets: RTP packets without header extensions, and what the last sender reports say.
final class HeardCall: RTPSendWire {
    struct Packet {
        var timestamp: UInt32
        var isMarked: Bool
        var payload: [UInt8]
    }

    private struct State {
        var packets: [[Packet]] = [[], []]
        /// The RTP time stamps of one moment, for each track.
        var reported: [UInt32?] = [nil, nil]
    }

    private let state = Lock(State())
    private let own = Lock<RTPViewer?>(nil)
    let viewers = RTPViewers(capacity: 1)

    /// - Parameter joins: false for one that comes later (``join()``).
    init(joins: Bool = true) { if joins { join() } }

    func join() {
        let video = RTPTrack([RTPFormat(.h264, payloadType: 96)])
        let sound = RTPTrack([RTPFormat(.opus, payloadType: 111, channels: 2)])
        let viewer = viewers.add([video, sound], self, peer: "viewer")
        own.withLock { $0 = viewer }
    }

    /// Goes. The goodbye has reports of both tracks, of the same moment.
    func leave() { if let viewer = own.withLock({ $0 }) { viewers.remove(viewer) } }

    func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
        let bytes = Array(packet)
        func number(_ at: Int) -> UInt32 { bytes[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        state.withLock { state in
            if isControl {
                if bytes[1] == 200 { state.reported[track] = number(16) }
            } else {
                #expect(bytes[0] == 0x80)
                state.packets[track].append(
                    Packet(timestamp: number(4), isMarked: bytes[1] & 0x80 != 0, payload: Array(bytes[12...])))
            }
        }
        return .sent
    }

    var video: [Packet] { state.withLock { $0.packets[0] } }
    var sound: [Packet] { state.withLock { $0.packets[1] } }
    var soundPackets: Int { state.withLock { $0.packets[1].count } }
    /// The first byte behind Opus's own: tests number their packets there.
    var numbers: [UInt8] { sound.map { $0.payload.count > 1 ? $0.payload[1] : 0 } }

    /// The times of the pictures, in seconds before the moment of the reports.
    func pictures() throws -> [Double] {
        let reported = try #require(state.withLock { $0.reported[0] })
        let packets = state.withLock { $0.packets[0] }
        return packets.filter(\.isMarked).map { Double(Int32(bitPattern: $0.timestamp &- reported)) / 90_000 }
    }

    /// The times at which clicks begin, in seconds before the moment of the reports. Packets of 10 ms that follow each other.
    func clicks(_ scratch: Scratch) throws -> [Double] {
        let reported = try #require(state.withLock { $0.reported[1] })
        let packets = sound
        let first = try #require(packets.first)
        var layout = TransportStreamLayout()
        layout.video = nil
        layout.passedStreams = [.opus]
        let muxer = try TransportStreamMuxer(layout)
        var stream: [UInt8] = []
        for (number, packet) in packets.enumerated() {
            try #require(packet.payload.count < 510 && packet.timestamp &- first.timestamp == UInt32(number * 480))
            let sizes = (packet.payload.count >= 255 ? [255] : []) + [UInt8(packet.payload.count % 255)]
            ([0x7f, 0xe0] + sizes + packet.payload).withUnsafeBytes {
                muxer.writePassed(stream: 0, $0, presentationTime: MediaTime(ticks: 900_000 + Int64(number) * 900)) {
                    stream.append(contentsOf: $0)
                }
            }
        }
        let input = try scratch.write(stream, to: "heard.ts")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "ffmpeg", "-nostdin", "-v", "error", "-c:a", "libopus", "-i", input, "-f", "f32le", "-ac", "1", "-ar", "48000",
            scratch.path("heard.raw"),
        ]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let samples = try scratch.read("heard.raw").withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        #expect(abs(samples.count - packets.count * 480) < 480)
        let begin = Double(Int32(bitPattern: first.timestamp &- reported)) / 48_000
        var clicks: [Int] = []
        for (at, sample) in samples.enumerated() where abs(sample) > 0.15 && at - (clicks.last ?? -10_000) > 4_800 {
            clicks.append(at)
        }
        return clicks.map { begin + Double($0) / 48_000 }
    }
}
