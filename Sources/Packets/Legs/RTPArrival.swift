import Media

/// A packet of a call as a session delivers it, in its sender's order. The payload lies beside it.
public struct RTPArrival: Hashable, Sendable, BitwiseCopyable {
    /// The track's index in its session.
    public var track = 0
    /// The format's index in its track.
    public var format = 0
    /// As it came, in ticks of the format's clock.
    public var timestamp: UInt32 = 0
    /// The same on the timeline that all tracks of the session share. Where the sender's reports tell how its tracks belong
    /// together, they do here; else by their arrival.
    public var presentation = MediaTime(ticks: 0)
    public var isMarked = false
    /// So many of the track's packets before this one have not come, and will not be waited for.
    public var lost = 0
    public var arrival = MonotonicTime(nanoseconds: 0)
    /// When it was sent, on our clock; nil where its time stamps do not tell.
    public var sourceTime: MonotonicTime?
    /// Source times jump here.
    public var restartsClock = false
    public var extensions = RTPExtensions()

    public init() {}
}
