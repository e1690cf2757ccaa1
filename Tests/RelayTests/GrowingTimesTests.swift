import Media
import Settings
import TestStreams
import Testing
@testable import Relay

/// Time stamps that are repeated, or go back a little.
@Suite(.timeLimit(.minutes(2))) struct GrowingTimesTests {
    private func settled(_ ticks: [Int64]) -> [Int64] {
        var times = GrowingTimes()
        return ticks.map { times.settle(MediaTime(ticks: $0)).ticks }
    }

    @Test func aStampThatDoesNotGrowIsNudged() {
        #expect(settled([0, 3_000, 3_000, 6_000, 5_100, 5_200, 9_000]) == [0, 3_000, 3_001, 6_000, 6_001, 6_002, 9_000])
        #expect(settled([5, 5, 5, 5]) == [5, 6, 7, 8])
        // A second or more is another clock.
        #expect(settled([300_000, 209_999, 303_000]) == [300_000, 209_999, 303_000])
    }

    /// Every tenth picture has the stamp of the one before, or one 10 ms before that: all are shown, in their order.
    @Test(
        arguments: [0, -900] as [Int64],
        [(.enhance, nil), (.enhance, 2), (.bypass, nil), (.bypass, 2)] as [(StreamSettings.Mode, Int?)])
    func allPicturesAreShown(step: Int64, way: (mode: StreamSettings.Mode, factor: Int?)) throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(
            frames: 60,
            stamp: { index, time in
                index % 10 == 9 ? MediaTime(ticks: time.ticks - 3_000 + step) : time
            })
        let report = try relay(stream, scratch) {
            $0.settings.mode = way.mode
            if let factor = way.factor { $0.settings.interpolate = factor }
        }
        let dropped = report.frames.originalsDroppedByReason
        #expect(dropped.values.allSatisfy { $0 == 0 }, "\(dropped)")
        #expect(report.frames.emitted + report.frames.bypassed >= 60)
        let times = TestStream.units(in: try scratch.read("out.ts")).map(\.presentation)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 } && times.count >= 60)
    }
}
