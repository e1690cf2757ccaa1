import Media
import Testing
@testable import Schedule

@Suite struct PresentationLineTests {
    static let interval = Nanoseconds.milliseconds(40)
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private var line = PresentationLine()

    private mutating func observe(_ number: Int64, at own: Nanoseconds, isIdle: Bool = true) -> Nanoseconds {
        let presentation = MediaTime(ticks: 900_000 + MediaTime.ticks(in: Self.interval * number))
        return line.observe(own: start + own, presentation: presentation, isIdle: isIdle)
    }

    @Test mutating func jitterChangesNothing() {
        var random = SplitMix64(seed: 1)
        for number in 0..<1000 as Range<Int64> {
            let jitter = Nanoseconds(Int64(random.unit() * Double(PresentationLine.tolerance.count)))
            #expect(observe(number, at: Self.interval * number + jitter) == .zero)
        }
        #expect(line.caughtUp == .zero)
    }

    /// Fifteen frames at once, behind each other in the queue: each is due an interval after the one before.
    @Test mutating func framesThatComeAtOnceAreDueOneIntervalApart() {
        let early = (0..<15 as Range<Int64>).map { observe($0, at: .zero, isIdle: $0 == 0) }
        #expect(early[0] == .zero)
        for number in 1..<15 {
            // A quarter of the time that the pictures show is caught up meanwhile.
            #expect(early[number] == Self.interval * Int64(number) * 3 / 4)
        }
    }

    /// The sender stays ahead. The queue is empty soon, and half a second is caught up within two.
    @Test(arguments: [12, 25] as [Int64]) mutating func aSenderThatStaysAheadIsCaughtUp(burst: Int64) {
        var last = Nanoseconds.zero
        var deadline = Nanoseconds.zero
        for number in 0..<(burst + 50) {
            let own = Self.interval * max(0, number - burst + 1)
            last = observe(number, at: own, isIdle: number == 0 || number > burst + 1)
            #expect(own + last >= deadline, "deadlines do not go back")
            deadline = own + last
        }
        #expect(last <= .milliseconds(80))
        for number in (burst + 50)..<(burst + 60) { last = observe(number, at: Self.interval * (number - burst + 1)) }
        #expect(last == .zero)
        #expect(line.caughtUp == Self.interval * (burst - 1))
    }

    /// What cannot be worked off for lack of power is late after a while, so latency does not stay high.
    @Test mutating func aQueueThatDoesNotDrainIsWaitedForOnlyForAWhile() {
        for number in 0..<12 as Range<Int64> { _ = observe(number, at: .zero, isIdle: false) }
        var last = Nanoseconds.seconds(1)
        for number in 12..<50 as Range<Int64> { last = observe(number, at: Self.interval * (number - 11), isIdle: false) }
        #expect(last == .zero)
    }

    @Test mutating func aLateFrameMovesTheLineAtOnce() {
        for number in 0..<10 as Range<Int64> { _ = observe(number, at: Self.interval * number) }
        // The network stalls for 400 ms. Then all that was held up comes at once.
        let held = (10..<20 as Range<Int64>).map { observe($0, at: Self.interval * 20, isIdle: $0 == 10) }
        #expect(held[0] == .zero)
        #expect(held[9] == Self.interval * 9 * 3 / 4)
        // Later still: deadlines count from the frames' own times.
        #expect(observe(20, at: .seconds(30)) == .zero)
    }

    @Test mutating func jumpsOfTheClockBeginAnotherLine() {
        _ = observe(0, at: .zero)
        #expect(observe(1000, at: Self.interval) == .zero, "forward by 40 s")
        #expect(observe(3, at: Self.interval * 2) == .zero, "back again")
        #expect(observe(5, at: Self.interval * 2) == Self.interval, "half of the step is caught up")
        line.restart()
        #expect(observe(30, at: Self.interval * 3) == .zero)
    }

    /// A picture that is shown after others that arrive later: its own time counts from its turn, so it is on the line.
    @Test mutating func reorderedFramesAreOnTheLine() {
        for number in [0, 4, 2, 1, 3, 8, 6, 5, 7] as [Int64] {
            #expect(observe(number, at: Self.interval * number) == .zero)
        }
    }

    @Test mutating func noFrameIsMoreThanTwoSecondsEarly() {
        for number in 0..<500 as Range<Int64> {
            #expect(observe(number, at: .zero, isIdle: false) <= PresentationLine.mostEarly)
        }
    }
}
