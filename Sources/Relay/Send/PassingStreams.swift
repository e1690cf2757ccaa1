import Container
import Media

/// The units of streams that pass through untouched, between the ingest and the emit thread.
final class PassingStreams: Sendable {
    private let units: BoundedQueue<PassingUnit>
    private let buffers: UnitBufferPool
    private let described = Lock((layout: TransportStreamLayout(), generation: 0))
    private let moved = Lock<(epoch: UInt32, ticks: Int64)?>(nil)

    init(capacity: Int = 256) {
        units = BoundedQueue(capacity: capacity)
        buffers = UnitBufferPool(count: capacity, capacity: 2048)
    }

    /// What the output's program holds beside the video; set when the input's program is known or changes.
    var layout: TransportStreamLayout {
        get { described.withLock { $0.layout } }
        set { described.withLock { if $0.layout != newValue { $0 = (newValue, $0.generation + 1) } } }
    }
    /// The layout with its number, counted from 1: a unit belongs to the one that it came under.
    var numberedLayout: (layout: TransportStreamLayout, generation: Int) { described.withLock { $0 } }

    /// Takes a copy of a unit.
    /// - Returns: false when too many wait already: the unit is lost.
    func offer(
        _ bytes: UnsafeRawBufferPointer, stream: Int, presentation: MediaTime?, provisionalEpoch: UInt32? = nil,
        arrival: MonotonicTime, sourceTime: MonotonicTime?, emitBy: MonotonicTime
    ) -> Bool {
        guard let buffer = buffers.take() else { return false }
        unsafe buffer.fill(bytes)
        let unit = PassingUnit(
            buffer: buffer, stream: stream, generation: numberedLayout.generation, presentation: presentation,
            provisionalEpoch: provisionalEpoch, arrival: arrival, sourceTime: sourceTime, emitBy: emitBy)
        guard units.offer(unit) == nil else {
            buffers.giveBack(buffer)
            return false
        }
        return true
    }

    /// The first frame of an epoch has moved it, with the units of that epoch that wait here.
    func move(_ epoch: UInt32, by ticks: Int64) { moved.withLock { $0 = (epoch, ticks) } }

    /// When a unit is to be presented, as far as that is known by now.
    func presentation(of unit: PassingUnit) -> MediaTime? {
        guard let epoch = unit.provisionalEpoch, let moved = moved.withLock({ $0 }), moved.epoch == epoch else {
            return unit.presentation
        }
        return unit.presentation.map { $0 + moved.ticks }
    }

    func next() -> PassingUnit? { units.pop(until: MonotonicTime(nanoseconds: 0)) }
    func giveBack(_ unit: PassingUnit) { buffers.giveBack(unit.buffer) }
}
