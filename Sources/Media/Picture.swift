import Synchronization

/// Memory for one 8-bit 4:2:0 picture: three planes in one 64-byte aligned block, every row 64-byte aligned.
///
/// One stage writes it, then others only read it: the stage that fills a picture holds its only ``PictureLease`` and
/// hands on shares when it is done. This rule makes it safe to share a picture between threads. The lease enforces it
/// for the lifetime, and the stages keep it for the contents.
@safe public final class Picture: Sendable {
    public let size: PictureSize
    fileprivate let memory: AlignedMemory
    fileprivate let shares = Atomic<Int>(0)

    /// Bytes that stay readable (not writable) before and after every plane, for kernels that load whole vectors.
    public static let slop = 64

    public init(size: PictureSize) {
        precondition(size.width > 0 && size.height > 0, "a picture needs a size")
        self.size = size
        memory = AlignedMemory(byteCount: Self.byteCount(size) + 2 * Self.byteCount(size.chroma))
    }

    /// Bytes from one row of a plane to the next.
    private static func stride(_ plane: PictureSize) -> Int { (plane.width + 63) & ~63 }
    /// Bytes of a plane, with its slop.
    private static func byteCount(_ plane: PictureSize) -> Int { stride(plane) * plane.height + 2 * slop }

    private func plane(_ size: PictureSize, at offset: Int) -> MutablePlaneView {
        unsafe MutablePlaneView(
            base: memory.pointer(at: offset + Self.slop).assumingMemoryBound(to: UInt8.self), stride: Self.stride(size),
            width: size.width, height: size.height)
    }

    fileprivate func leaseIfFree() -> PictureLease? {
        let isFree = shares.compareExchange(expected: 0, desired: 1, ordering: .acquiringAndReleasing).exchanged
        return isFree ? PictureLease(of: self) : nil
    }

    /// The planes for reading. The view must not outlive the lease it was reached through.
    @unsafe public var view: PictureView { unsafe mutableView.readOnly }
    /// The planes for writing: only while the caller holds the picture's only lease.
    @unsafe public var mutableView: MutablePictureView {
        let (chroma, offset) = (size.chroma, Self.byteCount(size))
        return unsafe MutablePictureView(
            y: plane(size, at: 0), u: plane(chroma, at: offset), v: plane(chroma, at: offset + Self.byteCount(chroma)))
    }
}

/// One share of a pooled picture. When the last share is gone, the picture is free to be leased again. That costs one
/// atomic operation, no allocation, and no reference to the pool.
public struct PictureLease: ~Copyable, Sendable {
    public let picture: Picture

    fileprivate init(of picture: Picture) { self.picture = picture }

    /// Another share of the same picture.
    public func share() -> PictureLease {
        picture.shares.add(1, ordering: .relaxed)
        return PictureLease(of: picture)
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

    /// A free picture, or nil when all are in use. So the pool's size bounds the raw frames in flight. The picture
    /// still has the contents of its last use.
    public func lease() -> PictureLease? {
        for picture in pictures { if let lease = picture.leaseIfFree() { return lease } }
        return nil
    }

    /// Makes the system map the memory of all free pictures now. Otherwise it does so when a picture is first written,
    /// for some only once queues are full. It takes about a millisecond for two megabytes.
    public func touch() {
        for picture in pictures { if let lease = picture.leaseIfFree() { lease.picture.memory.touch() } }
    }

    /// How many pictures are leased now.
    public var inUse: Int { pictures.count { $0.shares.load(ordering: .relaxed) > 0 } }
}
