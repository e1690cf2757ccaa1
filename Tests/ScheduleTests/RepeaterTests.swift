import Media
import Schedule
import Testing

/// The repeater without a cadence. The tests give it frames as they leave and originals as they arrive.
@Suite struct RepeaterTests {
    private static let grid = SlotGrid(rate: Rational(60), start: MediaTime(ticks: 0))
    private static let budget = Nanoseconds.milliseconds(80)

    private var repeater = Repeater(grid: Self.grid, hold: .seconds(2))
    private var expected = Expectation()

    private func at(_ milliseconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: Int64((1e9 + milliseconds * 1e6).rounded()))
    }

    /// Ten originals 33⅓ ms apart. Each is shown 10 ms after its arrival, with the slot before it. The last arrives at 300 ms.
    private mutating func tenOriginals() {
        for index in 0..<10 {
            let now = at(Double(index) * 100 / 3)
            let time = MediaTime(ticks: Int64(index) * 3_000)
            expected.observe(time, emitBy: now + Self.budget)
            if index > 0 { repeater.show(time + -1_500, now: now + .milliseconds(10)) }
            repeater.show(time, now: now + .milliseconds(10))
        }
    }

    @Test mutating func nothingIsFilledBeforeTheFirstFrame() {
        expected.observe(MediaTime(ticks: 0), emitBy: at(0))
        #expect(repeater.fillOverdueSlot(now: at(10_000), expected, hasFramesInFlight: false) == .nothing)
        #expect(repeater.due(expected) == nil && repeater.slot(for: MediaTime(ticks: 3_000), now: at(0))?.ticks == 3_000)
    }

    @Test mutating func aSlotIsFilledOnceTheDeadlineOfTheFrameThatBelongsThereHasPassed() {
        tenOriginals()
        // The next original should arrive at 333.3 ms. Its slot and the one before it are due 80 ms later.
        #expect(repeater.fillOverdueSlot(now: at(413), expected, hasFramesInFlight: false) == .nothing)
        #expect(
            repeater.fillOverdueSlot(now: at(414), expected, hasFramesInFlight: false) == .repeated(MediaTime(ticks: 28_500)))
        #expect(
            repeater.fillOverdueSlot(now: at(414), expected, hasFramesInFlight: false) == .repeated(MediaTime(ticks: 30_000)))
        #expect(repeater.fillOverdueSlot(now: at(414), expected, hasFramesInFlight: false) == .nothing)
        #expect(repeater.filled?.slot.ticks == 30_000)
        #expect(repeater.slot(for: MediaTime(ticks: 30_000), now: at(420)) == nil, "it has been repeated: late")
    }

    @Test mutating func aSlotWaitsForFramesInFlightUntilATimeout() {
        tenOriginals()
        #expect(repeater.fillOverdueSlot(now: at(600), expected, hasFramesInFlight: true) == .nothing)
        #expect(
            repeater.fillOverdueSlot(now: at(664), expected, hasFramesInFlight: true) == .repeated(MediaTime(ticks: 28_500)))
    }

    @Test mutating func aFrameForALaterSlotFillsThoseBeforeIt() {
        tenOriginals()
        for ticks: Int64 in [28_500, 30_000, 31_500] {
            let filler = repeater.fillSlot(before: MediaTime(ticks: 33_000), now: at(370))
            #expect(filler == .repeated(MediaTime(ticks: ticks)))
        }
        #expect(repeater.fillSlot(before: MediaTime(ticks: 33_000), now: at(370)) == .nothing)
        // After the slate, older pictures do not come back.
        #expect(repeater.fillSlot(before: MediaTime(ticks: 36_000), now: at(9_000)) == .slate(MediaTime(ticks: 33_000)))
    }

    @Test mutating func aLateFrameSkipsSlotsThatAreOverdueByMore() {
        tenOriginals()
        // A frame for 1300 ms is due at 1380 ms. The slots before it that were due before 900 ms stay empty.
        let (frame, now) = (MediaTime(ticks: 117_000), at(1_400))
        #expect(repeater.fillSlot(before: frame, now: now, due: at(1_380)) == .repeated(MediaTime(ticks: 75_000)))
        #expect(repeater.drainSlotsLeftEmpty() == 31)
        #expect(repeater.fillSlot(before: frame, now: now, due: at(1_380)) == .repeated(MediaTime(ticks: 76_500)))
    }

    @Test mutating func aFrameThatIsInTimeHasAllSlotsBeforeItFilled() {
        tenOriginals()
        let filler = repeater.fillSlot(before: MediaTime(ticks: 117_000), now: at(1_400))
        #expect(filler == .repeated(MediaTime(ticks: 28_500)) && repeater.drainSlotsLeftEmpty() == 0)
    }

    @Test mutating func aGapThatIsTooLongStaysEmpty() {
        tenOriginals()
        #expect(repeater.fillSlot(before: MediaTime(ticks: 27_000 + 4 * 90_000), now: at(310)) == .nothing)
    }

    @Test mutating func afterTheHoldComesTheSlateInRealTime() {
        tenOriginals()
        var repeated = 0
        var slates = 0
        for millisecond in 300..<5_300 {
            switch repeater.fillOverdueSlot(now: at(Double(millisecond)), expected, hasFramesInFlight: false) {
            case .nothing: break
            case .repeated:
                #expect(slates == 0)
                repeated += 1
            case .slate: slates += 1
            }
        }
        // Slots are filled from 380 ms (plus up to an interval) to 5,300 ms. The last frame is held for two seconds.
        #expect(abs(repeated + slates - 60 * 49 / 10) <= 3 && abs(repeated - 60 * 19 / 10) <= 3)
    }

    /// Sound or reports of a shared screen that stands still: the source is there. A late frame is none the less late.
    @Test mutating func whilePacketsComeThereIsNoSlate() {
        tenOriginals()
        var (repeated, slates) = (0, 0)
        for millisecond in 300..<12_000 {
            if millisecond < 9_000, millisecond % 1_500 == 0 { repeater.restartHold(now: at(Double(millisecond))) }
            // What is older changes nothing.
            repeater.restartHold(now: at(0))
            switch repeater.fillOverdueSlot(now: at(Double(millisecond)), expected, hasFramesInFlight: false) {
            case .nothing: break
            case .repeated: repeated += 1
            case .slate: slates += 1
            }
        }
        // The last packet came at 7,500 ms, and the frame is held for two seconds.
        #expect(abs(slates - 60 * 25 / 10) <= 3 && abs(repeated - 60 * 91 / 10) <= 5, "\(repeated) \(slates)")
        let late = MediaTime(ticks: 1_080_000)
        #expect(repeater.slot(for: late, now: at(12_001))! > repeater.filled!.slot)
    }

    @Test mutating func aLateFrameIsShownAfterAFreeze() {
        tenOriginals()
        for millisecond in 300..<600 {
            _ = repeater.fillOverdueSlot(now: at(Double(millisecond)), expected, hasFramesInFlight: false)
        }
        let late = MediaTime(ticks: 30_000)
        #expect(repeater.slot(for: late, now: at(700)) == nil)
        #expect(repeater.slot(for: late, now: at(811))! > repeater.filled!.slot)
    }

    /// Originals arrive in decoding order, but the interval is that of the presentation order.
    @Test mutating func reorderedOriginalsMakeNoLongerInterval() {
        for (arrival, ticks) in [(0, 0), (33, 9_000), (67, 3_000), (100, 6_000), (133, 18_000), (167, 12_000)] {
            expected.observe(MediaTime(ticks: Int64(ticks)), emitBy: at(Double(arrival) + 180))
        }
        #expect(expected.emitBy(at: MediaTime(ticks: 18_000)) == at(313))
        #expect(expected.emitBy(at: MediaTime(ticks: 18_001)) == at(313) + MediaTime(ticks: 3_000).nanoseconds)
        #expect(expected.emitBy(at: MediaTime(ticks: 15_000)) == at(313) + MediaTime(ticks: -3_000).nanoseconds)
    }
}
