import Media

/// A raw frame whose turn at the encoder has come.
public struct EncodeRequest: Sendable, BitwiseCopyable {
    public var now: MonotonicTime
    public var emitBy: MonotonicTime
    public var kind: FrameKind
    /// An original waits for the encoder behind it, and when that must be emitted.
    public var nextOriginalEmitBy: MonotonicTime?

    @inlinable public init(
        now: MonotonicTime, emitBy: MonotonicTime, kind: FrameKind, nextOriginalEmitBy: MonotonicTime? = nil
    ) {
        self.now = now
        self.emitBy = emitBy
        self.kind = kind
        self.nextOriginalEmitBy = nextOriginalEmitBy
    }
}
