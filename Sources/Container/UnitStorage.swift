/// Growing memory for the unit that is being put together. It grows to the largest unit of the stream and then stays.
///
/// Not thread-safe: the assembly that made it owns it.
@safe final class UnitStorage {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        unsafe memory = .allocate(capacity: capacity)
    }

    deinit { unsafe memory.deallocate() }

    /// The bytes so far; valid until the storage is next changed.
    @unsafe var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: memory, count: count) }

    /// - Returns: false when the unit would exceed `limit`; nothing is added then.
    func append(_ more: UnsafeRawBufferPointer, limit: Int) -> Bool {
        guard let source = more.baseAddress, more.count > 0 else { return true }
        guard count + more.count <= limit else { return false }
        if count + more.count > capacity {
            let larger = Swift.min(Swift.max(capacity * 2, count + more.count), limit)
            let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
            unsafe moved.update(from: memory, count: count)
            unsafe memory.deallocate()
            unsafe memory = moved
            capacity = larger
        }
        unsafe UnsafeMutableRawPointer(memory + count).copyMemory(from: source, byteCount: more.count)
        count += more.count
        return true
    }

    /// - Returns: false when the unit would exceed `limit`; nothing is added then.
    func append(_ more: Span<UInt8>, limit: Int) -> Bool {
        unsafe more.withUnsafeBytes { unsafe append($0, limit: limit) }
    }

    /// Inserts bytes at an offset.
    /// - Returns: false when the unit would exceed `limit`; nothing is added then.
    func insert(_ more: Span<UInt8>, at offset: Int, limit: Int) -> Bool {
        let tail = count - offset
        guard append(more, limit: limit) else { return false }
        unsafe (memory + offset + more.count).update(from: memory + offset, count: tail)
        unsafe more.withUnsafeBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(start: memory + offset, count: bytes.count).copyMemory(from: bytes)
        }
        return true
    }

    /// Drops the last `n` bytes.
    func removeLast(_ n: Int) { count -= n }

    /// Drops the first `n` bytes and moves the rest to the front.
    func removeFirst(_ n: Int) {
        let rest = count - n
        if rest > 0 { unsafe memory.update(from: memory + n, count: rest) }
        count = rest
    }

    func removeAll() { count = 0 }
}
