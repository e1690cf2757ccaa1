import Media
import Testing
@testable import Relay

/// When work is measured again while pictures pass for want of time, in virtual time.
@Suite struct MeasuringAgainTests {
    private func times(_ passes: (Int) -> Bool, seconds: Int) -> [Int] {
        var again = MeasuringAgain()
        return (0..<seconds).filter {
            again.isDue(at: MonotonicTime(nanoseconds: 0) + .seconds(Double($0)), passes: passes($0))
        }
    }

    @Test func evermoreSeldom() {
        #expect(times({ _ in true }, seconds: 240) == [3, 9, 21, 45, 93, 153, 213])
    }

    @Test func onlyWhilePicturesPass() {
        #expect(times({ _ in false }, seconds: 100).isEmpty)
        #expect(times({ $0 >= 10 && $0 < 20 || $0 >= 30 }, seconds: 40) == [13, 19, 33, 39])
    }
}
