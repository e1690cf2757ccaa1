import CFFmpeg
import Media

/// Makes a sound last longer at the same pitch: decodes its packets, stretches the samples, and encodes them as AAC in stereo.
///
/// What comes out lies where the stretched time line has it, to the sample. Gaps are silent. Those of more than a minute stay gaps.
///
/// Confined to one thread at a time.
@safe final class StretchedSound {
    static let codec = AV_CODEC_ID_AAC
    /// The unit of the packets' times.
    static let timeBase = AVRational(num: 1, den: Int32(SoundLine.rate))
    private static let bitRate: Int64 = 160_000
    private static let channels = SoundResampler.channels
    private static let longestSilence = 60 * SoundLine.rate

    private let place: String
    private let factor: Int
    /// Of the packets that come in.
    private let unit: AVRational
    private var decoder: UnsafeMutablePointer<AVCodecContext>?
    private let frame: OwnedFrame
    private let encoder: OpenedEncoder
    private let target: OwnedFrame
    private let resampler = SoundResampler()
    private var line = SoundLine()
    private var stretch: SoundStretch
    /// What is stretched and not encoded, and where its first sample lies.
    private var samples: [Float] = []
    private var position: Int64 = 0

    /// - Parameters:
    ///   - source: the stream that packets come from.
    ///   - place: of the output.
    /// - Throws: `unsupportedCodec` where libavcodec cannot decode it, or has no AAC encoder.
    init(_ source: UnsafeMutablePointer<AVStream>, by factor: Int, at place: String) throws(CodecError) {
        self.place = place
        self.factor = factor
        stretch = SoundStretch(by: factor)
        unit = unsafe source.pointee.time_base
        frame = try OwnedFrame()
        target = try OwnedFrame()
        encoder = unsafe try OpenedEncoder(Self.codec, at: place) { context in
            unsafe context.pointee.sample_rate = Int32(SoundLine.rate)
            unsafe context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
            unsafe context.pointee.bit_rate = Self.bitRate
            unsafe context.pointee.time_base = Self.timeBase
            // The headers go to the container.
            unsafe context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
            unsafe av_channel_layout_default(&context.pointee.ch_layout, Int32(Self.channels))
        }
        let fields = unsafe target.pointer
        unsafe fields.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        unsafe fields.pointee.nb_samples = encoder.context.pointee.frame_size
        unsafe fields.pointee.sample_rate = Int32(SoundLine.rate)
        unsafe av_channel_layout_copy(&fields.pointee.ch_layout, &encoder.context.pointee.ch_layout)
        unsafe try check(av_frame_get_buffer(fields, 0), "av_frame_get_buffer", at: place)
        let codec = unsafe avcodec_find_decoder(source.pointee.codecpar.pointee.codec_id)
        guard unsafe codec != nil else {
            throw CodecError(
                .unsupportedCodec, operation: "avcodec_find_decoder", message: "libavcodec cannot decode the sound",
                place: place,
                advice: "leave the sound out")
        }
        unsafe decoder = try check(avcodec_alloc_context3(codec), "avcodec_alloc_context3", at: place)
        unsafe try check(
            avcodec_parameters_to_context(decoder, source.pointee.codecpar), "avcodec_parameters_to_context", at: place)
        unsafe decoder!.pointee.pkt_timebase = unit
        unsafe try check(avcodec_open2(decoder, codec, nil), "avcodec_open2", at: place, .unsupportedCodec)
    }

    static func canDecode(_ codec: AVCodecID) -> Bool { unsafe avcodec_find_decoder(codec) != nil }

    deinit { unsafe avcodec_free_context(&decoder) }

    /// Describes what comes out.
    func describe(_ parameters: UnsafeMutablePointer<AVCodecParameters>) throws(CodecError) {
        unsafe try check(
            avcodec_parameters_from_context(parameters, encoder.context), "avcodec_parameters_from_context", at: place)
    }

    /// Stretches a packet.
    /// - Parameter emit: gets packets in ``timeBase``; it may take what they hold.
    /// - Returns: whether all of it could be decoded.
    func push(
        _ packet: UnsafeMutablePointer<AVPacket>, emit: (UnsafeMutablePointer<AVPacket>) throws(CodecError) -> Void
    ) throws(CodecError) -> Bool {
        let isGood = unsafe avcodec_send_packet(decoder, packet) >= 0
        return unsafe try receive(emit) && isGood
    }

    /// Emits what is held. Nothing can follow.
    func finish(emit: (UnsafeMutablePointer<AVPacket>) throws(CodecError) -> Void) throws(CodecError) {
        unsafe avcodec_send_packet(decoder, nil)
        _ = unsafe try receive(emit)
        unsafe try endLine(emit)
        unsafe try check(avcodec_send_frame(encoder.context, nil), "avcodec_send_frame", at: place)
        unsafe try emitPackets(emit)
    }

    private func receive(
        _ emit: (UnsafeMutablePointer<AVPacket>) throws(CodecError) -> Void
    ) throws(CodecError) -> Bool {
        var failures = 0
        while failures < 2 {
            let code = unsafe avcodec_receive_frame(decoder, frame.pointer)
            if code == burnish_averror_again || code == burnish_averror_eof { break }
            guard code >= 0 else {
                failures += 1
                continue
            }
            unsafe try add(frame.pointer, emit)
            unsafe av_frame_unref(frame.pointer)
        }
        if failures > 0 { _ = LibraryLog.popLastError() }
        return failures == 0
    }

    private func add(
        _ frame: UnsafeMutablePointer<AVFrame>, _ emit: (UnsafeMutablePointer<AVPacket>) throws(CodecError) -> Void
    ) throws(CodecError) {
        let stamp = unsafe frame.pointee.best_effort_timestamp
        let time: MediaTime? =
            stamp == burnish_nopts ? nil : MediaTime(ticks: av_rescale_q(stamp, unit, AVRational(num: 1, den: 90_000)))
        var correction = 0
        switch line.place(time, held: resampler.held) {
        case .untimed, .overlaps: return
        case .begins: begin(at: time!)
        case .follows(let samples): correction = samples
        case .gap(let samples) where samples <= Self.longestSilence:
            let before = resampler.count
            let held = resampler.held
            try resampler.flush()
            resampler.addSilence(max(0, samples + held - (resampler.count - before)))
            line.add(resampler.count - before)
        case .gap:
            unsafe try endLine(emit)
            begin(at: time!)
        }
        if unsafe resampler.isOther(frame) {
            try flush()
            unsafe try resampler.begin(frame)
        }
        let before = resampler.count
        unsafe try resampler.add(frame, correction: correction)
        line.add(resampler.count - before)
        unsafe try encode(isLast: false, emit)
    }

    private func begin(at time: MediaTime) {
        line.begin(at: time)
        stretch = SoundStretch(by: factor)
        position = max(position, av_rescale_q(time.ticks * Int64(factor), AVRational(num: 1, den: 90_000), Self.timeBase))
    }

    /// Takes what the resampler holds.
    private func flush() throws(CodecError) {
        let before = resampler.count
        try resampler.flush()
        line.add(resampler.count - before)
    }

    /// Encodes all that there is, filled up with silence.
    private func endLine(_ emit: (UnsafeMutablePointer<AVPacket>) throws(CodecError) -> Void) throws(CodecError) {
        try flush()
        unsafe try encode(isLast: true, emit)
        line.end()
    }

    private func encode(
        isLast: Bool, _ emit: (UnsafeMutablePointer<AVPacket>) throws(CodecError) -> Void
    ) throws(CodecError) {
        unsafe stretch.add(UnsafeBufferPointer(rebasing: resampler.samples[..<(resampler.count * Self.channels)]))
        resampler.remove(resampler.count)
        stretch.take(isLast: isLast, into: &samples)
        let count = unsafe Int(target.pointer.pointee.nb_samples)
        if isLast, case let rest = samples.count % (count * Self.channels), rest > 0 {
            samples.append(contentsOf: repeatElement(0, count: count * Self.channels - rest))
        }
        var used = 0
        while samples.count - used >= count * Self.channels {
            try send(samples[used..<used + count * Self.channels])
            used += count * Self.channels
            unsafe try emitPackets(emit)
        }
        samples.removeFirst(used)
    }

    /// Gives the encoder a frame. What no loudspeaker could play becomes what it can.
    private func send(_ samples: ArraySlice<Float>) throws(CodecError) {
        let fields = unsafe target.pointer
        unsafe try check(av_frame_make_writable(fields), "av_frame_make_writable", at: place)
        let planes = unsafe [fields.pointee.data.0!, fields.pointee.data.1!].map {
            unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: Float.self)
        }
        var index = 0
        for sample in samples {
            unsafe planes[index % Self.channels][index / Self.channels] = sample.isNaN ? 0 : min(max(sample, -1), 1)
            index += 1
        }
        unsafe fields.pointee.pts = position
        position += Int64(index / Self.channels)
        unsafe try check(avcodec_send_frame(encoder.context, fields), "avcodec_send_frame", at: place)
    }

    private func emitPackets(_ emit: (UnsafeMutablePointer<AVPacket>) throws(CodecError) -> Void) throws(CodecError) {
        while true {
            let code = unsafe avcodec_receive_packet(encoder.context, encoder.packet)
            if code == burnish_averror_again || code == burnish_averror_eof { return }
            try check(code, "avcodec_receive_packet", at: place)
            unsafe try emit(encoder.packet)
            unsafe av_packet_unref(encoder.packet)
        }
    }
}
