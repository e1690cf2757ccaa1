import Enhance
import Media
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

    @Test(arguments: [1, 2, 5], [PieceOrder.ascending, .ownPartFirst])
    func everyPieceIsDoneOnceInEveryRun(threads: Int, order: PieceOrder) {
        let pool = WorkerPool(threadCount: threads)
        let tally = Tally()
        for run in 1...500 {
            let pieces = run % 7
            let before = (tally.done.load(ordering: .relaxed), tally.sum.load(ordering: .relaxed))
            pool.run(tally, pieces: pieces, order: order)
            #expect(tally.done.load(ordering: .relaxed) - before.0 == pieces)
            #expect(tally.sum.load(ordering: .relaxed) - before.1 == pieces * (pieces - 1) / 2)
        }
        #expect(tally.workers.load(ordering: .relaxed) < 1 << threads)
    }

    /// Each piece waits until all pieces have begun.
    final class Meeting: PiecewiseWork {
        let pieces: Int
        let begun = Atomic<Int>(0)
        init(pieces: Int) { self.pieces = pieces }
        func perform(piece: Int, worker: Int) {
            begun.add(1, ordering: .relaxed)
            while begun.load(ordering: .relaxed) % pieces != 0 {}
        }
    }

    /// Every thread joins the run, also after a pause that is longer than threads poll. If one were missing, this test
    /// would not end.
    @Test(.timeLimit(.minutes(10)), arguments: [2, 3], [PieceOrder.ascending, .ownPartFirst])
    func allThreadsWorkAtOnce(threads: Int, order: PieceOrder) {
        let pool = WorkerPool(threadCount: threads)
        for run in 1...60 {
            let meeting = Meeting(pieces: threads)
            pool.run(meeting, pieces: threads, order: order)
            #expect(meeting.begun.load(ordering: .relaxed) == threads)
            if run % 3 == 0 { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        }
    }

    /// Records which thread did which piece. Every thread begins before any goes on.
    final class Register: PiecewiseWork {
        let threads: Int
        let begun = Atomic<Int>(0)
        let workers: [Box]
        init(threads: Int, pieces: Int) {
            self.threads = threads
            workers = (0..<pieces).map { _ in .init() }
        }
        func perform(piece: Int, worker: Int) {
            workers[piece].value.store(worker, ordering: .relaxed)
            begun.add(1, ordering: .relaxed)
            while begun.load(ordering: .relaxed) < threads {}
        }
    }

    /// Each thread's first piece is the first of its own part.
    @Test(.timeLimit(.minutes(10))) func threadsBeginWithTheirOwnPart() {
        let pool = WorkerPool(threadCount: 3)
        let register = Register(threads: 3, pieces: 12)
        pool.run(register, pieces: 12, order: .ownPartFirst)
        for (piece, worker) in [(0, 0), (4, 1), (8, 2)] {
            #expect(register.workers[piece].value.load(ordering: .relaxed) == worker)
        }
    }

    /// A second caller waits for its turn.
    @Test func callersTakeTurns() async {
        let pool = WorkerPool(threadCount: 2)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let tally = Tally()
                    for _ in 1...200 { pool.run(tally, pieces: 9) }
                    #expect(tally.done.load(ordering: .relaxed) == 1800)
                }
            }
        }
    }

    final class Box: Sendable { let value = Atomic<Int>(-1) }
}
