import Media

/// Says how early a frame is: by how much its presentation time is ahead of the cadence of the frames before it.
///
/// Without it a frame's deadline counts from the frame's own time: when its sender sent it, or when it arrived. A sender that
/// begins with half a second at once sends 15 frames in the same millisecond, and 14 of them would be due together. They are
/// not late but early: they are shown one interval apart. So their deadlines lie on a line, one interval apart, too.
///
/// - The line goes through the latest frames. A frame that comes later than its place on the line moves the line at once, and
///   its deadline counts from its own time.
/// - A frame that comes up to ``tolerance`` before its place is on time: jitter changes no deadline.
/// - When one comes earlier than that, deadlines lie on the line, and the line moves towards the frames until one is on time.
///   That takes up to half of the time that passes, and up to a quarter while frames wait. So half a second is caught up in
///   two seconds at most.
///
/// A pure value, confined to its owner.
public struct PresentationLine: Sendable, BitwiseCopyable {
    /// A frame is early when it is earlier than this, or earlier at all after one that was early.
    public static let tolerance = Nanoseconds.milliseconds(20)
    /// The part of the passing time by which the line moves towards early frames: when all before them have been worked off,
    /// and while some wait. A machine that can do the stream at 5/4 of its rate loses nothing meanwhile.
    static let catchUpRate = (idle: 0.5, busy: 0.25)
    /// No frame counts as earlier than this. The queues hold about as much.
    static let mostEarly = Nanoseconds.seconds(2)
    /// Longer steps of the presentation times, forward and back, are jumps. ``longestStep`` is that of the timeline.
    static let longestStep = Nanoseconds.seconds(3)
    static let longestStepBack = Nanoseconds.seconds(1)

    /// Where presentation time zero lies on the line, in nanoseconds; nil before the first frame.
    private var zero: Int64?
    /// The newest presentation time, in nanoseconds.
    private var newest: Int64 = 0
    private var isEarly = false

    /// How far the line has moved towards early frames since the stream began. Deadlines that come closer together by this say
    /// nothing of the time between frames.
    public private(set) var caughtUp = Nanoseconds.zero
    /// How early the last frame was.
    public private(set) var earliness = Nanoseconds.zero

    public init() {}

    /// The next frame begins another line.
    public mutating func restart() {
        zero = nil
        isEarly = false
        earliness = .zero
    }

    /// Lays a frame beside the line.
    /// - Parameters:
    ///   - own: the frame's own time.
    ///   - presentation: its presentation time, by the sender's clock.
    ///   - isIdle: no frame before it waits.
    /// - Returns: how much later than its own time its deadline counts from; zero for a frame that is not early.
    public mutating func observe(own: MonotonicTime, presentation: MediaTime, isIdle: Bool) -> Nanoseconds {
        let shown = presentation.nanoseconds.count
        let step = shown - newest
        if zero == nil || step > Self.longestStep.count || -step > Self.longestStepBack.count {
            restart()
            newest = shown
            zero = own.nanoseconds - shown
        }
        newest = max(newest, shown)
        let ahead = zero! + shown - own.nanoseconds
        guard ahead > (isEarly ? 0 : Self.tolerance.count) else {
            zero! += max(0, -ahead)
            isEarly = false
            earliness = .zero
            return .zero
        }
        isEarly = true
        let rate = isIdle ? Self.catchUpRate.idle : Self.catchUpRate.busy
        let move = max(min(ahead, Int64(Double(max(0, step)) * rate)), ahead - Self.mostEarly.count)
        zero! -= move
        caughtUp = caughtUp + Nanoseconds(move)
        earliness = Nanoseconds(ahead - move)
        return earliness
    }
}
