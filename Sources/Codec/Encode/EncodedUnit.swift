import Media

/// The coded bytes of one picture, borrowed from the encoder for the length of a call.
@unsafe public struct EncodedUnit: ~Copyable {
    /// Annex B: access unit delimiter, parameter sets before keyframes, slices. Not valid after the call.
    public let bytes: UnsafeRawBufferPointer
    /// The number that the caller gave the picture.
    public let id: Int64
    public let presentationTime: MediaTime
    public let decodeTime: MediaTime
    public let isKeyframe: Bool
    /// The picture's mean luma quantiser (0…51); nil where the encoder does not tell it.
    public let quantiser: Float?
}
