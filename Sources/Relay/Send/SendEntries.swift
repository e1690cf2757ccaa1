import Codec
import Container
import Media
import Telemetry

// Who may enter sending, and where. Each stage gets ``SendStage`` as one of these and can call nothing else of it, so the compiler
// holds the list. Calls that send or change anything take one lock (`SendStage.state`), under which at most one picture is sent, and
// a few units of passing streams.
//
// | thread | enters by | for |
// |---|---|---|
// | encode | ``EncodedOutput`` | the encoder's units; it sends one itself where nothing waits before it, and passing units that waited for it |
// | ingest | ``PassedOutput`` | pictures that go out as they came, to all or to some viewers, and packets of other programs, at once |
// | the one more encode's | ``ExtraOutput`` | its units, for the viewers of calls who get them |
// | send | ``SendStage/run()`` | what waits for its turn, the program's other streams, receivers that come and go |
// | the observer | `Relay`, which owns the stage | figures; ``SendStage/followConnection()`` once before the stages start |
//
// Encode and ingest never deliver at the same time: ``PicturePath`` gives the pictures to one of them.

/// What whoever delivers coded pictures needs.
protocol CodedOutput: AnyObject, Sendable {
    /// Records the program's layout, which the next picture brings along.
    /// - Throws: when the program map cannot hold the passing streams.
    func prepare() throws(ContainerError)
}

/// Sending, for the encode thread.
protocol EncodedOutput: CodedOutput {
    /// Looks whether a receiver has come or gone. Called between two units, so that nobody begins with half of one.
    func followConnection()

    /// Sends the encoder's unit, or queues a copy until its turn.
    /// - Parameter unit: borrowed for the call.
    func deliver(
        _ unit: borrowing EncodedUnit, _ ticket: consuming FrameTicket, encoded: MonotonicTime, _ source: SourceTime)

    /// The encoder gave no unit for a picture: passing units no longer wait for it.
    func skipPicture(at time: MediaTime)

    /// Nothing more will be delivered.
    func finish()

    /// How many coded units wait for their turn.
    var unitsWaiting: Int { get }
}

/// Sending, for the thread of a call's one more encode.
protocol ExtraOutput: AnyObject, Sendable {
    /// Sends its unit at once to the viewers who get it.
    /// - Parameters:
    ///   - unit: borrowed for the call.
    ///   - maskNumber: of the mask that the picture has.
    ///   - turn: when it was sent, or else when it came.
    /// - Returns: false where it was made before the mask was set that holds now, so that it did not go out.
    func deliverExtra(
        _ unit: borrowing EncodedUnit, _ codec: ExtraEncoding.Codec, maskNumber: Int, turn: MonotonicTime
    ) -> Bool
}

/// Sending, for the ingest thread.
protocol PassedOutput: CodedOutput {
    /// Sends a coded unit, or queues a copy until its turn. It never waits for a turn: at most for whoever holds the
    /// lock to finish what they send. One thread at a time delivers, in decoding order.
    /// - Parameters:
    ///   - bytes: borrowed for the call.
    ///   - ticket: ends when the unit has left.
    ///   - encoded: when the unit was there.
    func deliver(
        _ bytes: RawSpan, _ unit: CodedUnit, _ ticket: consuming FrameTicket, encoded: MonotonicTime, _ source: SourceTime)

    /// Whether viewers of calls get the source's own pictures beside the encoder's, or wait for them. Costs an atomic load.
    var sendsToViewers: Bool { get }

    /// Sends one of the source's own pictures at once to those viewers, on the caller's thread. Nothing happens where a mask is set.
    /// - Parameters:
    ///   - bytes: borrowed for the call.
    ///   - source: when it was sent, or else when it came.
    func sendToViewers(_ bytes: RawSpan, _ unit: CodedUnit, source: MonotonicTime)

    /// Whether receivers of calls are among those that it sends to.
    var feedsCalls: Bool { get }
    /// Whether any output is a multiplex, which other programs can go out in.
    var takesOtherPrograms: Bool { get }

    /// Learns what the source's multiplex holds beside the program, at once: the packets that come next may use packet identifiers
    /// that were the program's own.
    /// - Parameter multiplex: nil where it holds nothing else.
    func adopt(_ multiplex: Multiplex?)

    /// Sends packets of other programs at once, on the caller's thread: no picture, deadline or queue holds them up.
    /// - Parameters:
    ///   - packets: one to seven; borrowed for the call.
    ///   - arrival: when they came.
    ///   - source: when they were sent, or else when they came.
    /// - Returns: whether a receiver got all of them.
    func pass(_ packets: RawSpan, arrival: MonotonicTime, source: MonotonicTime) -> Bool
}
