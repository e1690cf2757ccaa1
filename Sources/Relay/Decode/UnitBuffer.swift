import Media

/// Memory for one coded unit. It is reused, and grows when a larger unit comes, so the steady state allocates nothing.
///
/// One owner at a time: a buffer is in a ``UnitBufferPool``, or in one unit that a queue hands from thread to thread. Both
/// order memory, so it is safe to send.
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

    func fill(_ bytes: UnsafeRawBufferPointer) { unsafe fill(UnsafeRawBufferPointer(start: nil, count: 0), bytes) }

    /// - Parameter head: what stands before the unit.
    func fill(_ head: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) {
        count = head.count + bytes.count
        if count > capacity {
            unsafe memory.deallocate()
            capacity = count + count / 2
            unsafe memory = .allocate(byteCount: capacity + Self.padding, alignment: 64)
        }
        if let base = head.baseAddress { unsafe memory.copyMemory(from: base, byteCount: head.count) }
        if let base = bytes.baseAddress { unsafe (memory + head.count).copyMemory(from: base, byteCount: bytes.count) }
        unsafe (memory + count).initializeMemory(as: UInt8.self, repeating: 0, count: Self.padding)
    }

    /// The unit's bytes. Do not use them after the buffer was recycled.
    @unsafe var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: memory, count: count)
    }
}

/// A fixed number of unit buffers that circulate between two stages. The buffer that was recycled last is claimed first, so
/// only as many buffers grow, and stay in the caches, as are in use together.
///
/// Thread-safe.
final class UnitBufferPool: Sendable {
    private let free: Lock<[UnitBuffer]>

    init(count: Int, capacity: Int) {
        free = Lock((0..<count).map { _ in UnitBuffer(capacity: capacity) })
    }

    /// A free buffer, or nil when all are in use.
    func claim() -> UnitBuffer? { free.withLock { $0.popLast() } }
    func recycle(_ buffer: UnitBuffer) { free.withLock { $0.append(buffer) } }
}
