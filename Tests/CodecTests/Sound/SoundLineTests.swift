import Media
import Testing

@testable import Codec

/// Where samples lie in time, by time stamps alone.
@Suite struct SoundLineTests {
    private static let begin = MediaTime(ticks: 1_000_003)

    /// Frames of 1024 samples at 48 kHz, with their stamps moved by so many ticks.
    private func places(_ frames: Int, offset: (Int) -> Int64) -> [SoundLine.Place] {
        var line = SoundLine()
        return (0..<frames).map { number in
            let time = Self.begin + Int64(number) * 1920 + offset(number)
            let place = line.place(time, held: 0)
            if place == .begins { line.begin(at: time) }
            var samples = 1024
            if case .follows(let correction) = place { samples += correction }
            line.add(samples)
            return place
        }
    }

    /// Stamps of a millisecond, as RTMP has them.
    @Test func coarseStampsChangeNothing() {
        let places = places(500) { number in -((Int64(number) * 1920) % 90) }
        #expect(places.first == .begins && places.dropFirst().allSatisfy { $0 == .follows(correction: 0) })
    }

    /// The sender's samples are 500 in a million too few for its stamps.
    @Test(arguments: [1, -1] as [Int64]) func aClockThatRunsAwayIsFollowed(sign: Int64) {
        let places = places(1_000) { sign * Int64($0) * 1920 / 2_000 }
        let corrections = places.compactMap { if case .follows(let samples) = $0, samples != 0 { samples } else { nil } }
        #expect(
            corrections.count > 2 && corrections.allSatisfy { $0 * Int(sign) > 0 && abs($0) < SoundLine.correctionLength / 100 }
        )
        #expect(places.dropFirst().allSatisfy { if case .follows = $0 { true } else { false } })
    }

    @Test func whatIsMissingIsAGapAndWhatWasThereOverlaps() {
        var line = SoundLine()
        let before = line.place(nil, held: 0)
        line.begin(at: Self.begin)
        line.add(4800)
        let end = Self.begin + 9_000
        let gap = line.place(end + 1_920, held: 0)
        // What the resampler holds is not missing.
        let held = line.place(end + 1_920, held: 1_000)
        let again = line.place(end + -1_920, held: 0)
        let untimed = line.place(nil, held: 0)
        #expect(line.time(of: line.count) == end)
        #expect(before == .untimed && gap == .gap(1_024) && held == .follows(correction: 0))
        #expect(again == .overlaps && untimed == .follows(correction: 0))
    }
}
