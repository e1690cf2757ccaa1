import Glibc

/// A block of memory aligned to 64 bytes, freed with its owner: what a picture lies in, and scratch that a session
/// takes once. Whoever owns it decides which thread uses it when.
@safe public struct AlignedMemory: ~Copyable, @unchecked Sendable {
    private let block: UnsafeMutableRawPointer
    private let memory: UnsafeMutableRawPointer
    public let byteCount: Int

    private static let alignment = 64

    /// Zeroed, so that bytes read beyond a row's end are always the same. A large block usually costs nothing until it
    /// is used: the operating system gives each page, zeroed, when it is first touched.
    public init(byteCount: Int) {
        self.byteCount = byteCount
        guard let block = unsafe calloc(1, byteCount + Self.alignment) else {
            fatalError("no memory left for \(byteCount) bytes")
        }
        unsafe self.block = block
        unsafe memory = block.alignedUp(toMultipleOf: Self.alignment)
    }

    deinit { unsafe free(block) }

    /// Has the system give all of it now. What it holds is zeroed here and there.
    func touch() {
        for offset in stride(from: 0, to: byteCount, by: 4096) {
            unsafe memory.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
        }
    }

    /// Valid while this value lives.
    @unsafe public func pointer(at offset: Int = 0) -> UnsafeMutableRawPointer { unsafe memory + offset }
}
