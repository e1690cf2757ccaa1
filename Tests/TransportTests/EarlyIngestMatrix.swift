import Endpoint
import Foundation
import Glibc
import Measure
import Media
import Testing
@testable import Packets
@testable import Transport

/// Not a test but a measurement (`tools/bench/early-ingest-matrix` runs it): other programs' senders through a bad network, read
/// early and with TSBPD, one table row a cell.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["BURNISH_MATRIX"] != nil))
struct EarlyIngestMatrix {
    static let window = 120
    static let length = Nanoseconds.seconds(9)
    /// Connecting and the sender's start-up are not what is measured.
    static let warmUp = Nanoseconds.seconds(1)

    enum Sender: String, CaseIterable {
        case ffmpeg
        case gstreamer
        case srtLiveTransmit = "srt-live-transmit"

        func command(port: UInt16, clip: String) -> String {
            switch self {
            case .ffmpeg:
                "exec ffmpeg -v error -re -stream_loop -1 -i \(clip) -c copy -f mpegts"
                    + " 'srt://127.0.0.1:\(port)?mode=caller&latency=\(window)000&pkt_size=1316'"
            case .gstreamer:
                "exec gst-launch-1.0 -q videotestsrc is-live=true pattern=snow"
                    + " ! video/x-raw,width=640,height=360,framerate=30/1"
                    + " ! x264enc tune=zerolatency speed-preset=ultrafast bitrate=2000 key-int-max=30"
                    + " ! mpegtsmux alignment=7"
                    + " ! srtsink uri='srt://127.0.0.1:\(port)?mode=caller' latency=\(window) wait-for-connection=true"
            case .srtLiveTransmit:
                "ffmpeg -v error -re -stream_loop -1 -i \(clip) -c copy -f mpegts -flush_packets 1 - |"
                    + " exec srt-live-transmit -q file://con 'srt://127.0.0.1:\(port)?mode=caller&latency=\(window)'"
            }
        }
    }

    struct Cell {
        var sender: Sender
        var loss: Double
        var ingest: SRTEndpoint.Ingest
        var outage = false
        /// The sender's 32-bit source time wraps in the middle.
        var wraps = false

        var network: String {
            let trouble = outage ? "2 s outage" : "\(Int((loss * 100).rounded())) % loss"
            return "40 ms, \(trouble)\(wraps ? ", wrap" : "")"
        }
    }

    /// How long after the sender's socket was made its time wraps: within the outage.
    static let wrap = Nanoseconds.milliseconds(4_500.0)

    static let cells: [Cell] = [false, true].flatMap { wraps in
        Sender.allCases.flatMap { sender in
            [0, 0.03, 0.10].flatMap { loss in
                [SRTEndpoint.Ingest.early, .tsbpd].map { Cell(sender: sender, loss: loss, ingest: $0, wraps: wraps) }
            }
        }
            + Sender.allCases.flatMap { sender in
                [SRTEndpoint.Ingest.early, .tsbpd].map {
                    Cell(sender: sender, loss: 0, ingest: $0, outage: true, wraps: wraps)
                }
            }
    }

    /// What makes a sender's packets those of one that began 71.5 minutes ago: each packet's time stamp, in microseconds
    /// since the sender's socket was made, is the third word of its header (draft-sharabayko-srt-01, section 3).
    @Sendable static func advance(_ packet: inout [UInt8]) {
        guard packet.count >= 16 else { return }
        let stamp = packet[8..<12].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } &- UInt32(wrap.count / 1000)
        for byte in 0..<4 { packet[8 + byte] = UInt8(truncatingIfNeeded: stamp >> (24 - 8 * UInt32(byte))) }
    }

    @Test func measure() throws {
        let environment = ProcessInfo.processInfo.environment
        let clip = try #require(environment["BURNISH_MATRIX"])
        let only = environment["BURNISH_MATRIX_SENDER"]
        let outagesOnly = environment["BURNISH_MATRIX_OUTAGES"] != nil
        print(
            "| sender | network | read | messages | wire to reader p50 / p99 | source to reader p50 / p95 / p99 / max | past the window | never came | order | outage |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        let wrapsOnly = environment["BURNISH_MATRIX_WRAPS"] != nil
        for cell in Self.cells
        where (only == nil || cell.sender.rawValue == only) && (cell.outage || !outagesOnly) && (cell.wraps || !wrapsOnly) {
            try measure(cell, clip: clip)
        }
    }

    private func measure(_ cell: Cell, clip: String) throws {
        let url = "srt://127.0.0.1:0?mode=listener&latency=\(Self.window)&ingest=\(cell.ingest.rawValue)"
        let source = try Source(StreamURL(url))
        var settings = ImpairmentSettings()
        settings.loss = cell.loss
        settings.delay = .milliseconds(20)
        settings.jitter = .milliseconds(2)
        settings.seed = 11
        let proxy = try ImpairmentProxy(
            to: UDPEndpoint(host: "127.0.0.1", port: source.localPort), settings: settings,
            rewrite: cell.wraps ? Self.advance : nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", cell.sender.command(port: proxy.localPort, clip: clip)]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            // All of its group, at once: FFmpeg would wait for its last messages to be read.
            kill(-process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        var tally = Tally(window: .milliseconds(Double(Self.window)))
        var began: MonotonicTime?
        let giveUp = MonotonicTime.now() + .seconds(25)
        while MonotonicTime.now() < giveUp {
            if let began {
                let elapsed = MonotonicTime.now() - began
                if elapsed > Self.length { break }
                proxy.isDark = cell.outage && elapsed > .seconds(3) && elapsed < .seconds(5)
            }
            switch source.receive(into: buffer, until: .now() + .milliseconds(20)) {
            case .message(let message):
                let now = MonotonicTime.now()
                if began == nil { began = now }
                if let began, now - began > Self.warmUp { tally.add(message, now, since: began) }
            case .event(.gap(let messages)): tally.missing += messages
            case .event(.disconnected(let reason)): tally.remarks.append(reason)
            case .event, .idle, .end, .failed: continue
            }
        }
        defer { fflush(nil) }
        print("| \(cell.sender.rawValue) | \(cell.network) | \(cell.ingest.rawValue) | \(tally.row(outage: cell.outage)) |")
    }

    private struct Tally {
        let window: Nanoseconds
        var held: [Nanoseconds] = []
        var age: [Nanoseconds] = []
        var missing: Int64 = 0
        var remarks: [String] = []
        private var lastDelivery: Nanoseconds?
        private var longestPause = Nanoseconds.zero
        private var pauseEnd = Nanoseconds.zero
        private var caughtUp: Nanoseconds?
        private var backlog = 0
        private var sequence: Int64?
        private var disordered = 0

        init(window: Nanoseconds) { self.window = window }

        mutating func add(_ message: Message, _ now: MonotonicTime, since start: MonotonicTime) {
            held.append(now - message.arrival)
            let late = now - (message.sourceTime ?? now)
            age.append(late)
            if let sequence, message.sequence <= sequence { disordered += 1 }
            sequence = message.sequence
            let time = now - start
            if let lastDelivery, time - lastDelivery > longestPause {
                longestPause = time - lastDelivery
                pauseEnd = time
                caughtUp = nil
                backlog = 0
            }
            if longestPause > .milliseconds(500) && caughtUp == nil {
                backlog += 1
                if late < window + .milliseconds(20) { caughtUp = time - pauseEnd }
            }
            lastDelivery = time
        }

        func row(outage: Bool) -> String {
            func ms(_ values: [Nanoseconds], _ share: Double) -> String {
                let sorted = values.sorted()
                guard !sorted.isEmpty else { return "–" }
                return String(format: "%.1f", sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)].milliseconds)
            }
            // TSBPD hands messages over at the end of the window: a millisecond past it is not late.
            let late = age.count { $0 > window + .milliseconds(5) }
            var text = "\(age.count) | \(ms(held, 0.5)) / \(ms(held, 0.99)) ms"
            text += " | \(ms(age, 0.5)) / \(ms(age, 0.95)) / \(ms(age, 0.99)) / \(ms(age, 1)) ms"
            text += " | \(late) | \(missing) | \(disordered == 0 ? "kept" : "\(disordered) out of order")"
            if outage {
                let caughtUp = caughtUp.map { String(format: "%.0f ms", $0.milliseconds) } ?? "never"
                text +=
                    String(format: " | silent %.1f s, caught up after ", longestPause.seconds)
                    + "\(caughtUp) (\(backlog) messages)"
            } else {
                text += " | –"
            }
            return text + (remarks.isEmpty ? "" : " " + remarks.joined(separator: "; "))
        }
    }
}
