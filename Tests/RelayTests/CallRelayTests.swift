import Codec
import Container
import Endpoint
import Foundation
import Measure
import Media
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// Relays with plain RTP at one end or both, on loopback, with real sockets on ports that the system chose. The peer is
/// another relay.
@Suite(.serialized, .timeLimit(.minutes(3))) struct CallRelayTests {
    private typealias Running = SRTRelayTests.Running

    /// Four free ports in a row, the first one even. They were free a moment ago.
    private static func freePorts() throws -> UInt16 {
        while true {
            let first = try Source(try StreamURL("rtp://127.0.0.1:0"))
            let port = first.localPort
            guard port % 2 == 0, port < .max - 4, let second = try? Source(try StreamURL("rtp://127.0.0.1:\(port + 2)")) else {
                continue
            }
            withExtendedLifetime((first, second)) {}
            return port
        }
    }

    private static func ffmpeg(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-nostdin", "-v", "error"] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    /// Two seconds of pictures and a tone.
    private static let pictures = [
        "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=30:duration=2", "-f", "lavfi", "-i",
        "sine=frequency=440:sample_rate=48000:duration=2",
    ]

    private static func stream(_ scratch: Scratch) throws -> String {
        let input = scratch.path("source.ts")
        let made = try ffmpeg(
            pictures + [
                "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "30", "-c:a", "libopus", "-shortest", input,
            ])
        made.waitUntilExit()
        try #require(made.terminationStatus == 0)
        return input
    }

    /// One relay sends to another over a path that loses packets: those that are lost are asked for and come again. How many come
    /// in time depends on the machine here; `RTPReceiveSessionTests` says how many must, in virtual time.
    @Test func lostPacketsAreSentAgain() throws {
        let scratch = try Scratch()
        let input = try Self.stream(scratch)
        let port = try Self.freePorts()
        var settings = ImpairmentSettings()
        settings.loss = 0.05
        settings.delay = .milliseconds(5)
        settings.seed = 11
        let proxies = try Self.proxies(to: port, settings)
        // Both have the same description, each with the ports that it is to use.
        func description(_ port: UInt16) -> String {
            """
            v=0
            o=- 0 0 IN IP4 127.0.0.1
            s=-
            c=IN IP4 127.0.0.1
            t=0 0
            m=video \(port) RTP/AVPF 96 98
            a=rtpmap:96 H264/90000
            a=fmtp:96 packetization-mode=1
            a=rtcp-fb:96 nack
            a=rtcp-fb:96 nack pli
            a=rtpmap:98 rtx/90000
            a=fmtp:98 apt=96
            m=audio \(port + 2) RTP/AVPF 97
            a=rtpmap:97 opus/48000/2
            """
        }
        let own = try scratch.write(Array(description(port).utf8), to: "own.sdp")
        let call = try scratch.write(Array(description(proxies[0].localPort).utf8), to: "call.sdp")
        let receiving = try Running(input: "\(own)?latency=2000", output: scratch.path("out.ts"))
        var configuration = RelayConfiguration(input: .file(path: input), output: try StreamURL(call))
        configuration.settings.budget = .seconds(60)
        let sending = try Relay(configuration)
        let start = MonotonicTime.now()
        let sent = try sending.run { _ in }
        sending.close()
        // A packet may have been asked for, and sent again, after the report.
        let repeated = sending.report(since: start).output.packetsRetransmitted
        receiving.await { $0.contains("input: disconnected") }
        let received = try #require(receiving.stop())
        withExtendedLifetime(proxies) {}
        #expect(sent.frames.emitted == 60 && repeated > 0 && repeated >= sent.output.packetsRetransmitted)
        #expect(received.input.packetsRetransmitted > 0 && received.frames.balance, "\(received.text)")
        let (found, repaired) = (received.input.packetsLost, received.input.packetsRetransmitted)
        #expect(repaired <= found && repaired <= repeated, "\(repeated) \(received.text)")
        #expect(received.frames.originals > 0, "\(received.text)")
    }

    /// Proxies on four ports in a row.
    private static func proxies(to port: UInt16, _ settings: ImpairmentSettings) throws -> [ImpairmentProxy] {
        search: while true {
            let first = try ImpairmentProxy(to: UDPEndpoint(host: "127.0.0.1", port: port), settings: settings)
            guard first.localPort < .max - 4 else { continue }
            var all = [first]
            for offset in 1..<4 as Range<UInt16> {
                guard
                    let next = try? ImpairmentProxy(
                        port: first.localPort + offset, to: UDPEndpoint(host: "127.0.0.1", port: port + offset),
                        settings: settings)
                else { continue search }
                all.append(next)
            }
            return all
        }
    }
}
