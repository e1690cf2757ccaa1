import Codec
import Media
import Schedule
import Synchronization
import Telemetry

/// The coded units between ingest and decoder, where nothing is lost one by one: units refer to each other.
///
/// A source that can wait is made to. A live one cannot: the schedule says before the decoder which units are given up
/// (``Schedule/Planner/admit(_:)``), and should the queue be full even so, units end as `overload` until a keyframe comes.
/// That takes the place of all that still wait then (`no_keyframe`).
///
/// `add` belongs to the ingest thread; `pop` to the decode thread.
final class UnitQueue: Sendable {
    private let units: BoundedQueue<CodedPicture>
    private let buffers: UnitBufferPool
    private let books: StreamBooks
    /// The queue was full: what comes is of no use until the next keyframe.
    private let isPassingOver = Atomic<Bool>(false)

    private let keyframes = Atomic<Int>(0)

    init(capacity: Int = 128, books: StreamBooks) {
        units = BoundedQueue(capacity: capacity)
        // One more is with the decoder, one with the ingest thread.
        buffers = UnitBufferPool(count: capacity + 2, capacity: 32 * 1024)
        self.books = books
    }

    var count: Int { units.count }
    /// Whether a keyframe is among those that wait.
    var keyframeWaits: Bool { keyframes.load(ordering: .relaxed) > 0 }

    func add(
        _ ticket: consuming FrameTicket, _ bytes: UnsafeRawBufferPointer, flags: UnitFlags, isKeyframe: Bool,
        mayWait: Bool
    ) {
        if isKeyframe {
            isPassingOver.store(false, ordering: .relaxed)
            if !mayWait, units.count == units.capacity { dropAll() }
        }
        guard !isPassingOver.load(ordering: .relaxed), let buffer = buffers.claim() else {
            isPassingOver.store(true, ordering: .relaxed)
            return books.drop(ticket, .overload)
        }
        unsafe buffer.fill(bytes)
        let unit = CodedPicture(ticket: ticket, buffer: buffer, flags: flags, isKeyframe: isKeyframe)
        if isKeyframe { keyframes.add(1, ordering: .relaxed) }
        if let refused = mayWait ? units.push(unit) : units.offer(unit) {
            if isKeyframe { keyframes.subtract(1, ordering: .relaxed) }
            isPassingOver.store(true, ordering: .relaxed)
            buffers.recycle(buffer)
            books.drop(refused.intoTicket(), units.isClosed ? .shutdown : .overload)
        }
    }

    private func dropAll() {
        while let unit = units.pop(until: MonotonicTime(nanoseconds: 0)) {
            if unit.isKeyframe { keyframes.subtract(1, ordering: .relaxed) }
            buffers.recycle(unit.buffer)
            books.drop(unit.intoTicket(), .noKeyframe)
        }
    }

    /// The next unit, waiting for one; nil when the queue is closed and empty.
    func pop() -> CodedPicture? {
        guard let unit = units.pop() else { return nil }
        if unit.isKeyframe { keyframes.subtract(1, ordering: .relaxed) }
        return unit
    }
    func recycle(_ buffer: UnitBuffer) { buffers.recycle(buffer) }
    func close() { units.close() }
}
