import CFFmpeg

/// A stream of a file that goes to another file as it is: everything but the pictures that are enhanced.
struct PassedStream {
    enum Kind {
        case sound
        case subtitles
        case video
        case data
        /// A time code as a track of its own. Muxers make it from the video's tag.
        case timecode
        /// One coded picture, which stands for the whole file.
        case cover
        /// Pictures of chapters.
        case thumbnails
        /// A file within the file, such as a font.
        case attachment
    }

    /// The container's number of the stream.
    let index: Int
    let kind: Kind
    let codec: AVCodecID
    /// How the container names the format.
    let tag: UInt32
    private let isFont: Bool
    /// The file ended, or was searched no further, before it said what a muxer has to know.
    let isUnknown: Bool
    /// For people, as `subtitles 3 (subrip, eng)`.
    let name: String

    /// Nil where the stream has nothing of its own: the titles of chapters, which are read as chapters.
    init?(_ stream: UnsafeMutablePointer<AVStream>) {
        let parameters = unsafe stream.pointee.codecpar!
        index = unsafe Int(stream.pointee.index)
        codec = unsafe parameters.pointee.codec_id
        tag = unsafe parameters.pointee.codec_tag
        let disposition = unsafe stream.pointee.disposition
        let word: String
        switch unsafe parameters.pointee.codec_type {
        case AVMEDIA_TYPE_AUDIO: (kind, word) = (.sound, "sound")
        case AVMEDIA_TYPE_SUBTITLE: (kind, word) = (.subtitles, "subtitles")
        case AVMEDIA_TYPE_ATTACHMENT: (kind, word) = (.attachment, "the attachment")
        case AVMEDIA_TYPE_VIDEO where disposition & Int32(AV_DISPOSITION_TIMED_THUMBNAILS) != 0:
            (kind, word) = (.thumbnails, "pictures of chapters")
        case AVMEDIA_TYPE_VIDEO where disposition & Int32(AV_DISPOSITION_ATTACHED_PIC) != 0:
            (kind, word) = (.cover, "the cover")
        case AVMEDIA_TYPE_VIDEO: (kind, word) = (.video, "video")
        default:
            // libavformat leaves a chapter track out by itself.
            if unsafe stream.pointee.discard == AVDISCARD_ALL { return nil }
            (kind, word) = tag == Self.timecodeTag ? (.timecode, "time code") : (.data, "data")
        }
        let (rate, channels) = unsafe (parameters.pointee.sample_rate, parameters.pointee.ch_layout.nb_channels)
        let (width, height) = unsafe (parameters.pointee.width, parameters.pointee.height)
        isUnknown =
            kind == .sound && (rate <= 0 || channels <= 0)
            || kind == .video && (width <= 0 || height <= 0)
        let tags = unsafe FileTags(stream.pointee.metadata)
        let media = tags["mimetype"] ?? ""
        isFont =
            codec == AV_CODEC_ID_TTF || codec == AV_CODEC_ID_OTF || media.hasPrefix("font/")
            || ["application/x-truetype-font", "application/x-font", "application/vnd.ms-opentype"].contains(media)
        let format = codec == AV_CODEC_ID_NONE ? "unknown" : unsafe String(cString: avcodec_get_name(codec))
        if kind == .attachment, let file = tags["filename"] {
            name = "\(word) \(file)"
        } else {
            let said = [format, tags["language"].flatMap { $0 == "und" ? nil : $0 }].compactMap { $0 }
            name = "\(word) \(index) (\(said.joined(separator: ", ")))"
        }
    }

    /// `tmcd`.
    private static let timecodeTag: UInt32 = 0x6463_6D74

    /// Whether packets of it come from the file while that is read.
    var hasPackets: Bool {
        switch kind {
        case .sound, .subtitles, .video, .data: true
        case .timecode, .cover, .thumbnails, .attachment: false
        }
    }

    /// Whether people may see pictures in it.
    var mayShowPictures: Bool {
        switch kind {
        case .video, .cover, .thumbnails: true
        case .attachment: !isFont
        case .sound, .subtitles, .data, .timecode: false
        }
    }

    /// Whether it has gaps, and packets of one time.
    var isSparse: Bool { kind == .subtitles || kind == .data }
}

/// The tags of a file, a stream or a chapter.
struct FileTags {
    private(set) var pairs: [(key: String, value: String)] = []

    @unsafe init(_ dictionary: OpaquePointer?) {
        var entry: UnsafeMutablePointer<AVDictionaryEntry>?
        while let next = unsafe av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX) {
            unsafe pairs.append((String(cString: next.pointee.key), String(cString: next.pointee.value)))
            unsafe entry = next
        }
    }

    subscript(key: String) -> String? { pairs.first { $0.key.lowercased() == key }?.value }

    /// Adds them to a dictionary of libavutil's, where `body` says so.
    @unsafe func add(to dictionary: inout OpaquePointer?, where body: (String) -> Bool = { _ in true }) {
        for (key, value) in pairs where body(key.lowercased()) { unsafe av_dict_set(&dictionary, key, value, 0) }
    }
}
