import Bitstream
import CFFmpeg
import Glibc
import Media

/// Reads a media file of any kind that libavformat knows: its main video as 8-bit 4:2:0 pictures in presentation order,
/// everything else as coded packets to copy. It opens only local files and pipes, whatever a playlist inside asks for.
///
/// Confined to one thread at a time. Not made for the live path: allocates.
@safe public final class FileReader {
    public enum Item: ~Copyable {
        /// A picture, its ``DecodedPicture/id`` counting from 0, and when it is shown, in ``FileVideo/timeBase`` units.
        case picture(DecodedPicture, time: Int64)
        /// Of sound, subtitles, data or another video.
        case passed(CodedPacket)
    }

    /// What the first picture says of its samples, and the file of the rest.
    public private(set) var video: FileVideo
    /// How many audio streams there are.
    public var audioStreamCount: Int { passedStreams.count { $0.kind == .sound } }
    /// How many packets of the video the decoder found damaged so far, and how many stretches of the file could not be
    /// read.
    public private(set) var damagedPackets = 0
    /// Whether the file ends before its end: in the middle of a packet, or sooner than it says. Known when ``next()`` has
    /// returned nil.
    public private(set) var isCutOff = false
    /// How transparent the samples of the picture are that ``next()`` gave last, as luma from 0 (clear) to 255; nil where all of
    /// them are opaque, or nobody asked.
    public private(set) var transparency: Picture?
    /// Whether ``transparency`` is wanted. It costs time where the file's format has it.
    public var readsTransparency: Bool

    /// How often the file's stamps have gone back so far. The times of pictures have not.
    public var jumps: Int { clock.jumps }

    let place: String
    private(set) var format: UnsafeMutablePointer<AVFormatContext>?
    /// All streams but the video, in the container's order.
    let passedStreams: [PassedStream]
    /// Microseconds that are added to all stamps, so that what is read begins at zero.
    let shift: Int64
    /// The part that is read, in seconds.
    let part: FilePart
    /// No picture of the part is left, and nothing else of it.
    private var pastPictures = false
    private var pastAll = false
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private let videoIndex: Int32
    private let needsCopy: Bool
    private let onlyKeyframes: Bool
    /// The format whose quantisers are wanted; nil where none are, or where nothing is known of the format's.
    private let quantised: VideoCodec?
    private var guess = QuantiserGuess()
    private let pool = FramePool()
    private let buffers = PictureBuffers()
    private let conversion: PictureConversion
    private let transparencies = TransparencyReader()
    private var orientation = HeldOrientation()
    /// The file is a photograph of a kind of which libavcodec does not say how it is to be turned.
    private let readsOrientation: Bool
    private var nextID: Int64 = 0
    private var lastTime: Int64?
    private var clock: RecordingClock
    private var ahead = FileLookahead()
    private var ending = FileEnding()
    private let screen = ScreenColors()
    /// Attempts in a row that gave no packet and came no further in the file, and how far they came.
    private var failures = 0
    private var furthest: Int64 = -1
    /// After so many of them the rest of the file is abandoned.
    private static let maximumFailures = 100

    /// Opens a file.
    /// - Parameters:
    ///   - path: a file's path, or `-` for standard input.
    ///   - maximumSamples: files with more luma samples a picture than this are refused.
    ///   - exportsQuantisers: whether pictures say how coarsely they were coded (``DecodedPicture/meanQuantiser``): as the decoder
    ///     says for H.264, MPEG-1 and MPEG-2, estimated from the bytes for HEVC, AV1, VP8 and VP9.
    ///   - readsTransparency: the first value of ``readsTransparency``.
    ///   - part: what is read of it. Its pictures are those of exactly this time, and its times count from its beginning.
    ///   - onlyKeyframes: leave out all other pictures, without decoding them.
    ///   - hdrPeak: the brightest light of PQ pictures in cd/m²; nil: as they say.
    /// - Throws: `cannotOpen`, `noVideo`, `invalidData`, `unsupportedCodec`, `unsupportedFormat`.
    public init(
        path: String, maximumSamples: Int = 16384 * 8704, exportsQuantisers: Bool = false, readsTransparency: Bool = false,
        part: FilePart = FilePart(), onlyKeyframes: Bool = false, hdrPeak: Double? = nil
    ) throws(CodecError) {
        LibraryLog.capture()
        screen.peak = hdrPeak
        place = path == "-" ? "standard input" : path
        self.readsTransparency = readsTransparency
        self.onlyKeyframes = onlyKeyframes
        self.part = part
        unsafe format = try FileOpening.open(path, at: place)
        var format: UnsafeMutablePointer<AVFormatContext>? = unsafe self.format
        var context: UnsafeMutablePointer<AVCodecContext>?
        do throws(CodecError) {
            var codec: UnsafePointer<AVCodec>?
            videoIndex = unsafe try FileOpening.findVideo(
                in: format!, &codec, maximumSamples: maximumSamples, at: place)
            let stream = unsafe format!.pointee.streams[Int(videoIndex)]!
            unsafe video = FileVideo(stream, of: format!)
            let main = videoIndex
            let passed = unsafe (0..<Int(format!.pointee.nb_streams)).filter { $0 != main }.compactMap {
                unsafe PassedStream(format!.pointee.streams[$0]!)
            }
            passedStreams = passed
            for i in 0..<Int(unsafe format!.pointee.nb_streams) where i != videoIndex {
                let isWanted = passed.contains { $0.index == i && $0.hasPackets }
                unsafe format!.pointee.streams[i]!.pointee.discard = isWanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL
            }
            let timed = passed.filter { $0.kind == .sound }.map(\.index) + [Int(videoIndex)]
            let start = unsafe max(0, Self.start(of: timed, in: format!))
            shift = -start - part.start
            clock = RecordingClock(start: start)
            if part.start > 0 { unsafe part.seek(in: format!, stream: stream, from: start) }
            if let count = video.pictureCount { video.pictureCount = part.count(of: count, at: video.frameRate) }
            orientation.ofContainer = unsafe Orientation(stream) ?? .upright
            let id = unsafe codec!.pointee.id
            readsOrientation = [AV_CODEC_ID_PNG, AV_CODEC_ID_WEBP, AV_CODEC_ID_TIFF].contains(id)
            // Formats of live streams have the limited range where they do not say another.
            conversion = PictureConversion(takesGreyAsFull: VideoCodec(id) == nil)
            unsafe context = try check(avcodec_alloc_context3(codec), "avcodec_alloc_context3", at: place)
            unsafe try check(
                avcodec_parameters_to_context(context, stream.pointee.codecpar), "avcodec_parameters_to_context",
                at: place)
            unsafe context!.pointee.pkt_timebase = stream.pointee.time_base
            unsafe context!.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
            unsafe context!.pointee.thread_type = FF_THREAD_SLICE
            unsafe context!.pointee.thread_count = 2
            unsafe context!.pointee.max_pixels = Int64(maximumSamples)
            quantised = exportsQuantisers ? VideoCodec(id) : nil
            if quantised?.hasExportedQuantisers == true {
                unsafe context!.pointee.export_side_data |= AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS
            }
            unsafe buffers.attach(to: context!)
            unsafe try check(avcodec_open2(context, codec, nil), "avcodec_open2", at: place, .unsupportedCodec)
            // Decoders without this capability bring their own memory, which lacks the bytes around the planes.
            needsCopy = unsafe codec!.pointee.capabilities & AV_CODEC_CAP_DR1 == 0
            unsafe packet = try check(av_packet_alloc(), "av_packet_alloc", at: place)
            unsafe self.context = context
        } catch {
            unsafe avcodec_free_context(&context)
            unsafe avformat_close_input(&format)
            unsafe self.format = nil
            throw error
        }
        readAhead()
    }

    deinit {
        unsafe av_packet_free(&packet)
        unsafe avcodec_free_context(&context)
        unsafe avformat_close_input(&format)
    }

    /// The tags of the video's stream.
    var videoTags: FileTags { unsafe FileTags(format!.pointee.streams[Int(videoIndex)]!.pointee.metadata) }
    var videoDisposition: Int32 { unsafe format!.pointee.streams[Int(videoIndex)]!.pointee.disposition }

    /// - Throws: what is wrong with a file of which no picture can be read. Nothing needs to be written for such a file.
    public func requirePicture() throws(CodecError) {
        if !ahead.isComplete, let failure = ahead.failure { throw failure }
    }

    /// The next picture or packet, in the file's order; nil at the end. Damaged packets are passed over and
    /// counted.
    /// - Throws: `noVideo` at the end of a file of which no picture could be decoded.
    public func next() throws(CodecError) -> Item? {
        if let item = try ahead.next() { return item }
        return try read()
    }

    /// Decodes the first picture, which says better than the container what all of them are.
    private func readAhead() {
        do throws(CodecError) {
            while ahead.hasRoom, let item = try read() {
                switch consume item {
                case .picture(let picture, let time):
                    let shape = video.color.sampleAspectRatio
                    video.color = picture.color
                    video.color.sampleAspectRatio = shape
                    ahead.isComplete = true
                    ahead.append(.picture(picture, time: time))
                case .passed(let packet): ahead.append(.passed(packet))
                }
            }
        } catch {
            ahead.failure = error
        }
    }

    private func read() throws(CodecError) -> Item? {
        while !pastPictures {
            let frame = try pool.emptyFrame()
            let code = unsafe avcodec_receive_frame(context, frame.pointer)
            if code == 0 {
                let time = unsafe time(of: frame.pointer)
                let place = part.place(of: time, in: video.timeBase)
                if place == .inside { return try makePicture(frame, at: time - part.ticks(in: video.timeBase)) }
                pastPictures = place == .after
                pool.recycle(frame)
                continue
            }
            pool.recycle(frame)
            if code == burnish_averror_eof {
                if nextID > 0 { return nil }
                throw part.noPicture(at: place)
            }
            if code == burnish_averror_again {
                if let passed = try readPacket() { return .passed(passed) }
            } else if code == burnish_averror_invaliddata {
                damagedPackets += 1
            } else {
                try check(code, "avcodec_receive_frame", at: place)
            }
        }
        if nextID == 0 { throw part.noPicture(at: place) }
        // Sound that belongs to the last pictures may stand behind them.
        while !pastAll { if let passed = try readPacket() { return .passed(passed) } }
        return nil
    }

    /// Reads one packet: the video's goes to the decoder, another stream's is returned.
    private func readPacket() throws(CodecError) -> CodedPacket? {
        let code = unsafe av_read_frame(format, packet)
        if code == burnish_averror_invaliddata, canReadOn() { return nil }
        // Some containers report a packet that is not whole as an error of reading.
        let breaksOff = code == burnish_averror_invaliddata || code == -EIO && ending.hasBegun
        if code == burnish_averror_eof || breaksOff {
            pastAll = true
            // It says so, though the code is that of any end.
            let said = LibraryLog.popLastError()
            let isShort = ["ended prematurely", "Truncating packet"].contains { said.contains($0) }
            isCutOff = unsafe !pastPictures && (breaksOff || isShort || ending.isCutOff(format!))
            if !pastPictures { unsafe avcodec_send_packet(context, nil) }
            return nil
        }
        try check(code, "av_read_frame", at: place, .invalidData)
        defer { unsafe av_packet_unref(packet) }
        failures = 0
        unsafe ending.record(packet!, of: format!)
        let index = unsafe packet!.pointee.stream_index
        let passed = passedStreams.firstIndex { $0.index == Int(index) }
        unsafe bridgeJumps(packet!, isSparse: passed.map { passedStreams[$0].isSparse } ?? false)
        if pastPictures, unsafe part.isFarBehind(packet!, of: format!) {
            pastAll = true
            return nil
        }
        if index == videoIndex {
            if pastPictures { return nil }
            if readsOrientation {
                unsafe orientation.ofContainer = Orientation(
                    photograph: UnsafeRawBufferPointer(start: packet!.pointee.data, count: Int(packet!.pointee.size)))
            }
            if onlyKeyframes, unsafe packet!.pointee.flags & AV_PKT_FLAG_KEY == 0 { return nil }
            if quantised != nil { unsafe guess.record(bytes: Int(packet!.pointee.size)) }
            let sent = unsafe avcodec_send_packet(context, packet)
            if sent == burnish_averror_enomem { try check(sent, "avcodec_send_packet", at: place) }
            if sent < 0 { damagedPackets += 1 }
            return nil
        }
        guard let passed, unsafe part.moves(packet!, of: format!) else { return nil }
        return unsafe try CodedPacket(moving: packet!, stream: passed)
    }

    /// Whether to read on after something in the file that made no sense to libavformat: more may follow.
    private func canReadOn() -> Bool {
        if failures == 0 { damagedPackets += 1 }
        let position = unsafe format!.pointee.pb.map { unsafe avio_seek($0, 0, SEEK_CUR) } ?? 0
        failures = position > furthest ? 1 : failures + 1
        furthest = max(furthest, position)
        return failures < Self.maximumFailures
    }

    private func bridgeJumps(_ packet: UnsafeMutablePointer<AVPacket>, isSparse: Bool) {
        let index = unsafe Int(packet.pointee.stream_index)
        let base = unsafe format!.pointee.streams[index]!.pointee.time_base
        let bits = unsafe format!.pointee.streams[index]!.pointee.pts_wrap_bits
        let microsecond = AVRational(num: 1, den: 1_000_000)
        func time(_ stamp: Int64) -> Int64? { stamp == burnish_nopts ? nil : av_rescale_q(stamp, base, microsecond) }
        let (decode, presentation) = unsafe (time(packet.pointee.dts), time(packet.pointee.pts))
        let offset =
            isSparse
            ? clock.offset(ofSparse: decode ?? presentation)
            : unsafe clock.offset(
                stream: index, decode: decode, presentation: presentation, duration: time(packet.pointee.duration) ?? 0,
                period: (1..<63).contains(bits) ? time(1 << Int64(bits)) : nil)
        if offset == 0 { return }
        let shift = av_rescale_q(offset, microsecond, base)
        if decode != nil { unsafe packet.pointee.dts += shift }
        if presentation != nil { unsafe packet.pointee.pts += shift }
    }

    /// When a decoded picture is shown, in the video's unit.
    private func time(of frame: UnsafeMutablePointer<AVFrame>) -> Int64 {
        let stamped = unsafe frame.pointee.best_effort_timestamp
        let step = video.timeBase.value > 0 ? max(1, 1 / (video.frameRate.value * video.timeBase.value)) : 1
        let time = stamped != burnish_nopts ? stamped : lastTime.map { $0 + Int64(step.rounded()) } ?? 0
        lastTime = time
        return time
    }

    private func makePicture(_ decoded: consuming OwnedFrame, at time: Int64) throws(CodecError) -> Item {
        var frame = decoded
        // A converted picture has lost what the decoder said of it.
        let quantiser = quantised.flatMap { codec in
            unsafe meanQuantiser(of: frame.pointer) ?? guess.value(of: frame.pointer, codec)
        }
        let original = unsafe PictureConversion.source(of: frame.pointer)
        transparency = readsTransparency ? unsafe try transparencies.read(frame.pointer, at: place) : nil
        let before = try screen.shown(&frame, by: conversion, pool, needsCopy: needsCopy || original != nil, at: place)
        let fields = unsafe frame.pointer
        defer { nextID += 1 }
        var damage: PictureDamage = []
        if unsafe fields.pointee.decode_error_flags != 0 { damage.insert(.concealed) }
        if unsafe burnish_is_corrupt(fields) { damage.insert(.corrupt) }
        var picture = DecodedPicture(
            frame, from: pool, id: nextID, damage: damage, quantiser: quantiser, convertedFrom: original,
            colorBefore: before)
        picture.color.orientation = orientation.next(isKeyframe: picture.isKeyframe, said: picture.statedOrientation)
        return .picture(picture, time: time)
    }

    /// When the first of some streams begins, in microseconds; 0 where the file does not say.
    private static func start(of streams: [Int], in format: UnsafeMutablePointer<AVFormatContext>) -> Int64 {
        let microsecond = AVRational(num: 1, den: 1_000_000)
        let starts: [Int64] = streams.compactMap { index in
            let stream = unsafe format.pointee.streams[index]!
            let start = unsafe stream.pointee.start_time
            return start == burnish_nopts ? nil : unsafe av_rescale_q(start, stream.pointee.time_base, microsecond)
        }
        return starts.min() ?? 0
    }
}
