import Bitstream
import Container
import Foundation
import Media
import TestSupport
import Testing

@testable import Relay

/// The ring of coded units: whole groups of pictures, within its memory.
@Suite struct PastRingTests {
    private func time(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
    }

    fileprivate func keep(
        _ ring: PastRing, _ index: Int, isEntry: Bool, bytes: [UInt8], head: [UInt8] = [], stream: Int32? = nil, mask: Int = 0
    ) {
        var unit = PastUnit(
            presentation: MediaTime(ticks: Int64(index) * 3000), decode: MediaTime(ticks: Int64(index) * 3000),
            time: time(Int64(index) * 33))
        unit.frame = UInt64(index)
        unit.codec = .h264
        unit.isEntry = isEntry
        unit.stream = stream
        unit.maskNumber = mask
        head.withUnsafeBytes { head in bytes.withUnsafeBytes { ring.keep(unit, head: head, $0) } }
    }

    private func frames(_ ring: PastRing) -> [UInt64] { ring.withUnits { units in (0..<units.count).map { units[$0].frame } } }

    @Test func itBeginsWithAnEntryPoint() {
        let ring = PastRing(byteCount: 1 << 20, duration: .seconds(20))
        for index in 0..<40 { keep(ring, index, isEntry: index % 10 == 5, bytes: [UInt8(index)]) }
        #expect(frames(ring) == Array(5..<40))
        var bytes: [UInt8] = []
        #expect(ring.read(0, into: &bytes)?.frame == 5 && bytes == [5])
        #expect(ring.read(34, into: &bytes)?.frame == 39 && bytes == [39])
        #expect(ring.read(35, into: &bytes) == nil)
        #expect(ring.extent == PastRing.Extent(bytes: 35, time: .milliseconds(34 * 33)))
    }

    /// A second of it is asked for, so what is older leaves, but never the beginning of the group that reaches that far.
    @Test func whatIsOlderLeavesInGroups() {
        let ring = PastRing(byteCount: 1 << 20, duration: .seconds(1))
        for index in 0..<100 {
            keep(ring, index, isEntry: index % 10 == 0, bytes: [1])
            guard let first = frames(ring).first else { return }
            #expect(first % 10 == 0)
            #expect(index < 40 || (time(Int64(index) * 33) - time(Int64(first) * 33)) >= .seconds(1))
            #expect(UInt64(index) - first < 31 + 20)
        }
    }

    /// Units of chance sizes: what is there is what was put in, in whole groups, and never more than there is room for.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func itHoldsWhatWasPutInWithinItsMemory(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let byteCount = 1 << 16
        let ring = PastRing(byteCount: byteCount, duration: .seconds(600))
        var all: [[UInt8]] = []
        var entries: Set<UInt64> = []
        var copy: [UInt8] = []
        for index in 0..<1500 {
            let isEntry = Int.random(in: 0..<12, using: &random) == 0
            let size = Int.random(in: 0..<(isEntry ? 9000 : 2500), using: &random)
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: index &+ $0) }
            let head = isEntry ? [UInt8](repeating: 0xAA, count: Int.random(in: 0..<40, using: &random)) : []
            if isEntry { entries.insert(UInt64(index)) }
            all.append(head + bytes)
            keep(ring, index, isEntry: isEntry, bytes: bytes, head: head)
            let (kept, numbers) = ring.withUnits { units in
                ((0..<units.count).map { units[$0].frame }, (0..<units.count).map { units[$0].number })
            }
            guard let first = kept.first else { continue }
            #expect(entries.contains(first) && kept == Array(first...UInt64(index)))
            let sum = kept.reduce(0) { $0 + all[Int($1)].count }
            #expect(ring.extent.bytes == sum && sum <= byteCount)
            // All of it now and then, because it takes long.
            for (frame, number) in zip(kept, numbers) where index % 50 == 0 || frame == first || frame == kept.last {
                #expect(ring.read(number, into: &copy)?.frame == frame && copy == all[Int(frame)])
            }
        }
        #expect(!frames(ring).isEmpty)
    }

    @Test func aGroupThatIsTooLargeIsNotKept() {
        let ring = PastRing(byteCount: 1 << 16, duration: .seconds(20))
        let bytes = [UInt8](repeating: 7, count: 5000)
        for index in 0..<40 { keep(ring, index, isEntry: index == 0, bytes: bytes) }
        guard case .groupTooLarge? = ring.lack else { return #expect(Bool(false), "\(ring.extent)") }
        if case .failure(let fault) = ring.find(.time(time(500)), .before) {
            #expect(fault.kind == .conflict && fault.description.contains("past-memory"))
        }
        keep(ring, 40, isEntry: true, bytes: bytes)
        #expect(frames(ring) == [40] && ring.lack == nil)
    }

    /// One unit larger than the block, and more units than the index has.
    @Test func whatCannotFitIsNotKept() {
        let ring = PastRing(byteCount: 1 << 16, duration: .seconds(1))
        keep(ring, 0, isEntry: true, bytes: [UInt8](repeating: 0, count: 1 << 17))
        #expect(frames(ring) == [])
        for index in 0..<5000 { keep(ring, index, isEntry: index % 7 == 0, bytes: []) }
        #expect(frames(ring).first.map { $0 % 7 } == 0 && frames(ring).last == 4999)
    }

    @Test func aClosedRingKeepsNothing() {
        let ring = PastRing(byteCount: 1 << 16, duration: .seconds(20))
        keep(ring, 0, isEntry: true, bytes: [1])
        ring.close()
        keep(ring, 1, isEntry: true, bytes: [1])
        guard case .masked? = ring.lack else { return #expect(Bool(false)) }
        ring.open()
        keep(ring, 2, isEntry: false, bytes: [1])
        #expect(frames(ring) == [])
        keep(ring, 3, isEntry: true, bytes: [1])
        #expect(frames(ring) == [3])
        // Of a mask before.
        ring.forget(masksBefore: 2)
        keep(ring, 4, isEntry: true, bytes: [1], mask: 1)
        #expect(frames(ring) == [])
        keep(ring, 5, isEntry: true, bytes: [1], mask: 2)
        ring.forget(masksBefore: 2)
        #expect(frames(ring) == [5])
    }

    private static let variable = "BURNISH_COUNT_PAST_ALLOCATIONS"

    @Test(.enabled(if: AllocationCounting.isPossible)) func itAllocatesNothing() throws {
        let (status, output) = try AllocationCounting.runChild("PastAllocationProbe", [Self.variable: "1"])
        #expect(status == 0 && output.contains("past allocations: 0\n") && !output.contains("past control: 0 "), "\(output)")
    }

    @Suite(.enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct PastAllocationProbe {
        @Test func count() throws {
            let counting = try #require(AllocationCounting())
            let (tests, ring) = (PastRingTests(), PastRing(byteCount: 1 << 18, duration: .seconds(1)))
            let bytes = [UInt8](repeating: 1, count: 3000)
            func keepMany() { for index in 0..<500 { tests.keep(ring, index, isEntry: index % 10 == 0, bytes: bytes) } }
            keepMany()
            let before = counting.bySwift
            counting.begin()
            keepMany()
            counting.end()
            print("past allocations: \(counting.bySwift - before)")
            let control = counting.bySwift
            counting.begin()
            let array = [UInt8](repeating: 1, count: Int.random(in: 900...1000))
            counting.end()
            print("past control: \(counting.bySwift - control)", array.count)
        }
    }

    // MARK: Finding

    private func find(_ ring: PastRing, _ place: PastPlace, _ side: StreamPicture.Side = .before) -> (UInt64?, PastFault.Kind?)
    {
        switch ring.find(place, side, stampBases: [7000], now: time(10_000)) {
        case .success(let unit): (unit.frame, nil)
        case .failure(let fault): (nil, fault.kind)
        }
    }

    @Test func picturesAreFoundByTimeFrameAndStamp() {
        let ring = PastRing(byteCount: 1 << 18, duration: .seconds(20))
        for index in 10..<60 { keep(ring, index * 2, isEntry: index % 10 == 0, bytes: [1]) }
        keep(ring, 119, isEntry: false, bytes: [1], stream: 0)
        #expect(find(ring, .frame(40)) == (40, nil) && find(ring, .frame(118)) == (118, nil))
        #expect(find(ring, .frame(41)) == (nil, .missing) && find(ring, .frame(10)) == (nil, .missing))
        #expect(find(ring, .frame(120)) == (nil, .missing) && find(ring, .frame(119)) == (nil, .missing))
        #expect(find(ring, .time(time(20 * 33))) == (20, nil) && find(ring, .time(time(22 * 33 - 1))) == (20, nil))
        #expect(find(ring, .time(time(9000))) == (118, nil) && find(ring, .time(time(20 * 33 - 1))) == (nil, .missing))
        #expect(find(ring, .time(time(10_001))) == (nil, .conflict))
        #expect(find(ring, .rtp(7000 + 40 * 3000), .after) == (40, nil))
        #expect(find(ring, .rtp(7000 + 40 * 3000 + 1), .after) == (nil, .missing))
        #expect(find(ring, .rtp(7000 + 40 * 3000), .before) == (nil, .conflict))
    }
}
