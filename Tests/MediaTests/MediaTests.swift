import Testing
@testable import Media

@Suite struct PicturePoolTests {
    @Test func aPoolNeverHandsOutAPictureTwice() {
        let pool = PicturePool(size: PictureSize(width: 33, height: 17), count: 2)
        guard let first = pool.lease(), let second = pool.lease() else {
            Issue.record("a new pool has no free picture")
            return
        }
        #expect(first.picture !== second.picture)
        let none = pool.lease() == nil
        #expect(none)
        #expect(pool.inUse == 2)
    }

    @Test func aPictureIsFreeOnlyWhenItsLastShareIsGone() {
        let pool = PicturePool(size: PictureSize(width: 16, height: 16), count: 1)
        var first: PictureLease? = pool.lease()
        var share: PictureLease? = first?.share()
        first = nil
        #expect(pool.inUse == 1)
        share = nil
        #expect(pool.inUse == 0)
        _ = consume first
        _ = consume share
    }

    @Test func mappingMemoryLeavesPicturesInUseAlone() {
        let pool = PicturePool(size: PictureSize(width: 200, height: 100), count: 3)
        guard let lease = pool.lease() else {
            Issue.record("a new pool has no free picture")
            return
        }
        let plane = unsafe lease.picture.mutableView.y
        for y in 0..<100 { unsafe plane.row(y).update(repeating: 7, count: 200) }
        pool.touch()
        #expect(pool.inUse == 1)
        for y in 0..<100 {
            let isKept = (0..<200).allSatisfy { unsafe plane.row(y)[$0] == 7 }
            #expect(isKept)
        }
    }
}

@Suite struct AlignedMemoryTests {
    @Test(arguments: [0, 1, 64, 100, 1 << 20]) func isAlignedAndZeroed(byteCount: Int) {
        let memory = AlignedMemory(byteCount: byteCount)
        let bytes = unsafe UnsafeRawBufferPointer(start: memory.pointer(), count: byteCount)
        let address = unsafe Int(bitPattern: memory.pointer())
        #expect(address % 64 == 0 && memory.byteCount == byteCount)
        var isZeroed = unsafe bytes.allSatisfy { $0 == 0 }
        #expect(isZeroed)
        memory.touch()
        isZeroed = unsafe bytes.allSatisfy { $0 == 0 }
        #expect(isZeroed)
    }
}

@Suite struct BoundedQueueTests {
    @Test func fullQueueRefusesAndReturnsTheElement() {
        let queue = BoundedQueue<Int>(capacity: 2)
        #expect(queue.offer(1) == nil)
        #expect(queue.offer(2) == nil)
        #expect(queue.offer(3) == 3)
        #expect(queue.pop() == 1)
        #expect(queue.offer(3) == nil)
        queue.close()
        #expect(queue.offer(4) == 4)
        #expect(queue.pop() == 2)
        #expect(queue.pop() == 3)
        #expect(queue.pop() == nil)
    }

    @Test func theOldestElementWithAResultIsFoundAndStays() {
        let queue = BoundedQueue<Int>(capacity: 3)
        for n in 1...3 { _ = queue.offer(n) }
        _ = queue.pop()
        _ = queue.offer(4)
        #expect(queue.first { $0 % 2 == 0 ? 10 * $0 : nil } == 20)
        #expect(queue.first { $0 > 2 ? $0 : nil } == 3)
        #expect(queue.first { $0 > 4 ? $0 : nil } == nil)
        #expect(queue.count == 3)
    }

    @Test func everyElementCrossesInOrder() {
        let queue = BoundedQueue<Int>(capacity: 3)
        let producer = StageThread(name: "producer") {
            for n in 0..<10_000 { _ = queue.push(n) }
            queue.close()
        }
        var expected = 0
        while let n = queue.pop() {
            #expect(n == expected)
            expected += 1
        }
        producer.join()
        #expect(expected == 10_000)
    }

    @Test func aPastTimeLimitReturnsAtOnce() {
        let queue = BoundedQueue<Int>(capacity: 1)
        #expect(queue.pop(until: MonotonicTime(nanoseconds: 0)) == nil)
    }
}

@Suite struct LockTests {
    @Test func oneThreadAtATimeIsInside() {
        final class Counter: Sendable {
            let count = Lock(0)
        }
        let counter = Counter()
        let threads = (0..<4).map { number in
            StageThread(name: "count-\(number)") {
                for _ in 0..<10_000 { counter.count.withLock { $0 += 1 } }
            }
        }
        for thread in threads { thread.join() }
        #expect(counter.count.withLock { $0 } == 40_000)
    }

    @Test func anErrorLeavesTheLockOpen() {
        struct Refused: Error, Equatable {}
        let lock = Lock([1, 2])
        #expect(throws: Refused()) {
            try lock.withLock { numbers throws(Refused) in
                numbers.append(3)
                throw Refused()
            }
        }
        #expect(lock.withLock { $0 } == [1, 2, 3])
    }
}

@Suite struct MediaTimeTests {
    @Test func ticksToNanosecondsIsExactAndDoesNotOverflow() {
        #expect(MediaTime(ticks: 90_000).nanoseconds == .seconds(1))
        #expect(MediaTime(ticks: -9).nanoseconds == Nanoseconds(-100_000))
        let years = MediaTime(ticks: 90_000 * 86_400 * 365 * 10)
        #expect(years.nanoseconds.count == 86_400 * 365 * 10 * 1_000_000_000)
    }

    @Test(arguments: [0, 1, 1500, 3000, 3003, -3000, 90_000 * 86_400] as [Int64])
    func ticksSurviveTheWayThroughNanoseconds(ticks: Int64) {
        #expect(MediaTime.ticks(in: MediaTime(ticks: ticks).nanoseconds) == ticks)
    }

    @Test func rationalsAreInLowestTerms() {
        #expect(Rational(60_000, 2_002) == Rational(30_000, 1_001))
        #expect(Rational(1, -2) == Rational(-1, 2))
        #expect(Rational(0, 5) == Rational(0, 1))
    }
}
