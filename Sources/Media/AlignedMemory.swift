import Glibc

/// A block of memory aligned to 64 bytes, freed with its owner. Pictures lie in such blocks, and sessions keep their
/// scratch in them.
///
/// `@unchecked Sendable` is safe because the block itself never changes. Its owner decides which thread uses the bytes
/// when.
@safe public struct AlignedMemory: ~Copyable, @unchecked Sendable {
    private let block: UnsafeMutableRawPointer
    private let memory: UnsafeMutableRawPointer
    public let byteCount: Int

    private static let alignment = 64

    /// The bytes are zeroed, so that bytes read beyond a row's end are always the same. A large block usually costs
    /// nothing until it is used, because the operating system maps each page, zeroed, when it is first touched.
    public init(byteCount: Int) {
        self.byteCount = byteCount
        guard let block = unsafe calloc(1, byteCount + Self.alignment) else {
            fatalError("no memory left for \(byteCount) bytes")
        }
        unsafe self.block = block
        unsafe memory = block.alignedUp(toMultipleOf: Self.alignment)
    }

    deinit { unsafe free(block) }

    /// Makes the system map all pages now. It overwrites some bytes with zero.
    func touch() {
        for offset in stride(from: 0, to: byteCount, by: 4096) {
            unsafe memory.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
        }
    }

    /// Valid while this value lives.
    @unsafe public func pointer(at offset: Int = 0) -> UnsafeMutableRawPointer { unsafe memory + offset }
}
