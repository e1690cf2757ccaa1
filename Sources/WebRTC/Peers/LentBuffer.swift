/// A caller's buffer on its way into a lock. The compiler would take what the lock guards for the caller's own otherwise. Whoever
/// makes one uses the bytes in the same call only, and by the same thread.
struct LentBuffer: Sendable {
    private let start: UInt
    private let count: Int

    init(_ bytes: UnsafeMutableRawBufferPointer) {
        start = UInt(bitPattern: bytes.baseAddress)
        count = bytes.count
    }

    var bytes: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: start), count: count)
    }
}
