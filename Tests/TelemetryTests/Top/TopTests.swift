import Media
import Schedule
import Testing
@testable import Telemetry

@Suite struct TopTests {
    /// Ten frames a second for six seconds; every frame takes 20 ms from packet to packet out, every tenth 40 ms.
    static func frames() -> [ClosedFrame] {
        (0..<60).map { n in
            let start = Int64(n) * 100_000_000 + 1_000_000_000
            var record = FrameRecord(id: UInt64(n), kind: .original, presentation: MediaTime(ticks: Int64(n) * 9_000))
            let slow: Int64 = n % 10 == 9 ? 2 : 1
            for (index, stamp) in Stamp.allCases.enumerated() {
                record[stamp] = MonotonicTime(nanoseconds: start + Int64(index) * 2_000_000 * slow)
            }
            record.tier = n % 4 == 0 ? 1 : 2
            record.tilesComputed = 12
            record.tilesReused = 30
            return ClosedFrame(record: record, fate: n == 55 ? .dropped(.late) : .emitted)
        }
    }

    static func snapshot(at seconds: Int64) -> StreamSnapshot {
        var snapshot = StreamSnapshot()
        snapshot.books.originals = UInt64(seconds) * 10
        snapshot.books.synthesised = 5
        snapshot.books.emitted = UInt64(seconds) * 10 + 1
        snapshot.books.drop(.original, .late, 3)
        snapshot.books.drop(.synthesised, .overload)
        snapshot.output.offered = 7
        snapshot.output.sent = 6
        snapshot.output.queued = 1
        snapshot.writers = 2
        snapshot.process = 4711
        snapshot.startedAt = MonotonicTime(nanoseconds: 1_000_000_000 - 3_600_000_000_000)
        snapshot.gauges.rung = Rung.all.firstIndex { $0.name == "neural-m+synthesis" }.map { UInt8($0) }
        snapshot.gauges.output = StreamGauges.Output(step: 0, preset: .superfast)
        snapshot.gauges.rate = 59.94
        snapshot.gauges.coresLeast = 0.3
        snapshot.gauges.coresSynthesising = 1.2
        snapshot.gauges.inputSize = PictureSize(width: 640, height: 360)
        snapshot.gauges.outputSize = PictureSize(width: 1280, height: 720)
        snapshot.gauges.writtenAt = MonotonicTime(nanoseconds: seconds * 1_000_000_000)
        snapshot.latency.misses = 2
        snapshot.inputLeg.isConnected = true
        snapshot.inputLeg.connections = 3
        snapshot.inputLeg.roundTripTime = .milliseconds(20.1)
        snapshot.inputLeg.bytesReceived = seconds * 250_000
        snapshot.inputLeg.packetsLost = seconds
        snapshot.inputLeg.packetsRetransmitted = 4
        snapshot.outputLeg.bytesSent = 9
        return snapshot
    }

    static let figures = TopFigures(
        stream: "camera", snapshot(at: 7), former: snapshot(at: 6), frames: frames(),
        now: MonotonicTime(nanoseconds: 7_000_000_000))

    @Test func theScreenLooksLikeThis() {
        let lines = TopScreen().lines(Self.figures)
        let expected = """
            burnish top: camera   640x360 → 1280x720 superfast   59.9 frames/s
            process 4711, 1:00:06   1 restart   neural-m+synthesis   needs 0.3 to 1.2 cores

            latency                                               ▅█▅█▅█▅█▅█▅█  to 36.0 ms
                      p50 18.0  p95 36.0  p99 36.0 ms   deadlines missed 2

            stage                      p50      p99  ms, last 5 s
            receive                    2.0      4.0  ██████████░░░░░░░░░░
            complete                   2.0      4.0  ██████████░░░░░░░░░░
            wait for decoder           2.0      4.0  ██████████░░░░░░░░░░
            decode                     2.0      4.0  ██████████░░░░░░░░░░
            wait for enhancement       4.0      8.0  ████████████████████░░░░░░░░░░░░░░░░░░░
            enhance                    2.0      4.0  ██████████░░░░░░░░░░
            wait for encoder           2.0      4.0  ██████████░░░░░░░░░░
            encode                     2.0      4.0  ██████████░░░░░░░░░░
            send                       2.0      4.0  ██████████░░░░░░░░░░

            tiers     neural-s 24 %, neural-m 76 %   tiles a frame: 12.0 new, 30.0 reused
            dropped   late 3 (1 now), overload 1
            input     up, 2.0 Mb/s, rtt 20.1 ms, lost 7 (1 now), again 4, connection 3
            output    DOWN, 0.0 Mb/s, lost 0, again 0
            books     in 70 + synthesised 5 + repeated 0
                      = emitted 71 + dropped 4 (late 3, overload 1) + in flight 0
            units     offered 7 = sent 6 + dropped 0 + queued 1
            """
        #expect(lines.joined(separator: "\n") == expected)
    }

    @Test func aNarrowTerminalCutsAndAWideOneDoesNot() {
        let narrow = TopScreen(width: 30, height: 5).lines(Self.figures)
        #expect(narrow.count == 5 && narrow.allSatisfy { $0.count <= 30 })
        #expect(TopScreen(width: 0, height: 0).lines(Self.figures).isEmpty)
        #expect(TopScreen(width: 1, height: 100).lines(Self.figures).allSatisfy { $0.count <= 1 })
        let wide = TopScreen(width: 200, height: 50).lines(Self.figures)
        #expect(wide.contains { $0.hasPrefix("books ") && $0.contains("in flight 0") })
        let styled = TopScreen(isStyled: true).lines(Self.figures)
        #expect(styled[0].hasPrefix("\u{1B}[1m") && styled[0].hasSuffix("\u{1B}[0m"))
    }

    /// A map that nobody has written yet, and one whose stream has stopped.
    @Test func nothingIsSaidOfWhatIsNotKnown() {
        let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        let empty = TopFigures(stream: "a\u{1B}[2J\nb", StreamSnapshot(), frames: [], now: now)
        let lines = TopScreen(width: 120, height: 40).lines(empty)
        #expect(lines[0] == "burnish top: a[2Jb   0.0 frames/s")
        #expect(lines[1].contains("no picture enhanced") && lines[1].contains("NO NEWS"))
        #expect(lines.contains { $0.hasPrefix("tiers ") && $0.hasSuffix("–") })
        let stopped = TopFigures(stream: "camera", Self.snapshot(at: 7), frames: Self.frames(), now: now)
        #expect(stopped.latency.p50 == nil && stopped.latencySeries.allSatisfy { $0 == nil })
        #expect(stopped.input.bitsPerSecond == 0 && stopped.drops.first?.lately == 0)
    }

    @Test func barsAndSparksStayInTheirRoom() {
        #expect(TopScreen.spark([nil, 0, 1, 0.5], largest: 1) == " ▁█▅")
        #expect(TopScreen.spark([0, nil], largest: 0) == "▁ ")
        #expect(TopScreen.bar(5, 10, largest: 10, room: 10) == "█████░░░░░")
        #expect(TopScreen.bar(0.001, 0.001, largest: 10, room: 10) == "▏")
        #expect(TopScreen.bar(20, 30, largest: 10, room: 4) == "████")
        #expect(TopScreen.bar(1, 2, largest: 10, room: 0) == "▏")
        #expect(TopScreen.bar(1, 2, largest: 0, room: 10) == "")
    }
}
