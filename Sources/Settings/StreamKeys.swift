import Media
import Schedule

/// The table of a stream's settings. The configuration file, the API, the page, the messages between supervisor and worker,
/// and the documentation all follow it.
public enum StreamKeys {
    /// Settings that mean nothing without the service's API, so the command line has no option for them.
    public static let needingAPI: Set<String> = ["past", "past-memory", "reactions"]

    /// Every setting, in the order of the documentation.
    public static let all: [StreamKey] = [
        .choice(
            "scale", \.options.scale, StreamOptions.Scale.allCases.map { ($0.rawValue, $0) }, .restart,
            help: """
                How many times wider and higher pictures leave. Where the machine is too slow for it, they leave smaller. fit is as \
                large as the machine carries, up to 2, for files too.
                """),
        StreamKey(
            "size", \.options.size, or: "scale", .restart, .size,
            "an even width and height from 16x16 up to 139264 blocks of 16x16 (H.264's level 6.2), as 1280x720",
            help: """
                The exact size of the output, in place of `scale`. The picture keeps its shape: where width and height are not in \
                proportion to the input's, the samples are no squares.
                """,
            read: SizeText.read, write: SizeText.write,
            isAllowed: { $0.width % 2 == 0 && $0.height % 2 == 0 && StreamOptions.isCodable($0) }),
        .choice(
            "mode", \.settings.mode, StreamSettings.Mode.allCases.map { ($0.rawValue, $0) }, .live,
            help: """
                bypass sends the input's pictures as they came. It begins and ends at a picture at which a decoder can begin, and \
                loses and repeats none.
                """),
        .choice(
            "tier", \.settings.tier, [("auto", .usual)] + Tier.allCases.map { ($0.name, $0) }, .live,
            help:
                "The best super-resolution tier that may be used. auto is neural-m. quality takes seven to ten times as long: where there is time."
        ),
        .choice(
            "content", \.settings.content, StreamSettings.Content.allCases.map { ($0.rawValue, $0) }, .live,
            help: """
                What the networks are trained for: general is any video; calls is pictures that were coded coarsely, as in \
                calls at 100 to 500 kbit/s, for which neural-m takes a third more time. auto follows how coarsely the pictures are coded.
                """),
        .number(
            "sharpness", \.settings.steps.sharpness, 0...1, .live,
            help: "How much to sharpen pictures that are enlarged: 0 (not at all) to 1."),
        StreamKey(
            "crop", \.settings.steps.crop, or: "off", .live, .text(example: "50%x50%+10%+0%"),
            "a part of at least 16x16 as 320x180, 320x180+100+40 (from left and top), or in per cent as 50%x50%+10%+0%",
            help: """
                Show a part of the picture at the whole's size, from the middle where no place is given. A part of another shape \
                is stretched.
                """,
            read: StepSettings.Crop.init, write: \.description),
        StreamKey(
            "mask", \.settings.steps.mask, or: "off", .live,
            .text(example: "30%x20%+10%+5%:pixelate=16,20%x20%+70%+70%:fill=black"),
            "up to \(PrivacyMask.mostAreas) areas as 30%x20%+10%+5%:pixelate=16 (from left and top), with blur=16 or fill=black",
            help: """
                Areas that nobody is to recognise, of the whole picture as people see it. No picture leaves without them, so none \
                goes out as it came.
                """,
            read: { try? PrivacyMask.read($0)?.get() }, write: \.description,
            complaint: { if case .failure(let fault) = PrivacyMask.read($0) { fault.text } else { nil } }),
        .choice(
            "reactions", \.settings.allowsReactions, [("off", false), ("on", true)], .live,
            help: "Whether the API may let reactions (hearts, confetti …) fly over the pictures."),
        .number(
            "brightness", \.settings.steps.color.brightness, ColorControls.brightnesses, .live,
            help: "What is added to the light of the picture: -1 makes it black, 1 white, 0 leaves it as it is."),
        .number(
            "contrast", \.settings.steps.color.contrast, ColorControls.factors, .live,
            help: "How far values lie from middle grey: 0 is all grey, 1 as they are, 2 twice as far."),
        .number(
            "saturation", \.settings.steps.color.saturation, ColorControls.factors, .live,
            help: "How much colour there is: 0 is none, 1 as it is, 2 twice as much."),
        .number(
            "gamma", \.settings.steps.color.gamma, ColorControls.gammas, .live,
            help: "Makes middle greys brighter (above 1) or darker, and leaves black and white as they are."),
        .number(
            "warmth", \.settings.steps.color.warmth, ColorControls.brightnesses, .live,
            help: "Makes the picture warmer, with more red and less blue (above 0), or colder."),
        StreamKey(
            "lut", \.settings.steps.color.lut, or: "off", .live, .text(example: "/srv/media/film.cube"),
            "the path of a .cube file",
            help: "A table (.cube) of what colours become, before the controls above.",
            read: CubeFile.init, write: \.path),
        StreamKey(
            "overlay", \.settings.steps.overlay, or: "off", .live,
            .text(example: "-2%+3%:size=8%:image=/srv/media/logo.png;+2%-2%:text=%H:%M:%S {stream}"),
            """
            up to \(Overlay.mostItems) items as -2%+3%:size=8%:image=LOGO.png or +2%-2%:text=%H:%M:%S, also with opacity=0.7, from=5s, \
            until=20s, color=white and box=0.5
            """,
            help: "Images and text on the pictures that leave.",
            read: { try? Overlay.read($0)?.get() }, write: \.description,
            complaint: { if case .failure(let fault) = Overlay.read($0) { fault.text } else { nil } }),
        StreamKey(
            "overlay-font", \.settings.steps.overlayFont, .live, .text(example: "/srv/media/Inter.ttf"),
            "the path of a .ttf, .otf or .ttc file", help: "The font of an overlay's text.",
            read: { $0 }, write: { $0 },
            isAllowed: { path in
                path.utf8.count <= 4096 && [".ttf", ".otf", ".ttc"].contains(where: path.lowercased().hasSuffix)
                    && !path.unicodeScalars.contains { $0.properties.generalCategory == .control }
            }),
        StreamKey(
            "denoise", \.settings.steps.denoise, or: "auto", .live, .number(0...1), "0 to 1",
            help: """
                How much noise to take out of pictures before they are enlarged: 0 is none, 1 is for noise with a standard \
                deviation of 25 levels. auto finds it out.
                """,
            read: { Double($0) }, write: { Int(exactly: $0).map { "\($0)" } ?? "\($0)" },
            isAllowed: { (0...1).contains($0) }),
        .choice(
            "hdr", \.settings.hdr, StreamSettings.HDR.allCases.map { ($0.rawValue, $0) }, .live,
            help: """
                HDR pictures (PQ, HLG): sdr makes them SDR with BT.709's colours, pass sends them as they came. auto is sdr.
                """),
        StreamKey(
            "hdr-peak", \.settings.hdrPeak, or: "auto", .live, .number(100...10_000), "100 to 10000",
            help: "The brightest light of PQ pictures in cd/m². auto takes what they say, or else 1000.",
            read: { Double($0) }, write: { Int(exactly: $0).map { "\($0)" } ?? "\($0)" },
            isAllowed: { (100...10_000).contains($0) }),
        StreamKey(
            "max-size", \.options.largestOutput, .restart, .size, "a size from 16x16 to 16384x16384, as 3840x2160",
            help: "The largest picture size to enlarge to. A picture that would become larger leaves at a smaller scale.",
            read: SizeText.read, write: SizeText.write),
        .choice(
            "keep-size", \.options.keepSize, [("true", true), ("false", false)], .restart,
            help:
                "Whether the output keeps its size whatever happens. Then nothing is bypassed, and too much work costs frames."),
        .choice(
            "deinterlace", \.settings.steps.deinterlace, StepSettings.Deinterlacing.allCases.map { ($0.rawValue, $0) }, .live,
            help: "Interlaced pictures: auto makes each one frame, fields makes two, off leaves them as they are."),
        .integer(
            "interpolate", \.settings.interpolate, 1...2, .live,
            help: "Frames out for each frame in. Not with `fps`."),
        StreamKey(
            "fps", \.options.fps, or: "input", .restart, .frameRate,
            "1 to 240 frames a second, as 60, 29.97 or 30000/1001",
            help: "Send at this constant rate, whatever the input's rate is.",
            read: FrameRateText.read, write: FrameRateText.write,
            isAllowed: {
                (1...240).contains($0.value) && max($0.numerator, $0.denominator) <= SlotGrid.largestTerm
            }),
        .choice(
            "keep-output", \.options.keepOutput, [("true", true), ("false", false)], .restart, onCommandLine: "false",
            help: """
                Whether the output goes on when a live source stops: the last frame again, then a grey picture, and silence for \
                sound in AAC, MPEG layer II, AC-3 or Opus.
                """),
        StreamKey(
            "hold", \.options.hold, .restart, .time, "a time, as 5s or 500ms",
            help: """
                With `fps` or `keep-output`: how long to repeat the last frame when the source stops, before a grey picture.
                """,
            read: TimeText.read, write: TimeText.write, isAllowed: { $0 >= .zero }),
        .integer(
            "lookahead", \.options.lookahead, 0...1, .restart,
            help: "1 interpolates between two frames. 0 extrapolates from the past and does not delay the input's frames."),
        StreamKey(
            "past", \.options.past, .restart, .time, "0s to 10m, as 20s",
            help: "How much of what came in and went out is kept in memory.",
            read: TimeText.read, write: TimeText.write, isAllowed: { (.zero...Nanoseconds.seconds(600)).contains($0) }),
        StreamKey(
            "past-memory", \.options.pastMemory, .restart, .text(example: "128MB"), "1MB to 4GB",
            help: "The most memory for `past`.",
            read: MemoryText.read, write: MemoryText.write, isAllowed: { MemoryText.range.contains($0) }),
        StreamKey(
            "record", \.settings.record.pattern, or: "off", .live, .text(example: "/srv/media/{stream}/%Y-%m-%d/%H%M%S.ts"),
            "an absolute path with strftime's time that ends in .ts or .mp4",
            help: "Record what is sent into such files: MPEG-TS, or MP4 in fragments.",
            read: { try? RecordPattern($0) }, write: \.text,
            complaint: { text in
                guard text.hasPrefix("/") else { return nil }
                do throws(RecordPattern.Fault) { _ = try RecordPattern(text) } catch { return error.text }
                return nil
            }),
        StreamKey(
            "record-every", \.settings.record.every, .live, .time, "1s to 10d, as 1h",
            help: "How long a file gets. The next begins at a keyframe.",
            read: LongTimeText.read, write: LongTimeText.write,
            isAllowed: { (Nanoseconds.seconds(1)...Nanoseconds.seconds(864_000)).contains($0) }),
        StreamKey(
            "record-size", \.settings.record.size, or: "off", .live, .text(example: "2GB"), "1MB to 100TB",
            help: "How large a file gets.", read: FileSizeText.read, write: FileSizeText.write,
            isAllowed: { FileSizeText.range.contains($0) }),
        StreamKey(
            "record-keep", \.settings.record.keep, or: "off", .live, .text(example: "7d"), "1m to 3650d",
            help: "Delete files of this pattern that are older.", read: LongTimeText.read, write: LongTimeText.write,
            isAllowed: { (Nanoseconds.seconds(60)...Nanoseconds.seconds(3650 * 86_400)).contains($0) }),
        StreamKey(
            "record-keep-size", \.settings.record.keepSize, or: "off", .live, .text(example: "500GB"), "1MB to 100TB",
            help: "Delete the oldest while they take more together.", read: FileSizeText.read, write: FileSizeText.write,
            isAllowed: { FileSizeText.range.contains($0) }),
        StreamKey(
            "budget", \.settings.budget, .live, .time, "a time longer than 0ms, as 80ms",
            help: """
                The latency that enhancing may add: a frame must be sent within this time after the end of SRT's or RTP's \
                latency window, or after its arrival where there is no window.
                """,
            read: TimeText.read, write: TimeText.write, isAllowed: { $0 > .zero }),
        .number(
            "caution", \.settings.caution, Planner.Weights.cautions, .live,
            help: """
                How many times slower the machine may suddenly become without a late frame of the input. Above 1 there are \
                fewer enhanced tiles and synthesised frames, unless the budget is large.
                """),
        .choice(
            "pacing", \.settings.pacing, StreamSettings.Pacing.allCases.map { ($0.rawValue, $0) }, .live,
            help: "When to send a finished frame: eager is at once; paced is evenly, for receivers without a latency window."),
        StreamKey(
            "bitrate", \.settings.bitRate, or: "auto", .live, .bitRate, "bits a second, as 2.5M or 800k",
            help: "The output video's bit rate. Without one it follows from size, rate and `bits`.",
            read: BitRateText.read, write: BitRateText.write, isAllowed: { $0 > 0 }),
        StreamKey(
            "bits", \.settings.bits, or: "auto", .live, .factor, "0.1x to 100x, as 1.5x",
            help: """
                How many times the input video's bits the output's may have at most. auto is 2x, or no such limit where `bitrate` \
                or `bitrate-floor` is given.
                """,
            read: FactorText.read, write: FactorText.write, isAllowed: { FactorText.range.contains($0) }),
        StreamKey(
            "bitrate-floor", \.settings.bitRateFloor, or: "off", .live, .bitRate, "bits a second, as 1M or 500k",
            help: """
                Let the bit rate follow what SRT links and viewers of calls can take: down to this when one cannot take more, up to \
                `bitrate` when all can.
                """,
            read: BitRateText.read, write: BitRateText.write, isAllowed: { $0 > 0 }),
        .choice(
            "codec", \.options.codec, OutputCodec.allCases.map { ($0.rawValue, $0) }, .restart,
            help: """
                What pictures are encoded as. hevc is H.265, for receivers that are known to take it: it takes some four times the \
                work, and another `bitrate` begins with a keyframe. Not beside outputs that are calls.
                """),
        .choice(
            "preset", \.options.preset, EncoderPreset.allCases.map { ($0.rawValue, $0) }, .restart,
            help: "libx264's preset, or libx265's. quick and careful are our own, each made of the one before."),
        .integer("threads", \.options.threads, threads, .restart, help: "Threads that enhance a frame together."),
        .integer(
            "decode-threads", \.options.decodeThreads, threads, .restart,
            help: "Threads that decode a picture together. Useful where the sender codes pictures in slices."),
        .integer(
            "encode-threads", \.options.encodeThreads, threads, .restart,
            help: "Threads that encode a picture together, one slice each."),
    ]

    private static let threads = 1...16

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    public static func named(_ name: String) -> StreamKey? { byName[name] }

    /// The fault of a key that does not exist, with the nearest that does.
    public static func unknown(_ name: String) -> SettingFault { .unknown(name, among: all.map(\.name)) }
}
