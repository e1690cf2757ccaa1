import CFFmpeg

/// What a container of libavformat's holds beside H.264. libavformat itself does not say all of it.
@safe struct ContainerContents {
    enum Family {
        /// MP4, QuickTime and their kin.
        case mov
        case matroska
        case transportStream
        case other
    }

    let family: Family
    private let format: UnsafePointer<AVOutputFormat>
    private let isQuickTime: Bool

    init(_ format: UnsafePointer<AVOutputFormat>) {
        unsafe self.format = format
        let name = unsafe String(cString: format.pointee.name)
        isQuickTime = name == "mov"
        family =
            switch name {
            case "mp4", "mov", "ipod", "3gp", "3g2", "psp", "f4v", "ismv": .mov
            case "matroska": .matroska
            case "mpegts": .transportStream
            default: .other
            }
    }

    /// Those of Matroska, which holds most.
    static var matroska: ContainerContents? {
        guard let format = unsafe av_guess_format("matroska", nil, nil) else { return nil }
        return unsafe ContainerContents(format)
    }

    /// - Parameter hasTimecode: the tags of the video name its time code.
    func holds(_ stream: PassedStream, hasTimecode: Bool = false) -> Bool {
        switch stream.kind {
        case .sound: holds(stream.codec) ?? true
        case .subtitles, .video: holds(stream.codec) ?? false
        case .data:
            // libavformat writes data that it cannot tell apart as a camera's telemetry (`gpmd`).
            holds(stream.codec) == true
                && (family != .mov || stream.codec != AV_CODEC_ID_BIN_DATA || stream.tag == 0x646D_7067)
        case .timecode: hasTimecode && (family == .mov || family == .matroska)
        case .cover:
            switch family {
            case .mov: !isQuickTime && [AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG, AV_CODEC_ID_BMP].contains(stream.codec)
            case .matroska: Self.imageType(stream.codec) != nil
            case .transportStream, .other: false
            }
        case .attachment: family == .matroska
        case .thumbnails: false
        }
    }

    /// The format in which it holds text subtitles that it does not hold as they are; nil where it holds them, or none.
    func format(for stream: PassedStream) -> AVCodecID? {
        stream.kind == .subtitles && !holds(stream) ? TextSubtitles.format(in: family, for: stream.codec) : nil
    }

    var holdsStretchedSound: Bool { holds(StretchedSound.codec) == true }
    var holdsChapters: Bool { family == .mov || family == .matroska }

    /// Nil where nobody knows.
    func holds(_ codec: AVCodecID) -> Bool? {
        if family == .transportStream { return Self.transported.contains(codec.rawValue) }
        let answer = unsafe avformat_query_codec(format, codec, FF_COMPLIANCE_NORMAL)
        return answer < 0 ? nil : answer != 0
    }

    /// Whether a tag of the file is kept, by its key in small letters.
    func holds(tag: String) -> Bool {
        if Self.ownTags.contains(tag) { return true }
        switch family {
        case .matroska: return true
        case .mov:
            // A language may stand behind it.
            let key = tag.split(separator: "-").first.map(String.init) ?? tag
            return (isQuickTime ? Self.quickTimeTags : Self.mp4Tags).contains(key)
        case .transportStream: return ["service_name", "service_provider"].contains(tag)
        case .other: return false
        }
    }

    /// A language's code as the container spells it. libavformat knows QuickTime's languages by these (isom.c,
    /// `mov_mdhd_language_map`), and writes none for any other code.
    func spelled(language: String) -> String {
        isQuickTime ? Self.quickTimeLanguages[language] ?? language : language
    }

    private static let quickTimeLanguages = [
        "deu": "ger", "fre": "fra", "nld": "dut", "swe": "sve", "ell": "gre", "isl": "ice", "zho": "chi", "gle": "iri",
        "sqi": "alb", "mkd": "mac", "hye": "arm", "kat": "geo", "rum": "ron", "cze": "ces", "slo": "slk",
    ]

    /// What every file says of itself.
    static let ownTags: Set = ["encoder", "major_brand", "minor_version", "compatible_brands", "duration"]

    /// libavformat's movenc.c, `mov_write_ilst_tag`.
    private static let mp4Tags: Set = [
        "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
        "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "episode_sort", "season_number",
        "media_type", "hd_video", "gapless_playback", "compilation", "disc", "track", "location", "creation_time", "timecode",
    ]
    /// The same file, `mov_write_udta_tag`.
    private static let quickTimeTags: Set = [
        "title", "artist", "author", "album", "date", "comment", "genre", "copyright", "make", "model", "location",
        "creation_time", "timecode",
    ]

    /// libavformat writes others as private data, which nobody can read.
    private static let transported: Set<UInt32> = Set(
        [
            AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,
            AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3,
            AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_OPUS, AV_CODEC_ID_S302M, AV_CODEC_ID_DVB_SUBTITLE,
            AV_CODEC_ID_DVB_TELETEXT, AV_CODEC_ID_HDMV_PGS_SUBTITLE, AV_CODEC_ID_SMPTE_KLV, AV_CODEC_ID_TIMED_ID3,
            AV_CODEC_ID_BIN_DATA,
        ].map(\.rawValue))

    /// What a picture's file is called, and its media type.
    static func imageType(_ codec: AVCodecID) -> (name: String, type: String)? {
        switch codec {
        case AV_CODEC_ID_MJPEG: ("cover.jpg", "image/jpeg")
        case AV_CODEC_ID_PNG: ("cover.png", "image/png")
        case AV_CODEC_ID_BMP: ("cover.bmp", "image/bmp")
        case AV_CODEC_ID_GIF: ("cover.gif", "image/gif")
        default: nil
        }
    }
}
