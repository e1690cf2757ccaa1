import Enhance
import Synchronization
import Testing

@Suite struct WorkerPoolTests {
    final class Tally: PiecewiseWork {
        let done = Atomic<Int>(0)
        let sum = Atomic<Int>(0)
        let workers = Atomic<Int>(0)
        func perform(piece: Int, worker: Int) {
            done.add(1, ordering: .relaxed)
            sum.add(piece, ordering: .relaxed)
            workers.bitwiseOr(1 << worker, ordering: .relaxed)
        }
    }

    @Test(arguments: [1, 2, 5]) func everyPieceIsDoneOnceInEveryRun(threads: Int) {
        let pool = WorkerPool(threadCount: threads)
        let tally = Tally()
        for run in 1...500 {
            let pieces = run % 7
            let before = (tally.done.load(ordering: .relaxed), tally.sum.load(ordering: .relaxed))
            pool.run(tally, pieces: pieces)
            #expect(tally.done.load(ordering: .relaxed) - before.0 == pieces)
            #expect(tally.sum.load(ordering: .relaxed) - before.1 == pieces * (pieces - 1) / 2)
        }
        #expect(tally.workers.load(ordering: .relaxed) < 1 << threads)
    }
}
