/// What becomes of memory that this process frees.
public enum FreedMemory {
    /// Lets this process keep the memory that it frees, up to 256 MiB a heap, instead of giving it back to the system.
    ///
    /// A source of calls changes its size in mid-stream, and then the encoder is replaced. Memory of a new one comes from the
    /// system page by page, at the first touch: that held up the second picture of 1280x720 for 6 ms.
    ///
    /// Call it once, before other threads run. It does nothing where another allocator stands in for glibc's.
    public static func keep() {
        _ = allocatorOption(Option.mappingThreshold, 32 << 20)
        _ = allocatorOption(Option.trimThreshold, 256 << 20)
    }

    // glibc's <malloc.h>, which Swift's module of glibc leaves out.
    private enum Option {
        /// From which size on a block gets a mapping of its own. 32 MiB is the most.
        static let mappingThreshold: Int32 = -3
        /// How much free memory at the end of a heap is kept.
        static let trimThreshold: Int32 = -1
    }
}

@_silgen_name("mallopt") private func allocatorOption(_ option: Int32, _ value: Int32) -> Int32
