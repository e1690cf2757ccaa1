/// A block of memory aligned to 64 bytes, freed with its owner: scratch that a session takes once.
@safe struct AlignedMemory: ~Copyable, @unchecked Sendable {
    private let memory: UnsafeMutableRawPointer
    let byteCount: Int

    /// Zeroed, so that bytes read beyond a row's end are always the same.
    init(byteCount: Int) {
        self.byteCount = byteCount
        unsafe memory = .allocate(byteCount: max(byteCount, 64), alignment: 64)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: max(byteCount, 64))
    }

    deinit { unsafe memory.deallocate() }

    /// Valid while this value lives.
    @unsafe func pointer(at offset: Int = 0) -> UnsafeMutableRawPointer { unsafe memory + offset }
}
