import Codec
import Media
import Synchronization
import Telemetry

/// The coded units between ingest and decoder, where nothing is lost one by one: units refer to each other.
///
/// A source that can wait is made to. A live one cannot: when the decoder is behind and a keyframe comes, the queue jumps
/// to it, and the units before it end as `overload`; when the queue is full before one comes, units end as `overload`
/// until it does.
///
/// `add` belongs to the ingest thread; `pop` to the decode thread.
final class UnitQueue: Sendable {
    private let units: BoundedQueue<CodedPicture>
    private let buffers: UnitBufferPool
    private let stream: StreamState
    /// The queue was full: what comes is of no use until the next keyframe.
    private let isPassingOver = Atomic<Bool>(false)

    /// Units that may wait before a keyframe is reason enough to jump: a quarter of a second at 30 frames a second.
    private static let jumpDepth = 8

    init(capacity: Int = 128, stream: StreamState) {
        units = BoundedQueue(capacity: capacity)
        // One more is with the decoder, one with the ingest thread.
        buffers = UnitBufferPool(count: capacity + 2, capacity: 32 * 1024)
        self.stream = stream
    }

    var count: Int { units.count }

    func add(
        _ ticket: consuming FrameTicket, _ bytes: UnsafeRawBufferPointer, flags: UnitFlags, isKeyframe: Bool,
        mayWait: Bool
    ) {
        if isKeyframe {
            isPassingOver.store(false, ordering: .relaxed)
            if !mayWait, units.count >= Self.jumpDepth { jump() }
        }
        guard !isPassingOver.load(ordering: .relaxed), let buffer = buffers.take() else {
            isPassingOver.store(true, ordering: .relaxed)
            return stream.ledger.close(ticket, as: .dropped(.overload))
        }
        unsafe buffer.fill(bytes)
        let unit = CodedPicture(ticket: ticket, buffer: buffer, flags: flags)
        if let refused = mayWait ? units.push(unit) : units.offer(unit) {
            isPassingOver.store(true, ordering: .relaxed)
            buffers.giveBack(buffer)
            stream.ledger.close(refused.intoTicket(), as: .dropped(units.isClosed ? .shutdown : .overload))
        }
    }

    /// The next unit, waiting for one; nil when the queue is closed and empty.
    func pop() -> CodedPicture? { units.pop() }
    func giveBack(_ buffer: UnitBuffer) { buffers.giveBack(buffer) }
    func close() { units.close() }

    private func jump() {
        stream.counters.add(.keyframeJumps)
        while let passedOver = units.pop(until: MonotonicTime(nanoseconds: 0)) {
            buffers.giveBack(passedOver.buffer)
            stream.ledger.close(passedOver.intoTicket(), as: .dropped(.overload))
        }
    }
}
