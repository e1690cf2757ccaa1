import Container
import Media

/// The units of streams that pass through untouched, on their way from ingest to the send stage.
///
/// - Writer: ingest (``layout``, ``offer(_:stream:presentation:provisionalEpoch:arrival:sourceTime:emitBy:)``, ``move(_:by:)``).
/// - Reader: send.
/// - Read together: the layout and its number.
final class PassingStreams: Sendable {
    /// Wakes the send thread. It is raised when a passing unit has come, and by the send stage itself.
    let wake = WakeUp()
    /// The most units that wait, here and at the reader.
    let capacity: Int
    private let units: BoundedQueue<PassingUnit>
    private let buffers: UnitBufferPool
    private let described = Lock((layout: TransportStreamLayout(), number: 0, calls: CallStream?.none))
    private let moved = Lock<(epoch: UInt32, ticks: Int64)?>(nil)

    init(capacity: Int = 256) {
        self.capacity = capacity
        units = BoundedQueue(capacity: capacity)
        buffers = UnitBufferPool(count: capacity, capacity: 2048)
    }

    /// What the output's program holds beside the video. Ingest sets it when it knows the input's program, and at each change.
    var layout: TransportStreamLayout {
        get { described.withLock { $0.layout } }
        set { described.withLock { if $0.layout != newValue { $0 = (newValue, $0.number + 1, CallStream(of: newValue)) } } }
    }
    /// The layout with its number, counted from 1. A unit belongs to the layout under which it arrived.
    var numberedLayout: (layout: TransportStreamLayout, number: Int) { described.withLock { ($0.layout, $0.number) } }

    /// Queues a copy of a unit.
    /// - Parameter header: of the PES packet that it came in; empty where there was none.
    /// - Returns: false when too many units wait already, so that this one is lost.
    func offer(
        header: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0), _ bytes: UnsafeRawBufferPointer,
        stream: Int, presentation: MediaTime?, reordering: Int64 = 0, provisionalEpoch: UInt32? = nil,
        arrival: MonotonicTime, sourceTime: MonotonicTime?, emitBy: MonotonicTime
    ) -> Bool {
        guard let buffer = buffers.claim() else { return false }
        unsafe buffer.fill(header, bytes)
        let (number, calls) = described.withLock { ($0.number, $0.calls) }
        let unit = PassingUnit(
            buffer: buffer, headerCount: header.count, stream: stream, layoutNumber: number,
            forCalls: calls?.index == stream ? calls?.form : nil,
            presentation: presentation,
            reordering: reordering, provisionalEpoch: provisionalEpoch, arrival: arrival, sourceTime: sourceTime, emitBy: emitBy
        )
        guard units.offer(unit) == nil else {
            buffers.recycle(buffer)
            return false
        }
        wake.raise()
        return true
    }

    /// Moves the units of an epoch that wait here, because its first frame has moved the epoch.
    func move(_ epoch: UInt32, by ticks: Int64) { moved.withLock { $0 = (epoch, ticks) } }

    /// When a unit is to be presented, by what is known now.
    func presentation(of unit: PassingUnit) -> MediaTime? {
        guard let epoch = unit.provisionalEpoch else { return unit.presentation }
        return unit.presentation.map { $0 + moved(epoch) }
    }

    /// How many ticks the first frame of an epoch has moved it, by what is known now.
    func moved(_ epoch: UInt32) -> Int64 { moved.withLock { $0?.epoch == epoch ? $0!.ticks : 0 } }

    func next() -> PassingUnit? { units.pop(until: MonotonicTime(nanoseconds: 0)) }
    func recycle(_ unit: PassingUnit) { buffers.recycle(unit.buffer) }
}
