/// Why no picture came of an access unit.
///
/// This is the module's only description of faults in coded data. Each is reported once, as a ``DecoderOutput``. The
/// module keeps no counts: who wants them counts the outputs. What makes a codec unusable is a ``CodecError``.
public enum CodecFault: Hashable, Sendable, BitwiseCopyable {
    /// It precedes the first keyframe.
    case awaitingKeyframe
    /// libavcodec could make no picture of it, or dropped it as out of order.
    case undecodable
    /// It is the second field of a picture, which came out with the unit before.
    case secondField
    /// It only stores a picture for later units and shows none.
    case hidden
    /// No other picture refers to it, and the decoder was told to skip such units.
    case skipped
}
