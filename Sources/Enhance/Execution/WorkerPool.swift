import Glibc
import Media
import Synchronization

/// A fixed set of threads that do pieces of work together with the caller.
///
/// The threads are made once. Between runs they poll for a moment and then sleep on a condition: a frame is several
/// runs close to each other, and waking a thread takes tens of microseconds. ``run(_:pieces:order:)`` allocates
/// nothing.
///
/// Thread-safe. The pool does one run at a time: a second thread that calls ``run(_:pieces:order:)`` waits for the
/// first.
@safe public final class WorkerPool: Sendable {
    /// How many threads work on a run, the caller among them.
    public let threadCount: Int
    private let shared: Shared
    private let threads: [StageThread]

    /// - Parameters:
    ///   - threadCount: at least 1. With 1 no thread is started, and the caller does everything.
    ///   - name: the threads' name in `ps -L`, at most 12 bytes. A number follows it.
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

    /// What the pool's threads and the caller have had of processors: two differ by what was done between them. Some microseconds of it are
    /// those for which threads poll.
    public var processorTime: Nanoseconds {
        threads.reduce(StageThread.ownProcessorTime) { $0 + $1.processorTime }
    }

    /// Does all pieces and returns when the last one is done.
    public func run<Work: PiecewiseWork>(_ work: Work, pieces: Int, order: PieceOrder = .ascending) {
        guard pieces > 0 else { return }
        if threads.isEmpty || pieces == 1 {
            for piece in 0..<pieces { work.perform(piece: piece, worker: 0) }
        } else {
            unsafe withUnsafePointer(to: work) { unsafe shared.run(BorrowedWork($0), pieces: pieces, order: order) }
        }
    }

    /// The state that the pool's threads share. It is a class of its own, so that the threads do not keep the pool
    /// alive.
    ///
    /// Between runs that follow each other closely, threads touch nothing but atomics: a mutex that two threads want at
    /// the same moment costs more than a small run does. The conditions are for threads that have stopped polling.
    ///
    /// `@unchecked Sendable` is safe because only the caller that holds `runLock` writes `run`, while `gate` keeps all
    /// other threads out. `gate` also orders the accesses.
    @safe private final class Shared: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let started: UnsafeMutablePointer<pthread_cond_t>
        private let finished: UnsafeMutablePointer<pthread_cond_t>
        /// The caller holds it for the length of a run.
        private let runLock: UnsafeMutablePointer<pthread_mutex_t>
        /// The run under way.
        private var run: (work: BorrowedWork, order: PieceOrder)?
        /// For each thread the pieces that are left of its part. Only the first part is used where pieces ascend.
        private let parts: UnsafeMutablePointer<Part>
        private let threadCount: Int
        /// Twice the number of threads that are in the run beside the caller, plus 1 while others may join.
        private let gate = Atomic<Int>(0)
        /// Counts runs, and the end of the pool.
        private let announced = Atomic<Int>(0)
        private let stopping = Atomic<Bool>(false)
        // Whether anybody sleeps. A thread sets it before it checks a last time what it waits for. Whoever changes that
        // reads it afterwards. So at least one of the two sees the other.
        private let sleeping = Atomic<Int>(0)
        private let callerSleeps = Atomic<Bool>(false)

        /// How long a thread polls before it sleeps.
        private static let pollTimeout = Nanoseconds.microseconds(50)

        init(threadCount: Int) {
            self.threadCount = threadCount
            unsafe parts = .allocate(capacity: threadCount)
            for i in 0..<threadCount { unsafe (parts + i).initialize(to: Part()) }
            unsafe mutex = .allocate(capacity: 1)
            unsafe runLock = .allocate(capacity: 1)
            unsafe started = .allocate(capacity: 1)
            unsafe finished = .allocate(capacity: 1)
            unsafe pthread_mutex_init(mutex, nil)
            unsafe pthread_mutex_init(runLock, nil)
            unsafe pthread_cond_init(started, nil)
            unsafe pthread_cond_init(finished, nil)
        }

        deinit {
            unsafe parts.deinitialize(count: threadCount)
            unsafe parts.deallocate()
            unsafe pthread_cond_destroy(finished)
            unsafe pthread_cond_destroy(started)
            unsafe pthread_mutex_destroy(runLock)
            unsafe pthread_mutex_destroy(mutex)
            unsafe finished.deallocate()
            unsafe started.deallocate()
            unsafe runLock.deallocate()
            unsafe mutex.deallocate()
        }

        func run(_ work: BorrowedWork, pieces: Int, order: PieceOrder) {
            unsafe pthread_mutex_lock(runLock)
            unsafe run = unsafe (work, order)
            switch order {
            case .ascending: unsafe parts[0].pieces.fill(0..<pieces)
            case .ownPartFirst:
                for i in 0..<threadCount {
                    unsafe parts[i].pieces.fill(i * pieces / threadCount..<(i + 1) * pieces / threadCount)
                }
            }
            gate.store(1, ordering: .releasing)
            announce()

            unsafe performPieces(of: work, order, worker: 0)

            // A thread that has not woken yet finds the gate shut. The caller waits for those that have joined.
            gate.subtract(1, ordering: .acquiringAndReleasing)
            poll { gate.load(ordering: .acquiring) > 0 }
            if gate.load(ordering: .acquiring) > 0 {
                unsafe pthread_mutex_lock(mutex)
                callerSleeps.store(true, ordering: .sequentiallyConsistent)
                while gate.load(ordering: .sequentiallyConsistent) > 0 { unsafe pthread_cond_wait(finished, mutex) }
                callerSleeps.store(false, ordering: .relaxed)
                unsafe pthread_mutex_unlock(mutex)
            }
            unsafe run = nil
            unsafe pthread_mutex_unlock(runLock)
        }

        func stop() {
            stopping.store(true, ordering: .relaxed)
            announce()
        }

        /// The body of a pool thread: joins every run until ``stop()``.
        func serve(worker: Int) {
            var seen = 0
            while true {
                poll { announced.load(ordering: .acquiring) == seen }
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
                if let (work, order) = unsafe run { unsafe performPieces(of: work, order, worker: worker) }
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

        /// - Returns: false when the run does not admit more threads.
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

        /// Returns when the condition no longer holds, or after ``pollTimeout``.
        private func poll(while condition: () -> Bool) {
            let end = MonotonicTime.now() + Self.pollTimeout
            while condition(), MonotonicTime.now() < end {}
        }

        @unsafe private func performPieces(of work: BorrowedWork, _ order: PieceOrder, worker: Int) {
            let own = order == .ascending ? 0 : worker
            while let claimed = unsafe parts[own].pieces.claimFirst() {
                unsafe work.perform(piece: claimed.lowerBound, worker: worker)
            }
            guard order == .ownPartFirst else { return }
            for i in 1..<threadCount {
                let other = (worker + i) % threadCount
                while let claimed = unsafe parts[other].pieces.claimLast() {
                    unsafe work.perform(piece: claimed.lowerBound, worker: worker)
                }
            }
        }
    }

    /// Pieces that threads claim. It fills two cache lines, because processors fetch them in pairs: threads in
    /// different parts do not wait for each other.
    private struct Part: ~Copyable {
        let pieces = TwoEndedRange()
        private let padding = InlineArray<15, UInt64>(repeating: 0)
    }
}
