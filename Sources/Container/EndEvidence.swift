/// How the end of a unit was known.
public enum EndEvidence: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// The PES packet's own length was reached.
    case length
    /// The last transport packet was stuffed. This stream stuffs at the end of a unit and nowhere else.
    case stuffing
    /// The sender flushed a short message after it. This sender does so at the end of a unit and nowhere else.
    case flush
    /// The sender flushed a short message after it, and then nothing followed for longer than this stream ever pauses
    /// inside a unit. Or nothing followed a marked RTP packet of a sender whose markers are not proven.
    case timer
    /// An access unit delimiter, or another NAL unit that begins an access unit, followed inside the PES packet or with
    /// the same RTP time stamp.
    case delimiter
    /// The RTP packet is marked as the last one of a picture.
    case marker
    /// The next PES packet, or a packet with another RTP time stamp, began.
    case nextStart
    /// The stream ended or was restarted.
    case endOfStream
}
