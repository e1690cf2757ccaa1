import Media
import Schedule
import Testing
@testable import Telemetry

@Suite struct HistogramTests {
    @Test func everyBucketHoldsItsOwnMiddleAndBucketsAreInOrder() {
        var last = Nanoseconds(-1)
        for index in 0..<(16 * 29) {
            let middle = Histogram.middle(ofBucket: index)
            #expect(Histogram.bucket(ofMicroseconds: UInt64(middle.count) / 1_000) == index)
            #expect(middle > last)
            last = middle
        }
    }

    @Test func quantilesAreWithinThreePercent() {
        var histogram = Histogram()
        for n in 1...10_000 { histogram.record(.microseconds(Int64(n))) }
        for share in [0.01, 0.5, 0.95, 0.99] {
            let exact = share * 10_000
            let found = Double(histogram.quantile(share).count) / 1_000
            #expect(abs(found - exact) / exact < 0.035)
        }
        #expect(histogram.quantile(1) == .milliseconds(10))
        #expect(histogram.largest == .milliseconds(10))
    }

    @Test func extremesHaveAPlace() {
        var histogram = Histogram()
        #expect(histogram.quantile(0.5) == .zero)
        histogram.record(Nanoseconds(-5))
        histogram.record(Nanoseconds(.max))
        #expect(histogram.count == 2)
        #expect(histogram.quantile(0) < .milliseconds(1))
    }

    @Test func boundsCountWhatDoesNotExceedThem() {
        var histogram = Histogram()
        let values: [Double] = [-1, 0, 0.5, 2, 2, 30, 999]
        for value in values { histogram.record(.milliseconds(value)) }
        let bounds: [Nanoseconds] = [.zero, .milliseconds(1), .milliseconds(2.1), .milliseconds(100), .seconds(1)]
        #expect(histogram.counts(upTo: bounds) == [0, 3, 5, 6, 7])
        #expect(histogram.counts(upTo: []) == [])
        #expect(histogram.counts(upTo: [.seconds(100_000)]) == [7])
        #expect(Histogram().counts(upTo: bounds) == [0, 0, 0, 0, 0])
    }
}

@Suite struct LedgerTests {
    /// The books balance after any sequence of openings and closings, with frames in flight.
    @Test(arguments: 0..<20) func theBooksBalance(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let ledger = Ledger(keeping: 16)
        let held = BoundedQueueOfTickets(capacity: 64)
        var originalsDropped = [DropReason: UInt64]()
        func close(_ ticket: consuming FrameTicket, as fate: FrameFate) {
            if ticket.record.kind == .original, case .dropped(let reason) = fate {
                originalsDropped[reason, default: 0] += 1
            }
            ledger.close(ticket, as: fate)
        }
        for _ in 0..<1_000 {
            if random.next() % 2 == 0 {
                let kind = FrameKind.allCases[Int(random.next() % 3)]
                if let refused = held.queue.offer(ledger.open(kind, presentation: MediaTime(ticks: 0))) {
                    close(refused, as: .dropped(.overload))
                }
            } else if let ticket = held.queue.pop(until: MonotonicTime(nanoseconds: 0)) {
                let fates = [FrameFate.emitted, .bypassed] + DropReason.allCases.map(FrameFate.dropped)
                close(ticket, as: fates[Int(random.next() % UInt64(fates.count))])
            }
            #expect(ledger.books.balance)
        }
        for reason in DropReason.allCases {
            #expect(ledger.books.originalsDropped(reason) == originalsDropped[reason, default: 0])
        }
        #expect(ledger.books.originalsDropped == originalsDropped.values.reduce(0, +))
        #expect(ledger.books.inFlight == UInt64(held.queue.count))
    }

    /// Every reason has a count of its own: the books have room for all of them.
    @Test(arguments: DropReason.allCases) func everyDropReasonIsCounted(reason: DropReason) {
        let ledger = Ledger()
        ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 0)), as: .dropped(reason))
        ledger.close(ledger.open(.synthesised, presentation: MediaTime(ticks: 0)), as: .dropped(reason))
        let books = ledger.books
        #expect(books[reason] == 2 && books.originalsDropped(reason) == 1)
        #expect(books.dropped == 2 && books.originalsDropped == 1 && books.balance)
    }

    /// A record has room for every stamp.
    @Test func everyStampIsKept() {
        var record = FrameRecord(id: 0, kind: .original, presentation: MediaTime(ticks: 0))
        for stamp in Stamp.allCases {
            #expect(record[stamp] == nil)
            record[stamp] = MonotonicTime(nanoseconds: Int64(stamp.rawValue) + 1)
        }
        #expect(Stamp.allCases.map { record[$0]?.nanoseconds } == Stamp.allCases.map { Int64($0.rawValue) + 1 })
    }

    @Test func aFrameBesideAnOriginalIsDueAsMuchLaterAsItIsShown() {
        let ledger = Ledger()
        var original = FrameRecord(id: 7, kind: .original, presentation: MediaTime(ticks: 9_000))
        original.deadline = MonotonicTime(nanoseconds: 50_000_000)
        original.sourceTime = MonotonicTime(nanoseconds: 20_000_000)
        original[.lastPacket] = MonotonicTime(nanoseconds: 30_000_000)
        original.epoch = 3
        original.sourceClock = 4
        original.isLateUnit = true
        let ticket = ledger.open(.synthesised, presentation: MediaTime(ticks: 9_900), beside: original)
        let record = ticket.record
        ledger.close(ticket, as: .emitted)
        #expect(record.id == 0 && record.kind == .synthesised && record.presentation == MediaTime(ticks: 9_900))
        #expect(record.deadline == MonotonicTime(nanoseconds: 60_000_000))
        #expect(record.sourceTime == MonotonicTime(nanoseconds: 30_000_000))
        #expect(record[.lastPacket] == original[.lastPacket])
        #expect(record.epoch == 3 && record.sourceClock == 4 && record.isLateUnit)
    }

    @Test func aLostTicketShows() {
        let ledger = Ledger()
        do { _ = ledger.open(.original, presentation: MediaTime(ticks: 0)) }
        #expect(!ledger.books.balance)
    }

    @Test func readersGetEachRecordOnceAndTheNumberOfMissedOnes() {
        let ledger = Ledger(keeping: 4)
        var cursor: UInt64 = 0
        func close(_ n: Int) {
            for _ in 0..<n { ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 0)), as: .emitted) }
        }
        close(3)
        var ids: [UInt64] = []
        #expect(ledger.read(since: &cursor) { record, _ in ids.append(record.id) } == 0)
        close(6)
        #expect(ledger.read(since: &cursor) { record, _ in ids.append(record.id) } == 2)
        #expect(ids == [0, 1, 2, 5, 6, 7, 8])
    }

    @Test func latencyRunsFromTheLastPacketToTheSending() {
        let ledger = Ledger()
        var ticket = ledger.open(.original, presentation: MediaTime(ticks: 0))
        ticket.stamp(.lastPacket, at: MonotonicTime(nanoseconds: 0))
        ticket.stamp(.sent, at: MonotonicTime(nanoseconds: 7_000_000))
        ticket.record.deadline = MonotonicTime(nanoseconds: 6_000_000)
        ledger.close(ticket, as: .emitted)
        #expect(ledger.withLatency { $0.original.largest } == .milliseconds(7))
        #expect(ledger.withLatency { $0.misses } == 1)
    }

    /// The wait before the decoder is reported in two parts and as one figure.
    @Test func theTimeFromTheWireToTheDecoderIsOneFigure() {
        let ledger = Ledger()
        for kind in [FrameKind.original, .synthesised] {
            var ticket = ledger.open(kind, presentation: MediaTime(ticks: 0))
            ticket.stamp(.lastPacket, at: MonotonicTime(nanoseconds: 1_000_000))
            ticket.stamp(.complete, at: MonotonicTime(nanoseconds: 3_000_000))
            ticket.stamp(.decodeIn, at: MonotonicTime(nanoseconds: 8_000_000))
            ledger.close(ticket, as: .emitted)
        }
        #expect(ledger.withLatency { $0[.wireToDecoder].largest } == .milliseconds(7))
        #expect(ledger.withLatency { $0[.wireToDecoder].count } == 1)
        let names = ledger.withLatency { $0.stages.map(\.name) }
        #expect(Array(names[1...3]) == ["complete", "wait_for_decoder", "wire_to_decoder"])
    }
}

@Suite struct StreamCountersTests {
    /// Every counter has a slot and a name of its own.
    @Test func everyCounterIsCounted() {
        let counters = StreamCounters()
        let all = StreamCounters.Counter.allCases
        for counter in all { counters.add(counter, UInt64(counter.rawValue) + 1) }
        #expect(all.map { counters[$0] } == all.map { UInt64($0.rawValue) + 1 })
        #expect(Set(all.map(\.name)).count == all.count)
    }
}

/// Holds tickets for a test, as a stage's queue does.
private struct BoundedQueueOfTickets {
    let queue: BoundedQueue<FrameTicket>
    init(capacity: Int) { queue = BoundedQueue(capacity: capacity) }
}
