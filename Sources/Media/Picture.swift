import Synchronization

/// Memory for one 8-bit 4:2:0 picture: three planes in one 64-byte aligned block, every row 64-byte aligned.
///
/// Written by one stage, then only read: whoever fills a picture holds its only ``PictureLease``, and hands on shares of
/// it when done. That rule, which the lease enforces for lifetime and the stages keep for contents, is why it may cross
/// threads.
@safe public final class Picture: @unchecked Sendable {
    public let size: PictureSize
    fileprivate let memory: AlignedMemory
    private let planes: MutablePictureView
    fileprivate let shares = Atomic<Int>(0)

    /// Bytes that stay readable (not writable) before and after every plane, for kernels that load whole vectors.
    public static let slop = 64

    public init(size: PictureSize) {
        precondition(size.width > 0 && size.height > 0, "a picture needs a size")
        self.size = size
        let chroma = size.chroma
        let strideY = (size.width + 63) & ~63
        let strideC = (chroma.width + 63) & ~63
        let bytesY = strideY * size.height + 2 * Self.slop
        let bytesC = strideC * chroma.height + 2 * Self.slop
        memory = AlignedMemory(byteCount: bytesY + 2 * bytesC)
        let base = unsafe memory.pointer().assumingMemoryBound(to: UInt8.self) + Self.slop
        unsafe planes = MutablePictureView(
            y: MutablePlaneView(base: base, stride: strideY, width: size.width, height: size.height),
            u: MutablePlaneView(base: base + bytesY, stride: strideC, width: chroma.width, height: chroma.height),
            v: MutablePlaneView(
                base: base + bytesY + bytesC, stride: strideC, width: chroma.width, height: chroma.height))
    }

    fileprivate func leaseIfFree() -> PictureLease? {
        let isFree = shares.compareExchange(expected: 0, desired: 1, ordering: .acquiringAndReleasing).exchanged
        return isFree ? PictureLease(taking: self) : nil
    }

    /// The planes for reading. The view must not outlive the lease it was reached through.
    @unsafe public var view: PictureView { unsafe planes.readOnly }
    /// The planes for writing: only while the caller holds the picture's only lease.
    @unsafe public var mutableView: MutablePictureView { unsafe planes }
}

/// One share of a pooled picture. When the last share is gone, the picture is free to be leased again: no allocation, no
/// reference to the pool, one atomic operation.
public struct PictureLease: ~Copyable, Sendable {
    public let picture: Picture

    fileprivate init(taking picture: Picture) { self.picture = picture }

    /// Another share of the same picture.
    public func share() -> PictureLease {
        picture.shares.add(1, ordering: .relaxed)
        return PictureLease(taking: picture)
    }

    deinit { picture.shares.subtract(1, ordering: .releasing) }
}

/// A fixed number of pictures of one size, allocated once. Thread-safe; ``lease()`` never allocates and never waits.
public final class PicturePool: Sendable {
    public let size: PictureSize
    private let pictures: [Picture]

    public init(size: PictureSize, count: Int) {
        self.size = size
        pictures = (0..<count).map { _ in Picture(size: size) }
    }

    /// A free picture, or nil when all are in use: the bound on raw frames in flight. Its contents are left-overs.
    public func lease() -> PictureLease? {
        for picture in pictures { if let lease = picture.leaseIfFree() { return lease } }
        return nil
    }

    /// Has the system give the memory of all pictures that are free: otherwise it does so when each is first written,
    /// of some only once queues are full. Takes about a millisecond for two megabytes.
    public func touch() {
        for picture in pictures { if let lease = picture.leaseIfFree() { lease.picture.memory.touch() } }
    }

    /// How many pictures are leased just now.
    public var inUse: Int { pictures.count { $0.shares.load(ordering: .relaxed) > 0 } }
}
