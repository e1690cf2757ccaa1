import Glibc
import Media
import Testing

@Suite struct FreedMemoryTests {
    /// A large block comes from memory that is kept. A mapping of its own, which would go back when it is freed, has whole pages.
    @Test func aLargeBlockIsNoMapping() throws {
        FreedMemory.keep()
        let size = 8 << 20
        let block = try #require(malloc(size))
        defer { free(block) }
        #expect(usableSize(block) - size < 64)
    }
}

@_silgen_name("malloc_usable_size") private func usableSize(_ block: UnsafeMutableRawPointer) -> Int
