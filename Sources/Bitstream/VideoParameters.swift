import Media

/// What a stream's headers say of its pictures before anything is decoded, in any coded format.
public struct VideoParameters: Hashable, Sendable {
    public var codec: VideoCodec
    /// After cropping.
    public var size: PictureSize
    /// False when pictures may consist of two fields.
    public var isProgressive = true
    /// How many pictures may come out later than a picture that follows them in the stream; nil where the stream does not
    /// say.
    public var reordering: Int?
    /// Pictures a second, as the stream has it; nil without any or with an absurd one.
    public var frameRate: Rational?
    public var color = ColorDescription()
    /// Bits of a luma sample.
    public var bitDepth = 8
    /// `chroma_format_idc`: 0 for grey, 1 for 4:2:0, 2 for 4:2:2, 3 for 4:4:4.
    public var chromaFormat = 1

    /// The format's own number of the profile, and for H.264 in bit 8 whether it is a constrained one (`constraint_set1_flag`); nil
    /// where the headers do not say. The level likewise.
    public var profile: UInt16?
    public var level: UInt8?

    public init(codec: VideoCodec, size: PictureSize) {
        self.codec = codec
        self.size = size
    }

    /// The largest width or height that is accepted for a picture.
    static let largestSide = 16_384

    /// - Throws: `absurdSize` for a picture that is empty or larger than any level allows.
    static func checked(width: Int, height: Int) throws(BitstreamFault) -> PictureSize {
        guard width > 0, height > 0, width <= largestSide, height <= largestSide else {
            throw .absurdSize(width: width, height: height)
        }
        return PictureSize(width: width, height: height)
    }
}
