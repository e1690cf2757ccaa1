import Glibc
import Media
import Synchronization

/// Work that falls into independent pieces: bands of rows, tiles, strips.
///
/// Implemented by a class that is made once with its session, so that handing out work allocates nothing.
public protocol PiecewiseWork: AnyObject, Sendable {
    /// Does one piece.
    /// - Parameters:
    ///   - piece: from 0; each is done exactly once, on any thread, in ascending order of start.
    ///   - worker: which thread does it, 0 ..< the pool's `threadCount`: an index for scratch memory.
    func perform(piece: Int, worker: Int)
}

/// A fixed set of threads that do pieces of work together with the caller. Threads are made once and wait on a
/// condition between runs, after a moment of watching for the next: a frame is several runs close to each other, and to
/// wake a thread takes tens of microseconds. ``run(_:pieces:)`` allocates nothing.
///
/// One run at a time: a second thread that calls ``run(_:pieces:)`` waits for the first to finish.
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
        let shared = Shared()
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
    public func run(_ work: some PiecewiseWork, pieces: Int) {
        guard pieces > 0 else { return }
        if threads.isEmpty || pieces == 1 {
            for piece in 0..<pieces { work.perform(piece: piece, worker: 0) }
        } else {
            shared.run(work, pieces: pieces)
        }
    }

    /// What the threads share. A class of its own, so that they do not keep the pool alive.
    @safe private final class Shared: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let started: UnsafeMutablePointer<pthread_cond_t>
        private let finished: UnsafeMutablePointer<pthread_cond_t>
        /// Held by the caller for the length of a run.
        private let turn: UnsafeMutablePointer<pthread_mutex_t>
        // Guarded by the mutex.
        private var work: (any PiecewiseWork)?
        private var pieces = 0
        private var run = 0
        private var busy = 0
        private var stopping = false
        private let next = Atomic<Int>(0)
        // Copies of `run` and `busy` to watch without the mutex.
        private let announced = Atomic<Int>(0)
        private let working = Atomic<Int>(0)

        /// How long a thread watches before it sleeps.
        private static let patience = Nanoseconds.microseconds(50)

        init() {
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
            unsafe pthread_cond_destroy(finished)
            unsafe pthread_cond_destroy(started)
            unsafe pthread_mutex_destroy(turn)
            unsafe pthread_mutex_destroy(mutex)
            unsafe finished.deallocate()
            unsafe started.deallocate()
            unsafe turn.deallocate()
            unsafe mutex.deallocate()
        }

        func run(_ work: any PiecewiseWork, pieces: Int) {
            unsafe pthread_mutex_lock(turn)
            unsafe pthread_mutex_lock(mutex)
            self.work = work
            self.pieces = pieces
            next.store(0, ordering: .relaxed)
            run += 1
            announced.store(run, ordering: .releasing)
            unsafe pthread_cond_broadcast(started)
            unsafe pthread_mutex_unlock(mutex)

            take(from: work, pieces: pieces, worker: 0)

            // A thread that has not woken yet finds nothing to do; one that has is waited for.
            unsafe pthread_mutex_lock(mutex)
            self.work = nil
            unsafe pthread_mutex_unlock(mutex)
            watch { working.load(ordering: .acquiring) > 0 }
            unsafe pthread_mutex_lock(mutex)
            while busy > 0 { unsafe pthread_cond_wait(finished, mutex) }
            unsafe pthread_mutex_unlock(mutex)
            unsafe pthread_mutex_unlock(turn)
        }

        func stop() {
            unsafe pthread_mutex_lock(mutex)
            stopping = true
            unsafe pthread_cond_broadcast(started)
            unsafe pthread_mutex_unlock(mutex)
        }

        func serve(worker: Int) {
            var seen = 0
            unsafe pthread_mutex_lock(mutex)
            while true {
                if !stopping {
                    let latest = run
                    unsafe pthread_mutex_unlock(mutex)
                    watch { announced.load(ordering: .acquiring) == latest }
                    unsafe pthread_mutex_lock(mutex)
                }
                while !stopping && (run == seen || work == nil) { unsafe pthread_cond_wait(started, mutex) }
                if stopping { break }
                seen = run
                busy += 1
                working.store(busy, ordering: .relaxed)
                let (work, pieces) = (work!, pieces)
                unsafe pthread_mutex_unlock(mutex)
                take(from: work, pieces: pieces, worker: worker)
                unsafe pthread_mutex_lock(mutex)
                busy -= 1
                working.store(busy, ordering: .releasing)
                if busy == 0 { unsafe pthread_cond_signal(finished) }
            }
            unsafe pthread_mutex_unlock(mutex)
        }

        /// Returns when the condition no longer holds, or after a moment.
        private func watch(while condition: () -> Bool) {
            let end = MonotonicTime.now() + Self.patience
            while condition(), MonotonicTime.now() < end {}
        }

        private func take(from work: any PiecewiseWork, pieces: Int, worker: Int) {
            while true {
                let piece = next.wrappingAdd(1, ordering: .relaxed).oldValue
                if piece >= pieces { return }
                work.perform(piece: piece, worker: worker)
            }
        }
    }
}
