import Bitstream
import Codec
import Endpoint
import Foundation
import Media
import Packets
import Schedule
import Settings
import Telemetry
import TestStreams
import TestSupport
import Testing
import Transport
@testable import Relay

/// Pictures that the decoder gives only when the source has ended, because others could have come before them.
@Suite(.timeLimit(.minutes(3))) struct DrainedPictureTests {
    private func record(_ presentation: Int64, deadline: MonotonicTime?) -> FrameRecord {
        var record = FrameRecord(id: 1, kind: .original, presentation: MediaTime(ticks: presentation))
        record.deadline = deadline
        return record
    }

    @Test func deadlinesCountFromTheDrainInTheSourcesSteps() {
        let now = MonotonicTime(nanoseconds: 10_000_000_000)
        var deadlines = DrainedDeadlines(drained: now, budget: .milliseconds(80))
        var records = [
            record(900_000, deadline: now - .seconds(3)), record(903_600, deadline: now - .seconds(3)),
            // A deadline of its own that is later, none, and a jump of the time line.
            record(907_200, deadline: now + .seconds(1)), record(910_800, deadline: nil),
            record(900_000_000, deadline: now - .seconds(3)),
        ]
        for index in records.indices { deadlines.settle(&records[index]) }
        #expect(
            records.map(\.deadline) == [
                now + .milliseconds(80), now + .milliseconds(120), now + .seconds(1), nil, now + .milliseconds(1_080),
            ])
        #expect(records.map(\.isLateUnit) == [true, true, false, false, true])
    }

    /// The pictures before have the deadlines that they came with.
    @Test(arguments: ["ffmpeg-bframes", "hevc-open"])
    func whatTheDecoderHeldIsDueAfterTheDrain(name: String) throws {
        let coded = TestStream.coded(in: try TestStream.golden(name + ".ts"))
        let codec: VideoCodec = name == "hevc-open" ? .hevc : .h264
        let channels = StreamChannels(RelayConfiguration(input: .standardStream, output: .standardStream))
        let books = channels.books
        let queue = UnitQueue(books: books)
        let past = MonotonicTime.now() - .seconds(100)
        for unit in coded {
            var ticket = books.ledger.open(.original, presentation: unit.presentation)
            ticket.record.deadline = past
            var pending: FrameTicket? = consume ticket
            unit.bytes.withUnsafeBytes {
                queue.add(pending.take()!, $0, codec: codec, flags: [], isKeyframe: unit.isKeyframe, mayWait: true)
            }
        }
        queue.close()
        let pictures = BoundedQueue<DecodedFrame>(capacity: 256)
        let began = MonotonicTime.now()
        DecodeStage(units: queue, pictures: pictures, channels: channels).run()
        var deadlines: [MonotonicTime] = []
        while let frame = pictures.pop() {
            deadlines.append(frame.ticket.record.deadline!)
            books.ledger.close(frame.intoTicket(), as: .emitted)
        }
        #expect(deadlines.count == coded.count && books.ledger.books.balance)
        let drained = deadlines.filter { $0 != past }
        #expect((1...4).contains(drained.count))
        #expect(Array(deadlines.suffix(drained.count)) == drained && drained == drained.sorted())
        let earliest = began + channels.settings.current.budget
        #expect(drained.allSatisfy { $0 >= earliest })
    }

    enum Kind: String, CaseIterable {
        case bFrames = "-c:v libx264 -preset ultrafast -bf 3 -g 30 -pix_fmt yuv420p"
        case hevcOpen =
            "-c:v libx265 -preset ultrafast -bf 3 -x265-params log-level=none:open-gop=1:keyint=15 -pix_fmt yuv420p"
        case interlaced =
            "-c:v mpeg2video -b:v 2M -g 12 -bf 2 -flags +ildct+ilme -top 1 -vf tinterlace=interleave_top,setfield=tff"
    }

    /// As many pictures come out as another program makes, the last one included. They are sent from here: FFmpeg with
    /// libsrt 1.5.4 can end before its last packets are on the wire, however long it is told to linger.
    @Test(arguments: Kind.allCases) func theLastPictureComesOut(kind: Kind) throws {
        let scratch = try Scratch()
        let running = try SRTRelayTests.Running(
            input: "srt://127.0.0.1:0?mode=listener&latency=2000", output: scratch.path("out.ts")
        ) {
            $0.settings.tier = .base
            $0.weights.keep = 1e9
            $0.weights.swamped = .infinity
        }
        let rate = kind == .interlaced ? 50 : 25
        var command = [
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=\(rate):duration=2",
        ]
        command += kind.rawValue.split(separator: " ").map(String.init)
        command.append(scratch.path("in.ts"))
        let made = try runTool(command)
        try #require(made.status == 0, "\(made.errors)")
        let bytes = try scratch.read("in.ts")
        do {
            let sink = try Sink(try StreamURL("srt://127.0.0.1:\(running.relay.inputPort)?latency=2000"))
            try sink.awaitConnection(until: .now() + .seconds(20))
            let pace = Nanoseconds.milliseconds(2_000 / Double(bytes.count / 1316 + 1))
            for at in stride(from: 0, to: bytes.count, by: 1316) {
                bytes[at..<min(at + 1316, bytes.count)].withUnsafeBytes { #expect(sink.send($0) == .sent) }
                (MonotonicTime.now() + pace).sleep()
            }
            sink.flush(until: .now() + .seconds(20))
        }
        running.await { $0.contains("input: disconnected") }
        // The stream goes on: nobody has stopped the relay.
        let limit = MonotonicTime.now() + .seconds(60)
        while running.relay.report(since: .now()).frames.inFlight > 0, .now() < limit {
            (MonotonicTime.now() + .milliseconds(2)).sleep()
        }
        let report = try #require(running.stop())
        #expect(report.frames.originals == 50 && report.frames.emitted == 50 && report.frames.balance, "\(report.frames)")
        #expect(TestStream.units(in: try scratch.read("out.ts")).count == 50)
    }
}
