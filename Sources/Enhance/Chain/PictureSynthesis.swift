import Media

/// The synthesis of a chain: makes pictures between two enlarged ones, or beyond the newest, or blurs them.
///
/// It sees what came out of the enlargement, before the steps on results: what stands on a picture is not moved with it. Confined to
/// one thread at a time. Does not allocate after `init`.
public final class PictureSynthesis {
    private enum Method {
        case between(FrameInterpolation)
        case ahead(FrameExtrapolation)
        case blur(MotionBlur)
    }

    private let method: Method

    /// Makes pictures between two. The newer one leaves after them.
    public init(between session: FrameInterpolation) { method = .between(session) }
    /// Makes pictures beyond the newer one, which leaves first.
    public init(ahead session: FrameExtrapolation) { method = .ahead(session) }
    /// Blurs pictures along their motion. The blurred one leaves in place of the other.
    public init(blurring session: MotionBlur) { method = .blur(session) }

    /// How many pictures after the two that it makes new ones between, or after the one that it blurs, must have been given.
    public var lookahead: Int {
        switch method {
        case .between(let session): session.lookahead
        case .ahead: 0
        case .blur(let session): session.lookahead
        }
    }

    /// Whether there is enough to make a picture from.
    public var isReady: Bool {
        switch method {
        case .between(let session): session.isReady
        case .ahead: true
        case .blur(let session): session.isReady
        }
    }

    /// Adds a picture to the sequence. It is copied.
    /// - Parameters:
    ///   - picture: before it was enlarged.
    ///   - enlarged: at the size at which networks work.
    /// - Throws: `sizeMismatch`, `cancelled`.
    @unsafe public func append(
        _ picture: PictureView, _ enlarged: PictureView, chromaLocation: UInt8
    ) throws(EnhanceError) {
        switch method {
        case .between(let session):
            session.chromaLocation = chromaLocation
            unsafe try session.push(picture, enhanced: enlarged)
        case .ahead(let session):
            session.chromaLocation = chromaLocation
            unsafe try session.push(picture, enhanced: enlarged)
        case .blur(let session):
            session.chromaLocation = chromaLocation
            unsafe try session.push(picture, enhanced: enlarged)
        }
    }

    /// Makes the picture at a phase of two: between them, or beyond the second (above 1).
    /// - Returns: how; nil when there is too little to make it from.
    /// - Throws: `badParameter` for a phase on the other side, `sizeMismatch`, `cancelled`.
    @unsafe public func make(
        phase: Double, into output: MutablePictureView, until stop: MonotonicTime? = nil
    ) throws(EnhanceError) -> FrameInterpolationResult.Method? {
        guard isReady else { return nil }
        return switch method {
        case .between(let session): unsafe try session.synthesise(phase: phase, into: output, until: stop).method
        case .ahead(let session): unsafe try session.synthesise(distance: phase - 1, into: output, until: stop).method
        case .blur: nil
        }
    }

    /// Blurs the picture before the last, or after ``finish()`` the last.
    /// - Returns: what it was made of; nil where there is none, or pictures are not blurred.
    /// - Throws: as ``MotionBlur/blur(strength:into:)``.
    @unsafe public func blur(
        strength: Double, into output: MutablePictureView
    ) throws(EnhanceError) -> MotionBlurResult? {
        guard case .blur(let session) = method, session.isReady else { return nil }
        return unsafe try session.blur(strength: strength, into: output)
    }

    /// No picture follows: the last two, or the last one to blur, are ready.
    public func finish() {
        switch method {
        case .between(let session): session.finish()
        case .ahead: break
        case .blur(let session): session.finish()
        }
    }

    /// The next picture has nothing to do with those before.
    public func reset() {
        switch method {
        case .between(let session): session.reset()
        case .ahead(let session): session.reset()
        case .blur(let session): session.reset()
        }
    }
}
