import Media

/// Memory for one coded unit: reused, grown when a larger unit comes, so that the steady state allocates nothing.
@safe final class UnitBuffer: @unchecked Sendable {
    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    /// Zeroed bytes behind the unit that bit-stream readers may read (libavcodec asks for 64).
    static let padding = 64

    init(capacity: Int) {
        self.capacity = capacity
        unsafe memory = .allocate(byteCount: capacity + Self.padding, alignment: 64)
    }

    deinit { unsafe memory.deallocate() }

    func fill(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > capacity {
            unsafe memory.deallocate()
            capacity = bytes.count + bytes.count / 2
            unsafe memory = .allocate(byteCount: capacity + Self.padding, alignment: 64)
        }
        count = bytes.count
        if let base = bytes.baseAddress { unsafe memory.copyMemory(from: base, byteCount: count) }
        unsafe (memory + count).initializeMemory(as: UInt8.self, repeating: 0, count: Self.padding)
    }

    /// The unit's bytes; they must not outlive the buffer's turn.
    @unsafe var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: memory, count: count)
    }
}

/// A fixed number of unit buffers that go round between two stages. The one that was given back last is taken first, so
/// that only as many grow, and stay in the caches, as are in use together.
final class UnitBufferPool: Sendable {
    private let free: Lock<[UnitBuffer]>

    init(count: Int, capacity: Int) {
        free = Lock((0..<count).map { _ in UnitBuffer(capacity: capacity) })
    }

    /// A free buffer, or nil when all are in use.
    func claim() -> UnitBuffer? { free.withLock { $0.popLast() } }
    func recycle(_ buffer: UnitBuffer) { free.withLock { $0.append(buffer) } }
}
