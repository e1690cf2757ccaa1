import Media
import Schedule
import Testing
@testable import Relay

@Suite struct SharedSchedulerTests {
    private let small = PictureSize(width: 320, height: 180)
    private let large = PictureSize(width: 640, height: 360)

    private func planning(_ size: PictureSize, ceiling: Tier = .neuralM) -> Planner.Configuration {
        var planning = Planner.Configuration(input: size, output: size.scaled(by: 2), interval: .milliseconds(33.3))
        planning.ceiling = ceiling
        return planning
    }

    /// A source that changes its size does not put the schedule back to knowing nothing.
    @Test func whatWasLearntOfOneSizeHoldsForTheNext() throws {
        let schedule = SharedScheduler(order: .beforeOriginal)
        schedule.configure(planning(small))
        for _ in 0..<40 { _ = schedule.withScheduler { $0.observe(.decode, .milliseconds(3)) } }
        func decoding() -> Double? { schedule.withScheduler { $0.policy.costs[.decode].mean } }
        #expect(abs(try #require(decoding()) - 3e6) < 1)
        schedule.configure(planning(large))
        #expect(abs(try #require(decoding()) - 12e6) < 4)
        schedule.configure(planning(small))
        #expect(abs(try #require(decoding()) - 3e6) < 1)
        // Without super-resolution there are other rungs: the schedule begins anew.
        schedule.configure(planning(small, ceiling: .base))
        #expect(decoding() == Planner(planning(small, ceiling: .base)).costs[.decode].mean)
    }
}
