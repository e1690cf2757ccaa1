import Container
import Media
import Telemetry

/// What ``SendStage`` has to know of a coded unit beside its bytes, whoever delivers it.
struct CodedUnit: Sendable {
    var presentation, decode: MediaTime
    /// Whether a receiver can begin with it.
    var isKeyframe: Bool
    /// Its stream has no pictures that a receiver could wait for, so that receivers begin with any.
    var beginsAnywhere = false
    /// The number of the layout that it belongs to (``PassingStreams/numberedLayout``); nil for the one that
    /// ``SendStage/prepare()`` recorded last.
    var layoutNumber: Int?
    /// The video stream that it belongs to, as the program map has it.
    var video = TransportStreamLayout.Video.h264
    /// False for a unit that came without time stamps of its own. Its times are derived, and are not sent.
    var isTimed = true
    /// What becomes of its frame when the unit has gone out.
    var fate = FrameFate.emitted
}

/// What the source time that goes out with a picture is made from.
enum SourceTime {
    /// The picture's own time, so that its cadence is restored.
    case turn(MonotonicTime)
    /// The time of the picture that a repeated one stands for.
    case repeated(MonotonicTime)
    /// A repeated picture for a slot that is overdue: it leaves now.
    case overdue(MonotonicTime)
}
