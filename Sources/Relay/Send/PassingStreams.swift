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
    private let described = Lock(Described())
    private let moved = Lock<(epoch: UInt32, ticks: Int64)?>(nil)

    init(capacity: Int = 256) {
        self.capacity = capacity
        units = BoundedQueue(capacity: capacity)
        buffers = UnitBufferPool(count: capacity, capacity: 2048)
    }

    /// What the output's program holds beside the video. Ingest sets it when it knows the input's program, and at each change.
    var layout: TransportStreamLayout {
        get { described.withLock { $0.layout } }
        set { described.withLock { if $0.layout != newValue { $0 = Described(newValue, number: $0.number + 1) } } }
    }
    /// The layout with its number, counted from 1. A unit belongs to the layout under which it arrived.
    var numberedLayout: (layout: TransportStreamLayout, number: Int) { described.withLock { ($0.layout, $0.number) } }

    private struct Described {
        var layout = TransportStreamLayout()
        var number = 0
        var calls: CallStream?
        /// A unit of it has come. Some maps name sound of which nothing comes.
        private var hasCome = false
        /// When the first unit of other sound came.
        private var others: MonotonicTime?

        /// So long calls wait for the stream that they should get.
        private static let longestSilence = Nanoseconds.seconds(1)

        init() {}
        init(_ layout: TransportStreamLayout, number: Int) {
            (self.layout, self.number) = (layout, number)
            calls = CallStream(of: layout)
        }

        /// How calls get a unit of a stream that has come; nil where they do not.
        mutating func form(of stream: Int, arrival: MonotonicTime) -> CallStream.Form? {
            guard let calls else { return nil }
            if calls.index == stream {
                hasCome = true
                return calls.form
            }
            guard !hasCome, layout.passedStreams.indices.contains(stream),
                let other = CallStream(layout.passedStreams[stream], index: stream)
            else { return nil }
            let first = others ?? arrival
            others = first
            guard arrival - first >= Self.longestSilence else { return nil }
            (self.calls, hasCome) = (other, true)
            return other.form
        }
    }

    /// Queues a copy of a unit.
    /// - Parameter header: of the PES packet that it came in; empty where there was none.
    /// - Returns: false when too many units wait already, so that this one is lost.
    func offer(
        header: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0), _ bytes: UnsafeRawBufferPointer,
        stream: Int, presentation: MediaTime?, reordering: Int64 = 0, provisionalEpoch: UInt32? = nil,
        arrival: MonotonicTime, sourceTime: MonotonicTime?, emitBy: MonotonicTime, mayShowPictures: Bool = false
    ) -> Bool {
        guard let buffer = buffers.claim() else { return false }
        unsafe buffer.fill(header, bytes)
        let (number, form) = described.withLock { ($0.number, $0.form(of: stream, arrival: arrival)) }
        let unit = PassingUnit(
            buffer: buffer, headerCount: header.count, mayShowPictures: mayShowPictures, stream: stream, layoutNumber: number,
            forCalls: form,
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
