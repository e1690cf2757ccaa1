import Codec
import Media
import Schedule
import Telemetry

/// An enhanced picture on its way out.
struct FinishedFrame: ~Copyable, Sendable {
    var ticket: FrameTicket
    let picture: PictureLease
    let color: ColorDescription
    /// With which it is to be encoded.
    var preset = EncoderPreset.superfast
    var kind = EncodeKind.came
    /// From the original before to this frame's original; zero when it is not known.
    let interval: Nanoseconds
    /// The frame's own time at the source, or else at the relay's input; later where it came early. The output's cadence is
    /// restored from it.
    let turn: MonotonicTime
    /// The time of the original that it shows, whose captions it carries, and the size of that; nil for a picture between originals.
    let original: (presentation: MediaTime, size: PictureSize)?

    consuming func intoTicket() -> FrameTicket { ticket }
}
