import Bitstream
import Codec
import Media
import Telemetry

/// One access unit of the main video on its way to the decoder, or the end of a run of them.
struct CodedPicture: ~Copyable, Sendable {
    /// The ticket's record; nil where there is no ticket.
    let record: FrameRecord?
    /// Nil for a unit that only primes the decoder: its picture goes out by another way. Also nil at the end of a run.
    var ticket: FrameTicket?
    /// Nil at the end of a run: nothing more comes for now, and the decoder has to show what it holds back.
    let buffer: UnitBuffer?
    let codec: VideoCodec
    let flags: UnitFlags
    let isKeyframe: Bool

    init(
        _ ticket: consuming FrameTicket?, _ buffer: UnitBuffer?, codec: VideoCodec = .h264, flags: UnitFlags = [],
        isKeyframe: Bool = false
    ) {
        record = ticket?.record
        self.ticket = ticket
        self.buffer = buffer
        self.codec = codec
        self.flags = flags
        self.isKeyframe = isKeyframe
    }

    /// The ticket alone; the caller recycles the buffer.
    consuming func intoTicket() -> FrameTicket? { ticket }
}
