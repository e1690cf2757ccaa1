import CSRTArrival
import Media
import Testing

/// When datagrams came by the kernel's stamps, while somebody sets the wall clock. Both implementations do the same.
struct KernelStampTests {
    enum Implementation: CaseIterable { case swift, c }

    /// A machine whose wall clock is ahead of its monotonic clock.
    private struct Machine {
        var now: Int64 = 1_000_000_000
        var ahead: Int64 = 1_700_000_000_000_000_000
        var stamps: KernelStamps
        var ofC = burnish_srt_stamps()
        let implementation: Implementation

        init(_ implementation: Implementation) {
            self.implementation = implementation
            let clocks = KernelStamps.Clocks(
                before: MonotonicTime(nanoseconds: now), wall: now + ahead, after: MonotonicTime(nanoseconds: now))
            stamps = KernelStamps(clocks)
            ofC.last = burnish_srt_clocks(before: now, wall: now + ahead, after: now)
            ofC.has_last = true
        }

        var stamp: Int64 { now + ahead }

        /// Reads a datagram's arrival.
        /// - Parameter pauses: how long the thread rests before and behind the wall clock's reading.
        mutating func arrival(of stamp: Int64, pauses: (Int64, Int64) = (20, 20)) -> Int64 {
            let (before, wall) = (now, now + pauses.0 + ahead)
            now += pauses.0 + pauses.1
            switch implementation {
            case .swift:
                let clocks = KernelStamps.Clocks(
                    before: MonotonicTime(nanoseconds: before), wall: wall, after: MonotonicTime(nanoseconds: now))
                return stamps.arrival(stamp: stamp, clocks).nanoseconds
            case .c:
                return burnish_srt_arrival(&ofC, stamp, burnish_srt_clocks(before: before, wall: wall, after: now))
            }
        }
    }

    @Test(arguments: Implementation.allCases) func aDatagramIsAsOldAsItsStampSays(implementation: Implementation) {
        var machine = Machine(implementation)
        for wait in [0, 5_000, 4_000_000, 900_000_000, 3_000_000_000] as [Int64] {
            let (came, stamp) = (machine.now, machine.stamp)
            machine.now += wait
            let arrival = machine.arrival(of: stamp)
            #expect(abs(arrival - came) <= 20, "\(wait)")
        }
    }

    /// By so much somebody sets the wall clock while two datagrams wait.
    @Test(arguments: [5, 40, 400, 990, 5_000, -5, -400, -5_000], Implementation.allCases)
    func aStepOfTheWallClockMakesNoDatagramOlder(milliseconds: Int64, implementation: Implementation) {
        var machine = Machine(implementation)
        machine.now += 33_000_000
        var stamps = [machine.stamp]
        machine.now += 200_000
        stamps.append(machine.stamp)
        machine.ahead += milliseconds * 1_000_000
        for stamp in stamps {
            let read = machine.now
            #expect(machine.arrival(of: stamp) == read)
        }
        // What comes later is stamped by the new clock.
        for _ in 0..<3 {
            machine.now += 33_000_000
            let (came, stamp) = (machine.now, machine.stamp)
            machine.now += 2_000_000
            let arrival = machine.arrival(of: stamp)
            #expect(abs(arrival - came) <= 20)
        }
    }

    /// A thread that is held up between two readings, and a clock that is slewed, are no step.
    @Test(arguments: Implementation.allCases) func aBusyMachineAndASlewedClockAreNoSteps(implementation: Implementation) {
        var machine = Machine(implementation)
        for pauses in [(50_000_000, 20), (20, 50_000_000), (20, 20)] as [(Int64, Int64)] {
            machine.now += 33_000_000
            let (came, stamp) = (machine.now, machine.stamp)
            machine.now += 3_000_000
            let arrival = machine.arrival(of: stamp, pauses: pauses)
            // A reading that took long shows less, but never a time after it.
            #expect(arrival <= machine.now && arrival >= came - pauses.0 - 20)
        }
        for _ in 0..<100 {
            machine.now += 1_000_000_000
            machine.ahead += 500_000
            let (came, stamp) = (machine.now, machine.stamp)
            machine.now += 2_000_000
            let arrival = machine.arrival(of: stamp)
            #expect(abs(arrival - came) <= 20)
        }
    }
}
