import CFFmpeg
import Glibc
import Media

/// Writes a container of libavformat's: one H.264 stream, and all of another file that it can hold.
///
/// Confined to one thread at a time.
@safe final class EncodedFileWriter {
    private let place: String
    private let encoder: VideoEncoder
    private var format: UnsafeMutablePointer<AVFormatContext>?
    /// The time bases of the packets that come in, by output stream.
    private var timeBases: [AVRational] = []
    private var nextID: Int64 = 0
    /// Whether a picture was written.
    private(set) var hasPictures = false
    /// A coded picture could not be written, to which those behind it may refer, or the disk is full.
    private var isBroken = false
    /// Of the packets written, by output stream.
    private var lastDecodes: [Int64] = []
    /// The output's stream and what it is, for each of the reader's passed streams; nil where it is left out.
    private var passed: [(index: Int, stream: PassedStream)?] = []
    /// What brings a reader's stream to another format.
    private var conversions: [Int: TextSubtitles] = [:]
    private var stretched: [Int: StretchedSound] = [:]
    /// Streams of which a packet was refused.
    private var refusing: Set<Int> = []
    private let notice: (String) -> Void
    private let slowness: Int32
    private let sound: PassedContents.Sound
    private let leavesOutPictures: Bool
    private var isFinished = false
    private var resume: ResumeFile?
    private var space: DiskSpace
    var stopsKeeping = false
    /// Of pictures inside the encoder, by their IDs.
    private var numbers: [Int64: Int64] = [:]

    var keptUntil: Int64? { resume?.next?.presentation }
    var keptNumber: Int64 { resume?.next?.number ?? 0 }

    init(
        path: String, video: FileVideo, keeping reader: FileReader?, settings: MediaFileWriter.Settings,
        notice: @escaping (String) -> Void
    ) throws(CodecError) {
        place = path
        space = DiskSpace(path: path)
        self.notice = notice
        slowness = Int32(settings.slowness)
        sound = settings.slowness == 1 ? .copied : settings.stretchesSound ? .stretched : .leftOut
        leavesOutPictures = settings.leavesOutPictures
        var configuration = VideoEncoderConfiguration(size: video.size, frameRate: video.frameRate)
        configuration.codec = settings.codec
        configuration.color = video.color
        configuration.preset = settings.preset
        configuration.rateControl = .quality(settings.quality, maximumRate: nil, bufferFrames: 2)
        configuration.threads = settings.threads
        configuration.fileTimeBase = video.timeBase
        encoder = try VideoEncoder(configuration)
        do throws(CodecError) {
            try open(reader, onlySound: false)
        } catch {
            // A muxer may refuse what the container is said to hold. The pictures are not lost for that.
            guard error.operation == "avformat_write_header", error.kind == .unsupportedCodec, let reader,
                reader.passedStreams.contains(where: { $0.kind != .sound })
            else { throw error }
            close()
            try open(reader, onlySound: true)
        }
        guard let source = settings.source else { return }
        let context = unsafe encoder.contextForMuxer
        let coding = unsafe UnsafeRawBufferPointer(start: context.pointee.extradata, count: Int(context.pointee.extradata_size))
        resume = unsafe try ResumeFile(path: MediaFileWriter.resumePath(of: path), source: source, coding: coding)
    }

    /// Opens the file and writes its header.
    private func open(_ reader: FileReader?, onlySound: Bool) throws(CodecError) {
        unsafe try check(
            avformat_alloc_output_context2(&format, nil, nil, "file:\(place)"), "avformat_alloc_output_context2",
            at: place, .unsupportedCodec, advice: "give the file an extension that names a container, such as .mp4")
        let output = unsafe format!
        try addVideo(reader)
        var covers: [(index: Int, stream: PassedStream)] = []
        var lines: [String] = []
        if let reader {
            let container = unsafe ContainerContents(output.pointee.oformat)
            let contents = PassedContents(
                of: reader, in: container, path: place, onlySound: onlySound, sound: sound, leavesOutPictures: leavesOutPictures
            )
            lines = [contents.loss, contents.unknown].compactMap { $0 }
            covers = try add(contents, of: reader, in: container)
        }
        unsafe try check(
            avio_open(&output.pointee.pb, "file:\(place)", AVIO_FLAG_WRITE), "avio_open", at: place, .cannotOpen,
            advice: "check the path and its permissions")
        let code = unsafe avformat_write_header(output, nil)
        let isFull = code == -ENOSPC
        try check(
            code, "avformat_write_header", at: place, isFull ? .writeFailed : .unsupportedCodec,
            advice: isFull ? DiskSpace.advice : "choose a container that can hold these streams, such as .mkv")
        lines.forEach(notice)
        if sound == .leftOut, let reader, reader.audioStreamCount > 0 {
            notice("sound is left out of slow motion: --sound stretch keeps it, longer and at its pitch")
        }
        let pictures = leavesOutPictures ? reader?.passedStreams.filter(\.mayShowPictures) ?? [] : []
        if !pictures.isEmpty { notice("left out beside a mask: \(pictures.map(\.name).joined(separator: "; "))") }
        if let reader { for cover in covers { try writeCover(cover, of: reader) } }
    }

    private func close() {
        guard let output = unsafe format else { return }
        unsafe avio_closep(&output.pointee.pb)
        unsafe avformat_free_context(output)
        unsafe format = nil
        (timeBases, lastDecodes, passed, conversions, stretched) = ([], [], [], [:], [:])
    }

    deinit { close() }

    func write(
        _ picture: PictureView, at time: Int64, carrying userData: PictureUserData?, number: Int64
    ) throws(CodecError) {
        if nextID == 0 { try keep(until: .max) }
        if resume != nil { numbers[nextID] = number }
        var failure: CodecError?
        unsafe try encoder.encode(picture, id: nextID, at: MediaTime(ticks: time), carrying: userData) { unit in
            failure = unsafe writeUnit(unit, failure)
        }
        nextID += 1
        if let failure { throw failure }
    }

    /// Writes pictures that are there from a run before, up to a time of decoding.
    func keep(until time: Int64) throws(CodecError) {
        while let (unit, bytes) = resume?.takeUnit(until: time) {
            var packet = unsafe av_packet_alloc()
            defer { unsafe av_packet_free(&packet) }
            let coded = unsafe try check(packet, "av_packet_alloc", at: place)
            unsafe try check(av_new_packet(coded, Int32(bytes.count)), "av_new_packet", at: place)
            unsafe coded.pointee.data.update(from: bytes, count: bytes.count)
            unsafe (coded.pointee.pts, coded.pointee.dts) = (unit.presentation, unit.decode)
            unsafe coded.pointee.duration = unit.duration
            unsafe coded.pointee.flags = unit.isKeyframe ? AV_PKT_FLAG_KEY : 0
            unsafe try write(coded, to: 0, isSparse: false)
        }
    }

    func write(_ packet: borrowing CodedPacket) throws(CodecError) {
        guard let (index, stream) = passed[packet.stream] else { return }
        do throws(CodecError) {
            if let conversion = conversions[packet.stream] {
                if let text = unsafe try conversion.convert(packet.packet!) {
                    unsafe try write(text, to: index, isSparse: stream.isSparse)
                }
            } else if let sound = stretched[packet.stream] {
                let isGood = unsafe try sound.push(packet.packet!) { (packet) throws(CodecError) in
                    unsafe try write(packet, to: index, isSparse: false)
                }
                if !isGood, refusing.insert(index).inserted { notice("a part of \(stream.name) is silent, for it is damaged") }
            } else {
                unsafe try write(packet.packet!, to: index, isSparse: stream.isSparse)
            }
        } catch {
            // A packet that a muxer does not understand is no reason to end the file.
            guard stream.kind != .sound, [-EINVAL, burnish_averror_invaliddata].contains(error.code) else { throw error }
            if refusing.insert(index).inserted { notice("a part of \(stream.name) is left out, for it is damaged") }
        }
    }

    /// Completes the file. The index is written whatever else fails, because without it nothing of the file can be
    /// played.
    /// - Parameter isWhole: all pictures are there.
    func finish(isWhole: Bool) throws(CodecError) {
        if isFinished { return }
        isFinished = true
        var failure: CodecError?
        do throws(CodecError) {
            if nextID == 0 { try keep(until: .max) }
            unsafe try encoder.finish { unit in failure = unsafe writeUnit(unit, failure) }
            for (place, sound) in stretched where !isBroken {
                guard let index = passed[place]?.index else { continue }
                unsafe try sound.finish { (packet) throws(CodecError) in unsafe try write(packet, to: index, isSparse: false) }
            }
        } catch { failure = failure ?? error }
        let trailer = unsafe av_write_trailer(format)
        let closing = unsafe avio_closep(&format!.pointee.pb)
        if let failure { throw failure }
        try check(trailer, "av_write_trailer", at: place, .writeFailed, advice: DiskSpace.advice)
        try check(closing, "avio_closep", at: place, .writeFailed, advice: DiskSpace.advice)
        if isWhole { try resume?.finish() }
    }

    /// Writes the encoder's current packet, unless something has failed before.
    /// - Parameter unit: its bytes, with what has been put in.
    /// - Returns: the first failure.
    private func writeUnit(_ unit: borrowing EncodedUnit, _ failure: CodecError?) -> CodecError? {
        if failure != nil || isBroken { return failure }
        do throws(CodecError) {
            let packet = unsafe encoder.currentPacket
            let added = unsafe unit.bytes.count - Int(packet.pointee.size)
            if added > 0, let bytes = unsafe unit.bytes.baseAddress {
                unsafe try check(av_grow_packet(packet, Int32(added)), "av_grow_packet", at: place)
                unsafe UnsafeMutableRawPointer(packet.pointee.data!).copyMemory(from: bytes, byteCount: unit.bytes.count)
            }
            if let resume, !stopsKeeping {
                let kept = unsafe ResumeFile.Unit(
                    presentation: packet.pointee.pts, decode: packet.pointee.dts, duration: packet.pointee.duration,
                    number: numbers.removeValue(forKey: unit.id) ?? 0, isKeyframe: unit.isKeyframe)
                unsafe try resume.append(kept, unit.bytes)
            }
            unsafe try write(packet, to: 0, isSparse: false)
            return nil
        } catch {
            isBroken = true
            return error
        }
    }

    /// - Parameter isSparse: packets may have one time.
    private func write(
        _ packet: UnsafeMutablePointer<AVPacket>, to index: Int, isSparse: Bool
    ) throws(CodecError) {
        let stream = unsafe format!.pointee.streams[index]!
        unsafe packet.pointee.stream_index = Int32(index)
        unsafe packet.pointee.pos = -1
        unsafe av_packet_rescale_ts(packet, timeBases[index], stream.pointee.time_base)
        // A muxer refuses a packet whose time goes back, and ends the file there. Of two recordings that overlap, keep
        // the first.
        let decode = unsafe packet.pointee.dts
        if index == 0, resume != nil, decode != burnish_nopts {
            // A new encoder's first times of decoding may lie before the last ones of the one before.
            unsafe packet.pointee.dts = max(decode, lastDecodes[0] + 1)
            lastDecodes[0] = unsafe packet.pointee.dts
        }
        if index > 0, decode != burnish_nopts {
            if isSparse ? decode < lastDecodes[index] : decode <= lastDecodes[index] { return }
            lastDecodes[index] = decode
        }
        do throws(CodecError) {
            try space.take(unsafe Int64(packet.pointee.size), written: bytesOnDisk)
            unsafe try check(
                av_interleaved_write_frame(format, packet), "av_interleaved_write_frame", at: place, .writeFailed,
                advice: DiskSpace.advice)
        } catch {
            isBroken = isBroken || error.code == -ENOSPC
            throw error
        }
        if index == 0 { hasPictures = true }
    }

    /// Without those that libavformat has not written yet.
    private var bytesOnDisk: Int64 {
        guard let output = unsafe format?.pointee.pb else { return 0 }
        return unsafe avio_seek(output, 0, SEEK_CUR) - Int64(output.pointee.buf_ptr - output.pointee.buffer)
    }

    /// `hvc1`, as four characters in the order of a file's bytes.
    private static let tagOfHEVC: UInt32 = 0x3163_7668

    /// Whether a container knows the codecs by the tags of MP4 and QuickTime.
    private static func tagsLikeMovies(_ container: UnsafePointer<AVOutputFormat>) -> Bool {
        let names = unsafe String(cString: container.pointee.name)
        return ["mp4", "mov", "ipod", "3gp", "3g2"].contains(names)
    }

    private func addVideo(_ reader: FileReader?) throws(CodecError) {
        let output = unsafe format!
        let context = unsafe encoder.contextForMuxer
        // A negative answer means that the container does not say. Then writing its header will tell.
        guard unsafe avformat_query_codec(output.pointee.oformat, context.pointee.codec_id, FF_COMPLIANCE_NORMAL) != 0 else {
            throw CodecError(
                .unsupportedCodec, operation: "avformat_query_codec",
                message: "this container cannot hold \(encoder.configuration.codec.name)",
                place: place, advice: "use .mp4, .mkv, .mov or .ts, or .y4m for uncompressed pictures")
        }
        let stream = unsafe try check(avformat_new_stream(output, nil), "avformat_new_stream", at: place)
        unsafe try check(
            avcodec_parameters_from_context(stream.pointee.codecpar, context), "avcodec_parameters_from_context",
            at: place)
        // The usual tag (hev1) says that parameter sets may stand in the stream, too, and Apple's players refuse it.
        if encoder.configuration.codec == .hevc, unsafe Self.tagsLikeMovies(output.pointee.oformat) {
            unsafe stream.pointee.codecpar.pointee.codec_tag = Self.tagOfHEVC
        }
        unsafe stream.pointee.time_base = context.pointee.time_base
        unsafe stream.pointee.avg_frame_rate = context.pointee.framerate
        unsafe stream.pointee.sample_aspect_ratio = context.pointee.sample_aspect_ratio
        if let reader {
            unsafe stream.pointee.disposition = reader.videoDisposition & ~Int32(AV_DISPOSITION_ATTACHED_PIC)
            // What counts the coded stream is no longer true, and pictures are upright.
            unsafe reader.videoTags.add(to: &stream.pointee.metadata) {
                !["encoder", "duration", "bps", "rotate"].contains($0) && ($0 != "timecode" || reader.part.start == 0)
                    && !$0.hasPrefix("number_of_")
                    && !$0.hasPrefix("_statistics") && !$0.hasPrefix("bps-") && !$0.hasPrefix("duration-")
            }
        }
        unsafe timeBases.append(context.pointee.time_base)
        lastDecodes.append(.min)
    }

    /// Adds streams, chapters and tags.
    /// - Returns: covers whose packet is to be written.
    private func add(
        _ contents: PassedContents, of reader: FileReader, in container: ContainerContents
    ) throws(CodecError) -> [(index: Int, stream: PassedStream)] {
        let output = unsafe format!
        let input = unsafe reader.format!
        var covers: [(index: Int, stream: PassedStream)] = []
        passed = Array(repeating: nil, count: reader.passedStreams.count)
        for (place, stream) in reader.passedStreams.enumerated()
        where stream.kind != .timecode && contents.streams.contains(where: { $0.index == stream.index }) {
            let index = unsafe Int(output.pointee.nb_streams)
            let source = unsafe input.pointee.streams[stream.index]!
            if stream.kind == .cover, container.family == .matroska {
                unsafe try attach(source, stream)
                continue
            }
            let target = unsafe try addStream(like: source)
            if let language = unsafe FileTags(source.pointee.metadata)["language"] {
                unsafe av_dict_set(&target.pointee.metadata, "language", container.spelled(language: language), 0)
            }
            if let format = container.format(for: stream) {
                let conversion = unsafe try TextSubtitles(source, to: format, at: self.place)
                unsafe try conversion.describe(target.pointee.codecpar)
                conversions[place] = conversion
                if TextSubtitles.hasLayout(stream.codec) { notice("of \(stream.name) the text is kept, without its layout") }
            }
            if stream.kind == .sound, sound == .stretched {
                let stretching = unsafe try StretchedSound(source, by: Int(slowness), at: self.place)
                unsafe try stretching.describe(target.pointee.codecpar)
                unsafe target.pointee.time_base = StretchedSound.timeBase
                timeBases[index] = StretchedSound.timeBase
                stretched[place] = stretching
                if unsafe source.pointee.codecpar.pointee.ch_layout.nb_channels > 2 { notice("\(stream.name) becomes stereo") }
            }
            if stream.hasPackets { passed[place] = (index, stream) }
            if stream.kind == .cover {
                unsafe target.pointee.disposition = Int32(AV_DISPOSITION_ATTACHED_PIC)
                covers.append((index, stream))
            }
        }
        unsafe FileTags(input.pointee.metadata).add(to: &output.pointee.metadata) {
            !ContainerContents.ownTags.contains($0)
        }
        if contents.keepsChapters { unsafe try FileChapters.add(of: reader, to: output, slowness: slowness, at: place) }
        return covers
    }

    @discardableResult
    private func addStream(
        like source: UnsafeMutablePointer<AVStream>
    ) throws(CodecError) -> UnsafeMutablePointer<AVStream> {
        let stream = unsafe try check(avformat_new_stream(format, nil), "avformat_new_stream", at: place)
        unsafe try check(
            avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar), "avcodec_parameters_copy",
            at: place)
        // Tags belong to the container that the stream comes from.
        unsafe stream.pointee.codecpar.pointee.codec_tag = 0
        unsafe stream.pointee.time_base = source.pointee.time_base
        unsafe stream.pointee.disposition = source.pointee.disposition
        unsafe stream.pointee.sample_aspect_ratio = source.pointee.sample_aspect_ratio
        unsafe stream.pointee.avg_frame_rate = source.pointee.avg_frame_rate
        unsafe FileTags(source.pointee.metadata).add(to: &stream.pointee.metadata)
        let base = unsafe source.pointee.time_base
        timeBases.append(AVRational(num: base.num * slowness, den: base.den))
        lastDecodes.append(.min)
        return unsafe stream
    }

    /// Matroska has covers as attachments.
    private func attach(_ source: UnsafeMutablePointer<AVStream>, _ cover: PassedStream) throws(CodecError) {
        guard let type = ContainerContents.imageType(cover.codec) else { return }
        let stream = unsafe try addStream(like: source)
        let parameters = unsafe stream.pointee.codecpar!
        let picture = unsafe source.pointee.attached_pic
        let count = unsafe Int(picture.size)
        let bytes = unsafe av_mallocz(count + Int(AV_INPUT_BUFFER_PADDING_SIZE))?.assumingMemoryBound(to: UInt8.self)
        let copy = unsafe try check(bytes, "av_mallocz", at: place)
        if let data = unsafe picture.data { unsafe copy.update(from: data, count: count) }
        unsafe av_freep(&parameters.pointee.extradata)
        unsafe parameters.pointee.extradata = copy
        unsafe parameters.pointee.extradata_size = Int32(count)
        unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_ATTACHMENT
        unsafe stream.pointee.disposition = 0
        unsafe av_dict_set(&stream.pointee.metadata, "filename", type.name, AV_DICT_DONT_OVERWRITE)
        unsafe av_dict_set(&stream.pointee.metadata, "mimetype", type.type, AV_DICT_DONT_OVERWRITE)
    }

    private func writeCover(_ cover: (index: Int, stream: PassedStream), of reader: FileReader) throws(CodecError) {
        var packet = unsafe av_packet_clone(&reader.format!.pointee.streams[cover.stream.index]!.pointee.attached_pic)
        let picture = unsafe try check(packet, "av_packet_clone", at: place)
        defer { unsafe av_packet_free(&packet) }
        unsafe (picture.pointee.pts, picture.pointee.dts) = (0, 0)
        unsafe try write(picture, to: cover.index, isSparse: false)
    }
}
