/// The arguments of one run of a ``WorkerPool``, and what to do with one piece of it: a band of rows, a tile, a strip.
///
/// It is a value on the caller's stack. The pool borrows it until the run is over, so that no argument outlives its run
/// and a run allocates nothing. (A closure would cost an allocation each run, since Swift must make a context for a
/// closure that another thread finds in memory.)
///
/// Several threads call ``perform(piece:worker:)`` at once. What pieces write must not overlap.
public protocol PiecewiseWork {
    /// Does one piece.
    /// - Parameters:
    ///   - piece: from 0. Each piece is done exactly once, on any thread. Pieces begin in the order that the run asks
    ///     for.
    ///   - worker: the number of the thread, 0 ..< the pool's `threadCount`: an index for scratch memory.
    func perform(piece: Int, worker: Int)
}

/// Work that the caller of a run keeps alive, without its static type.
@unsafe struct BorrowedWork {
    private let type: any PiecewiseWork.Type
    private let value: UnsafeRawPointer

    /// - Parameter work: must stay in place for as long as this value is used.
    init<Work: PiecewiseWork>(_ work: UnsafePointer<Work>) {
        unsafe type = Work.self
        unsafe value = UnsafeRawPointer(work)
    }

    func perform(piece: Int, worker: Int) { unsafe type.perform(piece: piece, worker: worker, of: value) }
}

extension PiecewiseWork {
    @unsafe fileprivate static func perform(piece: Int, worker: Int, of value: UnsafeRawPointer) {
        unsafe value.assumingMemoryBound(to: Self.self).pointee.perform(piece: piece, worker: worker)
    }
}

/// In which order pieces of work begin, and on which thread.
public enum PieceOrder: Sendable {
    /// Ascending. The next thread that is free does the next piece.
    case ascending
    /// Each thread begins with a part of its own, worker 0 with the first pieces. A thread that has finished its part
    /// claims pieces from the ends of the others' parts. This is for steps that follow each other over the same rows of
    /// a picture: a core reads again what it has written, and to fetch that from another core costs several times as
    /// much.
    case ownPartFirst
}
