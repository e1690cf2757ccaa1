import Bitstream

/// What a transport stream turned out to be, for a report to a person or a decision after some seconds.
public enum StreamDiagnosis: Hashable, Sendable {
    /// No transport packets in the bytes.
    case noPackets
    /// No program association table.
    case noAssociation
    /// No program map table.
    case noMap
    /// Tables came, but each with another content and a wrong checksum or an impossible length.
    case brokenTables
    /// The program has these streams only.
    case noVideo(streams: [StreamCodec])
    /// Video, but none that can be decoded.
    case unsupportedVideo(StreamCodec)
    /// Video that could be decoded, but encrypted: nothing of it can be read.
    case scrambled
    /// Video without a readable parameter set so far.
    case noParameters
    /// Of a call: other tracks have come, and no packet of its video.
    case silentVideo
    /// Of a call: packets of its video have come, and no whole keyframe.
    case noKeyframe
    /// The parameter sets make no sense.
    case unusableVideo(BitstreamFault)
    case video(VideoParameters)
}
