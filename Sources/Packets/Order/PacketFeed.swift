import Media

/// A packet of the stream, as its protocol read it.
@safe package struct ArrivedPacket {
    var message: Message
    /// How many sequence numbers it takes up.
    var packets = 1
    /// Until when it is worth waiting for what is missing before it.
    var gapDeadline: MonotonicTime
    /// The sender's clock starts anew with it.
    var restartsClock = false
    /// Valid until the feed reads again.
    var contents: UnsafeRawBufferPointer

    package init(
        message: Message, packets: Int = 1, gapDeadline: MonotonicTime, restartsClock: Bool = false,
        contents: UnsafeRawBufferPointer
    ) {
        self.message = message
        self.packets = packets
        self.gapDeadline = gapDeadline
        self.restartsClock = restartsClock
        unsafe self.contents = unsafe contents
    }
}

/// What ``OrderedReceiver`` needs of a protocol: its packets, however they come, and its events.
///
/// The receiver calls the requirements in the order in which they stand here.
package protocol PacketFeed: ~Copyable {
    /// Removes the oldest event; nil when there is none. Gaps and clock resets are the receiver's.
    mutating func nextEvent() -> LegEvent?

    /// Whether messages are those of another connection from now on: nothing that is held belongs to it.
    mutating func hasChangedConnection() -> Bool

    /// The source has gone or is to go: nothing is worth a wait any more.
    var isLeaving: Bool { get }
    /// Ends ``isLeaving``, now that no message is held.
    mutating func leave() -> LegEvent?

    /// The event that comes before the packet that was read last.
    mutating func eventBeforePacket() -> LegEvent?

    /// Whatever had come by this time has been read.
    var readUpTo: MonotonicTime { get }

    /// Whether a reader that has found nothing for long is to return: somebody interrupted it, or the time has come.
    mutating func mustReturn(at limit: MonotonicTime) -> Bool

    /// Reads what has come; never waits.
    /// - Parameters:
    ///   - buffer: the reader's, in which the packet may lie.
    ///   - hold: expects no number before the first packet. The feed may then say where the connection begins.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer, _ hold: inout HoldBuffer) -> Reading

    /// Sleeps until something may have come.
    mutating func wait(until limit: MonotonicTime) -> Descriptor.Readiness

    /// So many messages will not come any more.
    mutating func recordGap(messages: Int64)
}

/// What ``PacketFeed/read(into:_:)`` found.
package enum Reading {
    case packet(ArrivedPacket)
    case event(LegEvent)
    /// Something that holds no message.
    case noMessage
    /// Nothing more has come.
    case empty
}
