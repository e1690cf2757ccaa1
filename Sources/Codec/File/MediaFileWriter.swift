import CFFmpeg
import Media

/// Writes pictures to a file. A `.y4m` file is uncompressed. A `.png`, `.jpg` or `.jpeg` file holds one picture. Any other name
/// chooses a container of libavformat's, with H.264 (libx264) and, where asked for, all else of another file: sound, subtitles,
/// data, chapters, attachments and tags.
///
/// Confined to one thread at a time. Call ``finish()`` at the end: without it the file has no index and may be
/// unreadable.
@safe public final class MediaFileWriter {
    public struct Settings: Hashable, Sendable {
        /// x264's constant rate factor, 0…51.
        public var quality = 18.0
        public var preset = EncoderPreset.veryfast
        public var threads = 2
        /// How many times longer what is kept of another file takes. Above 1 its sound is left out.
        public var slowness = 1
        /// Whether what may show pictures is left out of what is kept of another file: further video, covers and the like.
        public var leavesOutPictures = false

        public init() {}
    }

    private enum Target {
        case uncompressed(Y4MWriter)
        case picture(PictureFileWriter)
        case container(EncodedFileWriter)
    }
    private let target: Target

    /// Whether transparent samples are written.
    public var holdsTransparency: Bool {
        if case .picture(let writer) = target { writer.holdsTransparency } else { false }
    }

    /// Whether what pictures carry for viewers is written.
    public var holdsUserData: Bool { if case .container = target { true } else { false } }

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
        if path == "-" || path.lowercased().hasSuffix(".y4m") {
            target = .uncompressed(try Y4MWriter(path: path, video: video))
        } else if let kind = PictureFileWriter.Kind(path: path) {
            target = .picture(try PictureFileWriter(kind, path: path, video: video))
        } else {
            target = .container(
                try EncodedFileWriter(path: path, video: video, keeping: reader, settings: settings, notice: notice))
            return
        }
        if let reader, let loss = PassedContents(of: reader, in: nil, path: path).loss { notice(loss) }
    }

    /// Writes the next picture in presentation order.
    /// - Parameters:
    ///   - time: when it is shown, in the video's time base; later than the one before. Uncompressed files have no times.
    ///   - transparency: from 0 (clear) to 255 for each sample, where the file holds it; nil where all are opaque.
    ///   - userData: what viewers get beside the samples, in coded files.
    public func write(
        _ picture: PictureView, at time: Int64, transparency: PlaneView? = nil, carrying userData: PictureUserData? = nil
    ) throws(CodecError) {
        switch target {
        case .uncompressed(let writer): unsafe try writer.write(picture)
        case .picture(let writer): unsafe try writer.write(picture, transparency: transparency)
        case .container(let writer): unsafe try writer.write(picture, at: time, carrying: userData)
        }
    }

    /// Copies a packet; does nothing where the file does not hold its stream.
    public func write(_ packet: consuming CodedPacket) throws(CodecError) {
        guard case .container(let writer) = target else { return }
        try writer.write(packet)
    }

    /// Completes the file.
    public func finish() throws(CodecError) {
        if case .container(let writer) = target { try writer.finish() }
    }
}
