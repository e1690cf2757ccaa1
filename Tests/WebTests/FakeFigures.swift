import Control
import Foundation
import Media
import Schedule
import Telemetry
import WorkerProtocol

/// Made-up figures of a stream at 30 frames a second in and 60 out.
extension FakeService {
    var leg: LegFigures {
        var leg = LegFigures()
        leg.isConnected = true
        leg.connections = 1
        leg.roundTripTime = .milliseconds(1.5)
        leg.window = .milliseconds(120)
        leg.packetsReceived = 12_345
        leg.packetsLost = 3
        leg.messagesUnstamped = 2
        leg.refusals[.busy] = 4
        leg.handshakesDropped = 5
        leg.earlyIngest = .proven
        leg.bytesReceived = 16_000_000
        return leg
    }

    func snapshot(of name: String) async throws(ServiceFault) -> StreamSnapshot? {
        let stream = try await stream(name)
        // A map that no worker has written yet.
        if stream.state == .starting { return StreamSnapshot() }
        guard stream.state == .flowing else { return nil }
        var snapshot = StreamSnapshot()
        let ledger = Ledger(keeping: 64)
        var latency = Latency()
        for frame in Self.frames(until: .now(), count: 60) {
            let ticket = ledger.open(frame.record.kind, presentation: frame.record.presentation)
            ledger.close(ticket, as: frame.fate)
            if frame.fate == .emitted { latency.record(frame.record) }
        }
        snapshot.books = ledger.books
        snapshot.latency = latency
        snapshot.output.offered = 60
        snapshot.output.sent = 60
        for counter in StreamCounters.Counter.allCases { snapshot.counters[counter] = UInt64(counter.rawValue) }
        snapshot.gauges.rung = 1
        snapshot.gauges.coresLeast = 0.4
        snapshot.gauges.coresSynthesising = 1.3
        snapshot.gauges.rate = 59.9
        snapshot.gauges.inputSize = PictureSize(width: 640, height: 360)
        snapshot.gauges.outputSize = PictureSize(width: 1280, height: 720)
        snapshot.gauges.writtenAt = .now()
        snapshot.inputLeg = leg
        snapshot.outputLeg = leg
        snapshot.outputs = [OutputFigures(), OutputFigures()]
        snapshot.outputs[0].state = .connected
        snapshot.outputs[0].receivers = 2
        snapshot.outputs[0].leg = leg
        snapshot.outputs[0].books.offered = 60
        snapshot.outputs[0].books.sent = 60
        return snapshot
    }

    func records(of name: String, last seconds: Double) async throws(ServiceFault) -> [ClosedFrame] {
        _ = try await stream(name)
        return Self.frames(until: .now(), count: Int(seconds * 60))
    }

    /// Frames that end at `now`; their latency swings so that a live display moves. Every 50th is dropped.
    static func frames(until now: MonotonicTime, count: Int) -> [ClosedFrame] {
        (0..<count).map { index in
            let id = UInt64(now.nanoseconds / 16_666_667) - UInt64(count - index)
            let sent = now - Nanoseconds.milliseconds(16.67) * Int64(count - 1 - index)
            var record = FrameRecord(
                id: id, kind: id % 2 == 0 ? .original : .synthesised, presentation: MediaTime(ticks: Int64(id) * 1500))
            let swing = 1 + 0.3 * sin(Double(id) / 40)
            var time = sent
            for stamp in Stamp.allCases.reversed() {
                record[stamp] = time
                time = time - Nanoseconds.milliseconds(2.2 * swing)
            }
            record.deadline = sent + .milliseconds(30)
            record.tier = UInt8(id / 300 % 3)
            record.rung = UInt8(id / 300 % 4)
            record.tilesComputed = 40
            record.tilesReused = 60
            return ClosedFrame(record: record, fate: id % 50 == 49 ? .dropped(.late) : .emitted)
        }
    }

    func picture(of name: String, side: PictureSide, width: Int) async throws(ServiceFault) -> [UInt8]? {
        _ = try await stream(name)
        return side == .before ? Self.grey : Self.coloured
    }

    func still(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Still {
        _ = try await stream(name)
        switch place {
        case .frame(let frame) where frame > 1000: throw ServiceFault(.notFound, "frame \(frame) has not come yet")
        case .time(let time) where time > MonotonicTime.now().nanoseconds: throw ServiceFault(.conflict, "yet to come")
        case .best(let time) where time > MonotonicTime.now().nanoseconds - 1_900_000_000: throw ServiceFault(.notFound, "none")
        case .rtp(0): throw ServiceFault(.unavailable, "others wait")
        default: return Still(bytes: format == .png ? [0x89, 0x50] : side == .before ? Self.grey : Self.coloured, frame: 48)
        }
    }

    func makeStill(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Capture {
        let still = try await still(of: name, side: side, at: place, as: format, width: width)
        var capture = Capture(.still, number: 7, path: "/srv/stills/\(name)/still-7.jpg", state: .ready)
        (capture.bytes, capture.frame) = (Int64(still.bytes.count), still.frame)
        return capture
    }

    func makeBestStill(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Capture {
        var capture = try await makeStill(of: name, side: side, at: place, as: format, width: width)
        capture.path = "/srv/stills/\(name)/still-7.proxy.jpg"
        return capture
    }

    /// The proxy is grey, and who waits gets the final one.
    func bestStill(
        _ number: Int, of name: String, wait: Nanoseconds
    ) async throws(ServiceFault) -> (still: Still, isProxy: Bool) {
        _ = try await stream(name)
        guard number == 7 else { throw ServiceFault(.notFound, "the stream has no still of this number") }
        return (Still(bytes: wait > .zero ? Self.coloured : Self.grey, frame: nil), wait == .zero)
    }

    func deferred(of name: String) async throws(ServiceFault) -> [DeferredCapture] {
        _ = try await stream(name)
        return [DeferredCapture(.still, number: 7, state: .running, bytes: 4711, age: 2.5, position: 0)]
    }

    func readiness(of name: String) async throws(ServiceFault) -> CaptureReadiness {
        let stream = try await stream(name)
        let state: CaptureReadiness.State = stream.state == .flowing ? .ready : .starting
        return CaptureReadiness(still: state, best: state, clip: state, waiting: 1)
    }

    func makeClip(
        of name: String, from: MonotonicTime, to: MonotonicTime, as format: ClipFormat
    ) async throws(ServiceFault) -> Capture {
        _ = try await stream(name)
        guard from < to else { throw ServiceFault(.conflict, "the clip ends before it begins") }
        return Capture(.clip, number: 3, path: "/srv/stills/\(name)/clip-3.\(format.rawValue)", state: .pending)
    }

    func makeBestClip(
        of name: String, from: MonotonicTime, to: MonotonicTime, as format: ClipFormat
    ) async throws(ServiceFault) -> Capture { try await makeClip(of: name, from: from, to: to, as: format) }

    func react(_ kind: Reaction.Kind, x: Double, y: Double, seconds: Double, to name: String) async throws(ServiceFault) {
        _ = try await stream(name)
        if kind == .rain { throw ServiceFault(.conflict, "8 reactions run: wait until one has ended") }
    }

    func reactions(of name: String) async throws(ServiceFault) -> [RunningReaction] {
        _ = try await stream(name)
        return [RunningReaction(kind: .heart, x: 0.5, y: 0.25, ends: .now() + .seconds(2))]
    }

    func clip(_ number: Int, of name: String) async throws(ServiceFault) -> Capture {
        _ = try await stream(name)
        if number == 5 {
            let path = NSTemporaryDirectory() + "burnish-clip-\(UUID().uuidString).ts"
            try? Data("the clip".utf8).write(to: URL(filePath: path))
            return Capture(.clip, number: 5, path: path, state: .ready)
        }
        if number == 6 { return Capture(.clip, number: 6, path: "/srv/clip-6.mp4", state: .pending) }
        guard number == 3 else { throw ServiceFault(.notFound, "the stream has no clip of this number") }
        return Capture(.clip, number: 3, path: "/srv/stills/\(name)/clip-3.mp4", state: .ready)
    }

    /// JPEGs of 64 x 36 pixels: a ramp, grey and in colours.
    static let grey = picture(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8yb\
        qmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAk\
        AEADASIAAhEBAxEB/8QAFwABAQEBAAAAAAAAAAAAAAAABAAHBv/EABUQAQEAAAAAAAAAAAAAAAAAAAAD/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP\
        /EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AOdmVMWZUwJmVMWZUwJmVMWZUwJmVMWZUwZ5MqYsypgTMqYsypgTMqYsypgTMqYs\
        ypgzyZU0gJmVNICZlTSAmZU0gf/Z
        """)
    static let coloured = picture(
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8yb\
        qmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAk\
        AEADASIAAhEBAxEB/8QAGQABAQEBAQEAAAAAAAAAAAAAAgQAAQMF/8QAFxABAQEBAAAAAAAAAAAAAAAAAQADAv/EABcBAQEBAQAAAAAAAAAAAA\
        AAAAQFBgP/xAAWEQEBAQAAAAAAAAAAAAAAAAACAAP/2gAMAwEAAhEDEQA/APjmd0zqDORnWm7gNKczkZ1BnIzhNyhpTmd0zqDORnDbljSnM5Gd\
        QZyM4bcsaQM5GdQZyM603ZEaU5ndM6gzkZw25Y0pzORnUGcjOG3LGlOZ3TOoM5GcJuUNLzAkclrV52WEgLpyWtDcsSOSQFrQ3LEgLpyWtCcoX/\
        /Z
        """)

    private static func picture(_ base64: String) -> [UInt8] { [UInt8](Data(base64Encoded: base64) ?? Data()) }
}
