import Bitstream
import Codec
import Media

/// What a ``PastRing`` knows of a coded unit beside its bytes. Plain memory.
struct PastUnit: Sendable, BitwiseCopyable {
    /// Counts the units that the ring was given, from 0.
    var number: UInt64 = 0
    /// The number of a picture's frame in records and traces; 0 for what is no picture.
    var frame: UInt64 = 0
    var presentation: MediaTime
    var decode: MediaTime
    /// When it had come (input), or had left (output).
    var time: MonotonicTime
    /// The RTP time stamp that it came with; nil where it came without.
    var rtp: UInt32?
    /// Its index among the program's passing streams; nil for the video.
    var stream: Int32?
    /// A picture's format; nil for what is no picture.
    var codec: VideoCodec?
    var flags: UnitFlags = []
    /// A decoder can begin with it.
    var isEntry = false
    /// Its times are its own, and are written where it is written.
    var isTimed = true
    /// The number of the mask that its picture has.
    var maskNumber = 0
    /// The number of its layout (``PastRing/add(_:)``).
    var layout = 0
    /// So many of its bytes stand before the unit: parameter sets of an entry point, the PES header of a passing unit.
    var headCount = 0
    /// With those.
    var byteCount = 0
    /// Where they lie.
    var offset = 0

    init(presentation: MediaTime, decode: MediaTime, time: MonotonicTime) {
        (self.presentation, self.decode, self.time) = (presentation, decode, time)
    }

    var isPicture: Bool { stream == nil }
}
