import Bitstream
import Codec
import Media
import Schedule
import Synchronization
import Telemetry

/// The coded units between ingest and decoder. Units refer to each other, so single units are never dropped here.
///
/// A source that can wait is made to wait. A live source cannot. For it the scheduler decides before the decoder which units
/// to drop (``Schedule/Planner/admit(_:)``). If the queue fills up all the same, units are dropped as `overload` until a
/// keyframe comes, and the keyframe replaces all units that still wait (`no_keyframe`).
///
/// The ingest thread calls `add` and `close`, the decode thread `pop` and `recycle`.
final class UnitQueue: Sendable {
    private let units: BoundedQueue<CodedPicture>
    private let buffers: UnitBufferPool
    private let books: StreamBooks
    private let turns: StageTurns
    /// The queue was full, so units are of no use until the next keyframe.
    private let isAwaitingKeyframe = Atomic<Bool>(false)

    private let keyframes = Atomic<Int>(0)

    init(capacity: Int = 128, books: StreamBooks, turns: StageTurns = StageTurns()) {
        units = BoundedQueue(capacity: capacity)
        // The decoder holds one more, the ingest thread another.
        buffers = UnitBufferPool(count: capacity + 2, capacity: 32 * 1024)
        self.books = books
        self.turns = turns
    }

    var count: Int { units.count }
    /// Units were dropped, and what comes is of no use until the next keyframe.
    var awaitsKeyframe: Bool { isAwaitingKeyframe.load(ordering: .relaxed) }
    /// Whether a keyframe is among those that wait.
    var keyframeWaits: Bool { keyframes.load(ordering: .relaxed) > 0 }

    func add(
        _ ticket: consuming FrameTicket, _ bytes: UnsafeRawBufferPointer, codec: VideoCodec = .h264, flags: UnitFlags,
        isKeyframe: Bool, mayWait: Bool
    ) {
        if isKeyframe {
            isAwaitingKeyframe.store(false, ordering: .relaxed)
            if !mayWait, units.count == units.capacity { dropAll() }
        }
        guard !isAwaitingKeyframe.load(ordering: .relaxed), let buffer = buffers.claim() else {
            isAwaitingKeyframe.store(true, ordering: .relaxed)
            return books.drop(ticket, .overload)
        }
        unsafe buffer.fill(bytes)
        push(
            CodedPicture(ticket, buffer, codec: codec, flags: flags, isKeyframe: isKeyframe), buffer, mayWait: mayWait)
    }

    /// Adds a unit that the decoder needs for later ones. Its picture is not shown.
    func prime(
        _ bytes: UnsafeRawBufferPointer, codec: VideoCodec = .h264, flags: UnitFlags, isKeyframe: Bool, mayWait: Bool
    ) {
        if isKeyframe { isAwaitingKeyframe.store(false, ordering: .relaxed) }
        guard !isAwaitingKeyframe.load(ordering: .relaxed), let buffer = buffers.claim() else { return }
        unsafe buffer.fill(bytes)
        push(CodedPicture(nil, buffer, codec: codec, flags: flags, isKeyframe: isKeyframe), buffer, mayWait: mayWait)
    }

    /// Nothing more comes for now: the decoder shows what it holds back. Waits for room.
    func endRun() {
        let end = CodedPicture(nil, nil)
        _ = turns.push(end, to: units, as: .ingest)
    }

    private func push(_ unit: consuming CodedPicture, _ buffer: UnitBuffer, mayWait: Bool) {
        let isKeyframe = unit.isKeyframe
        if isKeyframe { keyframes.add(1, ordering: .relaxed) }
        if let refused = mayWait ? turns.push(unit, to: units, as: .ingest) : units.offer(unit) {
            if isKeyframe { keyframes.subtract(1, ordering: .relaxed) }
            isAwaitingKeyframe.store(true, ordering: .relaxed)
            buffers.recycle(buffer)
            if let ticket = refused.intoTicket() { books.drop(ticket, units.isClosed ? .shutdown : .overload) }
        }
    }

    private func dropAll() {
        var endsRun = false
        while let unit = units.pop(until: MonotonicTime(nanoseconds: 0)) {
            if unit.isKeyframe { keyframes.subtract(1, ordering: .relaxed) }
            if let buffer = unit.buffer { buffers.recycle(buffer) } else { endsRun = true }
            if let ticket = unit.intoTicket() { books.drop(ticket, .noKeyframe) }
        }
        if endsRun { endRun() }
    }

    /// The next unit, waiting for one; nil when the queue is closed and empty.
    func pop() -> CodedPicture? {
        guard let unit = turns.pop(from: units, as: .decode) else { return nil }
        if unit.isKeyframe { keyframes.subtract(1, ordering: .relaxed) }
        return unit
    }
    func recycle(_ buffer: UnitBuffer) { buffers.recycle(buffer) }
    func close() { units.close() }
}
