import Telemetry

/// The counts and times of the work on a file. Times are in milliseconds.
public struct FileEnhancementReport: Codable, Sendable {
    public var picturesIn = 0
    public var picturesOut = 0
    public var synthesised = 0
    /// Pictures that were dropped because their time was not after that of the picture before.
    public var picturesLeftOut = 0
    /// Interlaced pictures that were made progressive.
    public var picturesDeinterlaced = 0
    /// Pictures of which not all bits, or not all samples of chroma, were kept.
    public var picturesConverted = 0
    /// Pieces of captions, without padding, that were written with pictures, and that the output could not hold.
    public var captionsPassed = 0
    public var captionsDropped = 0
    /// Whether the input was cut off: what came of it was written.
    public var isCutOff = false
    /// Damaged packets and unreadable parts of the file.
    public var damagedPackets = 0
    /// How often the time stamps went back.
    public var timelineJumps = 0
    /// How many tiles of all pictures a network computed, and how many were copied from the picture before.
    public var tilesComputed = 0
    public var tilesReused = 0
    /// Milliseconds for one picture in each stage: reading and decoding, deinterlacing, enlarging, synthesising, and encoding and
    /// writing.
    public var decode: Quantiles
    public var deinterlace: Quantiles
    /// nil where noise was left.
    public var denoise: Denoising?
    public var enlarge: Quantiles
    public var synthesise: Quantiles
    public var encode: Quantiles
    /// Milliseconds of each stage for all pictures together.
    public var totals: StageTotals
    public var seconds = 0.0
}

/// The time that each stage took for a whole file, in milliseconds.
public struct StageTotals: Codable, Hashable, Sendable {
    public var decode = 0.0
    public var deinterlace = 0.0
    public var denoise = 0.0
    public var enlarge = 0.0
    public var synthesise = 0.0
    public var compare = 0.0
    public var encode = 0.0
}
