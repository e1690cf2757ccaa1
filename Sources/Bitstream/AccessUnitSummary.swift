/// What a decoder must know of an access unit before it decodes it.
public struct AccessUnitSummary: Equatable, Sendable {
    /// A slice of a coded picture was found.
    public var hasSlice = false
    /// The picture is a refresh: no later picture refers to one before it.
    public var isRefresh = false
    /// Later pictures may refer to this one.
    public var isReference = false
    /// Reference pictures before it are missing.
    public var followsGap = false
    /// After how many frames the pictures are right again, where the unit says so: H.264's and HEVC's recovery point
    /// message. 0 for a picture of which those that are shown later need no earlier one, as with an open group of pictures.
    public var recoveryFrameCount: Int?
    /// Whether the picture is shown before the entry point that it follows, and may refer to pictures before that; nil where only
    /// the times tell.
    public var leads: Bool?
    /// The picture is one field, and the other field is another unit.
    public var isField = false
    /// It cannot be decoded, because nothing that it refers to has come since decoding began: it precedes the first entry
    /// point, or refers to pictures from before it.
    public var precedesEntryPoint = false
    /// The unit shows no picture of its own: it only stores one for later units.
    public var isHidden = false
    /// MPEG-1 and MPEG-2: the place of the picture in the order of its group's display (`temporal_reference`, 0…1023).
    public var displayPlace: Int?
    /// MPEG-1 and MPEG-2: a group of pictures begins with the unit, so places count from 0 again.
    public var beginsGroup = false
    /// The luma quantiser of the picture in H.264's scale (0…51), as its first slice or frame header has it; nil where the
    /// headers do not say.
    public var quantiser: Float?

    /// Decoding can start at this picture: it and all that are shown later need no earlier ones.
    public var isCleanStart: Bool { isRefresh || recoveryFrameCount == 0 }

    public init() {}
}
