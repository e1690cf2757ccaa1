import CFFmpeg
import Media

/// Writes pictures to a file. A `.y4m` file is uncompressed. A `.png`, `.jpg` or `.jpeg` file holds one picture. Any other name
/// chooses a container of libavformat's, with H.264 or HEVC (libx264, libx265) and, where asked for, all else of another file: sound, subtitles,
/// data, chapters, attachments and tags.
///
/// Confined to one thread at a time. Call ``finish()`` at the end: without it the file has no index and may be
/// unreadable.
@safe public final class MediaFileWriter {
    public struct Settings: Hashable, Sendable {
        public var codec = OutputCodec.h264
        /// The constant rate factor of x264 or x265, 0…51.
        public var quality = 18.0
        public var preset = EncoderPreset.veryfast
        public var threads = 2
        /// How many times longer what is kept of another file takes.
        public var slowness = 1
        /// Whether sound is stretched at its pitch where ``slowness`` is above 1; else it is left out there.
        public var stretchesSound = false
        /// Whether what may show pictures is left out of what is kept of another file: further video, covers and the like.
        public var leavesOutPictures = false
        /// What pictures are made from, and how, where what is finished is kept for another run of the same: in a file with the
        /// output's name and `.resume`, for coded files.
        public var source: String?

        public init() {}
    }

    private enum Target {
        case uncompressed(Y4MWriter)
        case picture(PictureFileWriter)
        case container(EncodedFileWriter)
    }
    private let target: Target
    private let newFile: NewFile
    /// Whether one was written that is not coded.
    private var hasPictures = false

    /// Whether transparent samples are written.
    public var holdsTransparency: Bool {
        if case .picture(let writer) = target { writer.holdsTransparency } else { false }
    }

    /// Whether what pictures carry for viewers is written.
    public var holdsUserData: Bool { if case .container = target { true } else { false } }

    /// Pictures before this time are there from a run before: ``keep(until:)`` writes them. nil where there are none.
    public var keptUntil: Int64? { if case .container(let writer) = target { writer.keptUntil } else { nil } }
    /// The number that the first other one had.
    public var keptNumber: Int64 { if case .container(let writer) = target { writer.keptNumber } else { 0 } }

    /// The file beside an output that has what is finished.
    public static func resumePath(of path: String) -> String { path + ".resume" }
    /// Whether what is finished can be kept for an output.
    public static func canResume(_ path: String) -> Bool {
        path != "-" && !path.lowercased().hasSuffix(".y4m") && PictureFileWriter.Kind(path: path) == nil
    }
    /// Whether the file beside an output says that it is complete, of the same source.
    public static func isFinished(_ path: String, source: String) -> Bool {
        ResumeFile.isFinished(resumePath(of: path), source: source)
    }

    /// - Parameters:
    ///   - path: its extension chooses the container; `-` is uncompressed on standard output.
    ///   - video: times given to ``write(_:at:)`` are in its time base.
    ///   - reader: a file of which everything but the pictures is kept, as far as the output can hold it. Its packets are given to
    ///     ``write(_:)``.
    ///   - notice: called with a line for people where it cannot.
    /// - Throws: `cannotOpen`, `unsupportedCodec` when the container is unknown or cannot hold the streams,
    ///   `unsupportedFormat` for a size that the codec cannot do.
    public init(
        path: String, video: FileVideo, keeping reader: FileReader? = nil, settings: Settings = Settings(),
        notice: @escaping (String) -> Void = { _ in }
    ) throws(CodecError) {
        LibraryLog.capture()
        let newFile = NewFile(path)
        self.newFile = newFile
        do throws(CodecError) {
            if path == "-" || path.lowercased().hasSuffix(".y4m") {
                target = .uncompressed(try Y4MWriter(path: path, video: video))
            } else if let kind = PictureFileWriter.Kind(path: path) {
                target = .picture(try PictureFileWriter(kind, path: path, video: video))
            } else {
                target = .container(
                    try EncodedFileWriter(path: path, video: video, keeping: reader, settings: settings, notice: notice))
                return
            }
        } catch {
            newFile.remove()
            throw error
        }
        guard let reader else { return }
        let contents = PassedContents(of: reader, in: nil, path: path)
        for line in [contents.loss, contents.unknown].compactMap({ $0 }) { notice(line) }
    }

    /// Writes the next picture in presentation order.
    /// - Parameters:
    ///   - time: when it is shown, in the video's time base; later than the one before. Uncompressed files have no times.
    ///   - transparency: from 0 (clear) to 255 for each sample, where the file holds it; nil where all are opaque.
    ///   - userData: what viewers get beside the samples, in coded files.
    ///   - number: of the input's picture that it was made from, for ``keptNumber``.
    public func write(
        _ picture: PictureView, at time: Int64, transparency: PlaneView? = nil, carrying userData: PictureUserData? = nil,
        number: Int64 = 0
    ) throws(CodecError) {
        switch target {
        case .uncompressed(let writer): unsafe try writer.write(picture)
        case .picture(let writer): unsafe try writer.write(picture, transparency: transparency)
        case .container(let writer): unsafe try writer.write(picture, at: time, carrying: userData, number: number)
        }
        hasPictures = true
    }

    /// Writes the pictures that are there from a run before.
    /// - Parameter time: those that are decoded later may wait.
    public func keep(until time: Int64) throws(CodecError) {
        if case .container(let writer) = target { try writer.keep(until: time) }
    }

    /// Copies a packet; does nothing where the file does not hold its stream.
    public func write(_ packet: consuming CodedPacket) throws(CodecError) {
        guard case .container(let writer) = target else { return }
        try writer.write(packet)
    }

    /// What follows is not kept for another run: it is made without knowing what comes after it.
    public func stopKeeping() { if case .container(let writer) = target { writer.stopsKeeping = true } }

    /// Completes the file. One that is new and has no picture is removed.
    /// - Parameter isWhole: all pictures are there. Else what is finished is kept, where it was asked for.
    public func finish(isWhole: Bool = true) throws(CodecError) {
        guard case .container(let writer) = target else {
            if !hasPictures { newFile.remove() }
            return
        }
        defer { if !writer.hasPictures { newFile.remove() } }
        try writer.finish(isWhole: isWhole)
    }
}
