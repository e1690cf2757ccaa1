import Glibc
import Media
import Synchronization

/// Work that falls into independent pieces: bands of rows, tiles, strips.
///
/// Implemented by a class that is made once with its session, so that handing out work allocates nothing.
public protocol PiecewiseWork: AnyObject, Sendable {
    /// Does one piece.
    /// - Parameters:
    ///   - piece: from 0; each is done exactly once, on any thread, begun in the order that the run asks for.
    ///   - worker: which thread does it, 0 ..< the pool's `threadCount`: an index for scratch memory.
    func perform(piece: Int, worker: Int)
}

/// In which order pieces of work are begun, and by whom.
public enum PieceOrder: Sendable {
    /// Ascending, each by the next thread that is free.
    case ascending
    /// Each thread has a part of its own, the first pieces for worker 0, and begins there; one that is done takes from
    /// the ends of the others'. For steps that follow each other over the same rows of a picture: what a core has
    /// written it reads again, and to fetch it from another core costs several times as much.
    case ownPartFirst
}

/// A fixed set of threads that do pieces of work together with the caller. Threads are made once and wait on a
/// condition between runs, after a moment of watching for the next: a frame is several runs close to each other, and to
/// wake a thread takes tens of microseconds. ``run(_:pieces:order:)`` allocates nothing.
///
/// One run at a time: a second thread that calls ``run(_:pieces:order:)`` waits for the first to finish.
@safe public final class WorkerPool: Sendable {
    /// How many threads work on a run, the caller among them.
    public let threadCount: Int
    private let shared: Shared
    private let threads: [StageThread]

    /// - Parameters:
    ///   - threadCount: at least 1; 1 starts no thread, and the caller does everything.
    ///   - name: for `ps -L`; at most 12 bytes, as the number follows.
    public init(threadCount: Int, name: String = "tile") {
        precondition(threadCount >= 1, "the caller is one of the threads")
        self.threadCount = threadCount
        let shared = Shared(threadCount: threadCount)
        self.shared = shared
        threads = (1..<threadCount).map { worker in
            StageThread(name: "\(name)-\(worker)") { shared.serve(worker: worker) }
        }
    }

    deinit {
        shared.stop()
        for thread in threads { thread.join() }
    }

    /// Does all pieces and returns when the last one is done.
    public func run(_ work: some PiecewiseWork, pieces: Int, order: PieceOrder = .ascending) {
        guard pieces > 0 else { return }
        if threads.isEmpty || pieces == 1 {
            for piece in 0..<pieces { work.perform(piece: piece, worker: 0) }
        } else {
            shared.run(work, pieces: pieces, order: order)
        }
    }

    /// What the threads share. A class of its own, so that they do not keep the pool alive.
    ///
    /// Between runs that follow each other closely nothing but atomics is touched: a mutex that two threads want at the
    /// same moment costs more than a small run does. The conditions are for threads that have given up watching.
    @safe private final class Shared: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let started: UnsafeMutablePointer<pthread_cond_t>
        private let finished: UnsafeMutablePointer<pthread_cond_t>
        /// Held by the caller for the length of a run.
        private let turn: UnsafeMutablePointer<pthread_mutex_t>
        // Written by the caller while no thread is in a run.
        private var work: (any PiecewiseWork)?
        private var order = PieceOrder.ascending
        /// For each thread what is left of its part; only the first one is used where pieces ascend.
        private let parts: UnsafeMutablePointer<Part>
        private let threadCount: Int
        /// Twice the number of threads that are in the run beside the caller, and 1 while others may join.
        private let gate = Atomic<Int>(0)
        /// Counts runs, and the end.
        private let announced = Atomic<Int>(0)
        private let stopping = Atomic<Bool>(false)
        // Whether anybody sleeps: told before looking a last time at what is waited for, and looked at after changing it,
        // so that either side sees the other.
        private let sleeping = Atomic<Int>(0)
        private let callerSleeps = Atomic<Bool>(false)

        /// How long a thread watches before it sleeps.
        private static let patience = Nanoseconds.microseconds(50)

        init(threadCount: Int) {
            self.threadCount = threadCount
            unsafe parts = .allocate(capacity: threadCount)
            for i in 0..<threadCount { unsafe (parts + i).initialize(to: Part()) }
            unsafe mutex = .allocate(capacity: 1)
            unsafe turn = .allocate(capacity: 1)
            unsafe started = .allocate(capacity: 1)
            unsafe finished = .allocate(capacity: 1)
            unsafe pthread_mutex_init(mutex, nil)
            unsafe pthread_mutex_init(turn, nil)
            unsafe pthread_cond_init(started, nil)
            unsafe pthread_cond_init(finished, nil)
        }

        deinit {
            unsafe parts.deinitialize(count: threadCount)
            unsafe parts.deallocate()
            unsafe pthread_cond_destroy(finished)
            unsafe pthread_cond_destroy(started)
            unsafe pthread_mutex_destroy(turn)
            unsafe pthread_mutex_destroy(mutex)
            unsafe finished.deallocate()
            unsafe started.deallocate()
            unsafe turn.deallocate()
            unsafe mutex.deallocate()
        }

        func run(_ work: any PiecewiseWork, pieces: Int, order: PieceOrder) {
            unsafe pthread_mutex_lock(turn)
            self.work = work
            self.order = order
            switch order {
            case .ascending: unsafe parts[0].pieces.fill(0..<pieces)
            case .ownPartFirst:
                for i in 0..<threadCount {
                    unsafe parts[i].pieces.fill(i * pieces / threadCount..<(i + 1) * pieces / threadCount)
                }
            }
            gate.store(1, ordering: .releasing)
            announce()

            take(from: work, worker: 0)

            // A thread that has not woken yet finds the gate shut; one that has joined is waited for.
            gate.subtract(1, ordering: .acquiringAndReleasing)
            watch { gate.load(ordering: .acquiring) > 0 }
            if gate.load(ordering: .acquiring) > 0 {
                unsafe pthread_mutex_lock(mutex)
                callerSleeps.store(true, ordering: .sequentiallyConsistent)
                while gate.load(ordering: .sequentiallyConsistent) > 0 { unsafe pthread_cond_wait(finished, mutex) }
                callerSleeps.store(false, ordering: .relaxed)
                unsafe pthread_mutex_unlock(mutex)
            }
            self.work = nil
            unsafe pthread_mutex_unlock(turn)
        }

        func stop() {
            stopping.store(true, ordering: .relaxed)
            announce()
        }

        func serve(worker: Int) {
            var seen = 0
            while true {
                watch { announced.load(ordering: .acquiring) == seen }
                if announced.load(ordering: .acquiring) == seen {
                    unsafe pthread_mutex_lock(mutex)
                    sleeping.add(1, ordering: .sequentiallyConsistent)
                    while announced.load(ordering: .sequentiallyConsistent) == seen {
                        unsafe pthread_cond_wait(started, mutex)
                    }
                    sleeping.subtract(1, ordering: .relaxed)
                    unsafe pthread_mutex_unlock(mutex)
                }
                seen = announced.load(ordering: .acquiring)
                if stopping.load(ordering: .relaxed) { return }
                guard join() else { continue }
                take(from: work!, worker: worker)
                leave()
            }
        }

        private func announce() {
            announced.add(1, ordering: .sequentiallyConsistent)
            guard sleeping.load(ordering: .sequentiallyConsistent) > 0 else { return }
            unsafe pthread_mutex_lock(mutex)
            unsafe pthread_cond_broadcast(started)
            unsafe pthread_mutex_unlock(mutex)
        }

        private func join() -> Bool {
            var seen = gate.load(ordering: .acquiring)
            while seen & 1 == 1 {
                let (joined, latest) = gate.compareExchange(
                    expected: seen, desired: seen + 2, ordering: .acquiringAndReleasing)
                if joined { return true }
                seen = latest
            }
            return false
        }

        private func leave() {
            let left = gate.subtract(2, ordering: .sequentiallyConsistent).newValue
            guard left == 0, callerSleeps.load(ordering: .sequentiallyConsistent) else { return }
            unsafe pthread_mutex_lock(mutex)
            unsafe pthread_cond_signal(finished)
            unsafe pthread_mutex_unlock(mutex)
        }

        /// Returns when the condition no longer holds, or after a moment.
        private func watch(while condition: () -> Bool) {
            let end = MonotonicTime.now() + Self.patience
            while condition(), MonotonicTime.now() < end {}
        }

        private func take(from work: any PiecewiseWork, worker: Int) {
            let own = order == .ascending ? 0 : worker
            while let taken = unsafe parts[own].pieces.takeFirst() {
                work.perform(piece: taken.lowerBound, worker: worker)
            }
            guard order == .ownPartFirst else { return }
            for i in 1..<threadCount {
                let other = (worker + i) % threadCount
                while let taken = unsafe parts[other].pieces.takeLast() {
                    work.perform(piece: taken.lowerBound, worker: worker)
                }
            }
        }
    }

    /// Pieces that threads take from. It fills two cache lines (processors fetch them in pairs), so that threads in
    /// different parts do not wait for each other.
    private struct Part: ~Copyable {
        let pieces = TwoEndedRange()
        private let padding = InlineArray<15, UInt64>(repeating: 0)
    }
}
