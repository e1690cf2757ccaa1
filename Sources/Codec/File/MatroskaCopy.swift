import Bitstream
import CFFmpeg
import Media

/// A coded picture that comes beside a transport stream.
public struct SeparatePicture: Sendable {
    /// As a decoder takes it.
    public var bytes: [UInt8]
    public var presentation: MediaTime
    public var isKeyframe: Bool

    public init(_ bytes: [UInt8], at presentation: MediaTime, isKeyframe: Bool) {
        (self.bytes, self.presentation, self.isKeyframe) = (bytes, presentation, isKeyframe)
    }
}

/// Writes pictures of a format that transport streams do not carry, such as VP8, and the sound of a transport stream into a Matroska
/// file, without another encode. Times begin with the first picture.
///
/// The bytes come from and go to closures, so neither end needs a path. Each call runs to the end on the caller's thread.
@safe public enum MatroskaCopy {
    private static let place = "Matroska file"

    /// - Parameters:
    ///   - codec: of the pictures, which come in the order of presentation. The first one is a keyframe.
    ///   - reading: gives the transport stream with the sound; nil for none.
    ///   - pictures: gives the next picture. Where there is sound, nil means that no other has come with what was read. Else it means the
    ///     end.
    /// - Returns: how many units were left out because Matroska refused them.
    /// - Throws: `noVideo` where no picture comes or the first one cannot be decoded, `writeFailed`.
    @discardableResult public static func run(
        _ codec: VideoCodec, reading: MovieCopy.Reading?, pictures: @escaping () -> SeparatePicture?,
        writing: @escaping MovieCopy.Writing
    ) throws(CodecError) -> Int {
        LibraryLog.capture()
        let ends = unsafe CopyEnds(reading ?? { _ in 0 }, writing, at: place)
        let copy = unsafe Copy(codec, ends, pictures, hasSound: reading != nil)
        do throws(CodecError) {
            try copy.open()
            try copy.copyAll()
        } catch {
            if ends.hasFailed { throw ends.writeFailure }
            throw error
        }
        // What was buffered may have failed last.
        copy.close()
        if ends.hasFailed { throw ends.writeFailure }
        return copy.refused
    }

    /// libavformat's contexts, freed with this value.
    @safe private final class Copy {
        private let codec: VideoCodec
        private let ends: CopyEnds
        private let pictures: () -> SeparatePicture?
        private let hasSound: Bool
        private var input: UnsafeMutablePointer<AVFormatContext>?
        private var output: UnsafeMutablePointer<AVFormatContext>?
        /// For sound, and for pictures.
        private var heard: UnsafeMutablePointer<AVPacket>?
        private var shown: UnsafeMutablePointer<AVPacket>?
        /// The output's stream for each of the input's; nil for what is left out.
        private var streams: [Int32?] = []
        /// The first picture's time, in ticks of 90 kHz.
        private var start: Int64 = 0
        private var waiting: SeparatePicture?
        private var plain: [UInt8] = []
        /// Units that were left out and should not have been.
        private(set) var refused = 0

        private static let ticks = AVRational(num: 1, den: Int32(MediaTime.ticksPerSecond))

        init(_ codec: VideoCodec, _ ends: CopyEnds, _ pictures: @escaping () -> SeparatePicture?, hasSound: Bool) {
            (self.codec, self.ends, self.pictures, self.hasSound) = (codec, ends, pictures, hasSound)
        }

        deinit { close() }

        func close() {
            unsafe av_packet_free(&heard)
            unsafe av_packet_free(&shown)
            unsafe avformat_close_input(&input)
            unsafe avformat_free_context(output)
            unsafe output = nil
            ends.close()
        }

        func open() throws(CodecError) {
            unsafe heard = try check(av_packet_alloc(), "av_packet_alloc", at: place)
            unsafe shown = try check(av_packet_alloc(), "av_packet_alloc", at: place)
            if hasSound { unsafe try ends.openInput(&input) }
            // The pictures that came while the sound was looked for.
            guard let first = next() else { throw Self.noVideo("no picture has come") }
            (start, waiting) = (first.presentation.ticks, first)
            let size = try size(of: first)
            unsafe try check(
                avformat_alloc_output_context2(&output, nil, "matroska", nil), "avformat_alloc_output_context2", at: place,
                .unsupportedCodec)
            let to = unsafe output!
            let video = unsafe try check(avformat_new_stream(to, nil), "avformat_new_stream", at: place)
            let parameters = unsafe video.pointee.codecpar!
            unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
            unsafe parameters.pointee.codec_id = codec.libraryDecoder!.pointee.id
            unsafe (parameters.pointee.width, parameters.pointee.height) = (Int32(size.width), Int32(size.height))
            unsafe video.pointee.time_base = Self.ticks
            unsafe try addSound(to)
            unsafe try ends.openOutput(to)
            unsafe try check(avformat_write_header(to, nil), "avformat_write_header", at: place, .unsupportedCodec)
        }

        private func addSound(_ to: UnsafeMutablePointer<AVFormatContext>) throws(CodecError) {
            guard let from = unsafe input else { return }
            let container = unsafe ContainerContents(to.pointee.oformat)
            for index in unsafe 0..<Int(from.pointee.nb_streams) {
                let parameters = unsafe from.pointee.streams[index]!.pointee.codecpar!
                guard unsafe parameters.pointee.codec_type == AVMEDIA_TYPE_AUDIO, unsafe parameters.pointee.sample_rate > 0,
                    unsafe container.holds(parameters.pointee.codec_id) ?? true
                else {
                    streams.append(nil)
                    continue
                }
                let added = unsafe try check(avformat_new_stream(to, nil), "avformat_new_stream", at: place)
                unsafe try check(
                    avcodec_parameters_copy(added.pointee.codecpar, parameters), "avcodec_parameters_copy", at: place)
                unsafe added.pointee.codecpar.pointee.codec_tag = 0
                unsafe added.pointee.time_base = Self.ticks
                streams.append(unsafe added.pointee.index)
            }
        }

        private func next() -> SeparatePicture? { waiting.take() ?? pictures() }

        /// Decodes a picture for the size, which each format states in its own way.
        private func size(of picture: SeparatePicture) throws(CodecError) -> PictureSize {
            var configuration = VideoDecoder.Configuration()
            configuration.codec = codec
            let decoder = try VideoDecoder(configuration)
            let result = unsafe picture.bytes.withUnsafeBytes { bytes in
                Result { () throws(CodecError) in unsafe try decoder.decode(bytes, id: 0) }
            }
            _ = try result.get()
            decoder.drain()
            while let output = try decoder.next() { if case .picture(let shown) = consume output { return shown.size } }
            throw Self.noVideo("the first picture cannot be decoded")
        }

        private static func noVideo(_ text: String) -> CodecError {
            CodecError(.noVideo, operation: "MatroskaCopy", message: text, place: place, advice: "ask for a later time")
        }

        func copyAll() throws(CodecError) {
            try writePictures()
            guard let from = unsafe input else { return try end() }
            let coded = unsafe heard!
            while unsafe av_read_frame(from, coded) >= 0 {
                defer { unsafe av_packet_unref(coded) }
                try writePictures()
                let index = unsafe Int(coded.pointee.stream_index)
                guard streams.indices.contains(index), let stream = streams[index] else { continue }
                let stamp = unsafe coded.pointee.pts
                guard stamp != burnish_nopts else {
                    refused += 1
                    continue
                }
                // Stamps of a transport stream have 33 bits.
                let time = ((stamp - start) << 31) >> 31
                guard time >= 0 else { continue }
                unsafe (coded.pointee.pts, coded.pointee.dts) = (time, time)
                unsafe try write(coded, to: stream)
            }
            try writePictures()
            try end()
        }

        private func end() throws(CodecError) {
            unsafe try check(av_write_trailer(output!), "av_write_trailer", at: place, .writeFailed)
        }

        private func writePictures() throws(CodecError) {
            let coded = unsafe shown!
            while let picture = next() {
                let time = picture.presentation.ticks - start
                guard time >= 0 else { continue }
                unsafe try fill(coded, with: picture)
                defer { unsafe av_packet_unref(coded) }
                unsafe (coded.pointee.pts, coded.pointee.dts) = (time, time)
                if picture.isKeyframe { unsafe coded.pointee.flags |= AV_PKT_FLAG_KEY }
                unsafe try write(coded, to: 0)
            }
        }

        /// Matroska has AV1 without start codes.
        private func fill(_ coded: UnsafeMutablePointer<AVPacket>, with picture: SeparatePicture) throws(CodecError) {
            let usesStartCodes = unsafe codec == .av1 && picture.bytes.withUnsafeBytes { unsafe AV1StartCodes.isUsed(in: $0) }
            if usesStartCodes { unsafe picture.bytes.withUnsafeBytes { unsafe AV1StartCodes.remove(from: $0, into: &plain) } }
            let bytes = usesStartCodes ? plain : picture.bytes
            unsafe try check(av_new_packet(coded, Int32(bytes.count)), "av_new_packet", at: place)
            unsafe bytes.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(start: coded.pointee.data, count: $0.count).copyMemory(from: $0)
            }
        }

        /// A unit that cannot be written, such as one whose time goes back, is left out. A full disk ends it.
        private func write(_ coded: UnsafeMutablePointer<AVPacket>, to stream: Int32) throws(CodecError) {
            let to = unsafe output!
            unsafe coded.pointee.stream_index = stream
            unsafe coded.pointee.pos = -1
            unsafe av_packet_rescale_ts(coded, Self.ticks, to.pointee.streams[Int(stream)]!.pointee.time_base)
            let code = unsafe av_interleaved_write_frame(to, coded)
            if code < 0 {
                if unsafe to.pointee.pb.pointee.error < 0 {
                    try check(code, "av_interleaved_write_frame", at: place, .writeFailed)
                }
                refused += 1
            }
        }
    }
}
