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
    /// Damaged packets and unreadable parts of the file.
    public var damagedPackets = 0
    /// How often the time stamps went back.
    public var timelineJumps = 0
    /// How many tiles of all pictures a network computed, and how many were copied from the picture before.
    public var tilesComputed = 0
    public var tilesReused = 0
    /// Milliseconds for one picture in each stage: reading and decoding, enlarging, synthesising, and encoding and writing.
    public var decode: Quantiles
    /// nil where noise was left.
    public var denoise: Denoising?
    public var enlarge: Quantiles
    public var synthesise: Quantiles
    public var encode: Quantiles
    public var seconds = 0.0
}
