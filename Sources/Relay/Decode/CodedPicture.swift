import Codec
import Media
import Telemetry

/// One access unit of the main video on its way to the decoder.
struct CodedPicture: ~Copyable, Sendable {
    var ticket: FrameTicket
    let buffer: UnitBuffer
    let flags: UnitFlags
    let isKeyframe: Bool

    /// The ticket alone; the caller recycles the buffer.
    consuming func intoTicket() -> FrameTicket { ticket }
}
