import Glibc
import Synchronization

/// A telemetry map in this process's memory, as 64-bit words that are read and written atomically. So whatever another
/// process does to them at the same time, a word is never half of two values.
///
/// `@unchecked Sendable` is safe because the mapping never changes and every access is atomic.
@safe final class MappedWords: @unchecked Sendable {
    private let words: UnsafeMutablePointer<Atomic<UInt64>>

    /// Maps the whole map. The descriptor may be closed afterwards.
    /// - Parameter descriptor: of a file that has ``TelemetryLayout/byteCount`` bytes and is never cut: touching a page that
    ///   the file no longer has ends the process.
    init(_ descriptor: Int32, isWritable: Bool) throws(TelemetryMapError) {
        // A writer has all pages at once: a page fault on the frame path would be a system call.
        let memory = unsafe mmap(
            nil, TelemetryLayout.byteCount, isWritable ? PROT_READ | PROT_WRITE : PROT_READ,
            isWritable ? MAP_SHARED | Int32(MAP_POPULATE) : MAP_SHARED, descriptor, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
            throw .system("the telemetry map cannot be mapped")
        }
        unsafe words = memory.bindMemory(to: Atomic<UInt64>.self, capacity: TelemetryLayout.wordCount)
    }

    deinit { unsafe munmap(UnsafeMutableRawPointer(words), TelemetryLayout.byteCount) }

    @inline(__always) private func pointer(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        precondition(index >= 0 && index < TelemetryLayout.wordCount)
        return unsafe words + index
    }

    @inline(__always) subscript(index: Int) -> UInt64 { unsafe pointer(index).pointee.load(ordering: .relaxed) }

    @inline(__always) func store(_ value: UInt64, at index: Int) {
        unsafe pointer(index).pointee.store(value, ordering: .relaxed)
    }

    /// What was stored before is seen by whoever sees this value.
    @inline(__always) func publish(_ value: UInt64, at index: Int) {
        unsafe pointer(index).pointee.store(value, ordering: .releasing)
    }

    /// Adds to a word that several threads add to.
    @inline(__always) func add(_ n: UInt64, at index: Int) {
        unsafe pointer(index).pointee.wrappingAdd(n, ordering: .relaxed)
    }

    /// Adds to a word that one thread at a time writes.
    @inline(__always) func advance(_ index: Int, by n: UInt64 = 1) { store(self[index] &+ n, at: index) }

    /// Writes words under a sequence number, so that readers tell a torn copy: odd while the words are being written, even
    /// and larger afterwards.
    /// - Parameter number: counts the writings, from 0.
    @inline(__always) func write(number: UInt64, at index: Int, _ body: () -> Void) {
        store(number &* 2 &+ 1, at: index)
        atomicMemoryFence(ordering: .releasing)
        body()
        publish(number &* 2 &+ 2, at: index)
    }

    /// A copy of some words. Words that are written at the same time may be older or newer than each other, but a word that was
    /// published is never newer than those that are copied after it.
    func copy(_ range: Range<Int>) -> [UInt64] {
        let copy = range.map { unsafe pointer($0).pointee.load(ordering: .acquiring) }
        atomicMemoryFence(ordering: .acquiring)
        return copy
    }
}
