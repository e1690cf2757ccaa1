import CFFmpeg
import Media

/// How pictures are encoded. The defaults are for live streams.
public struct VideoEncoderConfiguration: Hashable, Sendable {
    public enum RateControl: Hashable, Sendable {
        /// A constant rate factor (0…51, lower is better; each codec has its own scale). With a maximum rate in bits a second, no stretch of the
        /// stream is larger than the rate and a buffer of `bufferFrames` frame times allow.
        case quality(Double, maximumRate: Int?, bufferFrames: Double)
        /// An average rate in bits a second, with a buffer of `bufferFrames` frame times: 1 makes every unit the same
        /// size (steadiest delay, worst keyframes), more lets keyframes be larger.
        case rate(Int, bufferFrames: Double)

        /// Bits a second at most; nil without a limit.
        public var maximumRate: Int? {
            switch self {
            case .quality(_, let maximumRate, _): maximumRate
            case .rate(let rate, _): rate
            }
        }

        /// Allows no more bits a second than this.
        public mutating func limit(to most: Int) {
            guard let maximumRate, maximumRate > most else { return }
            switch self {
            case .quality(let factor, _, let frames): self = .quality(factor, maximumRate: most, bufferFrames: frames)
            case .rate(_, let frames): self = .rate(most, bufferFrames: frames)
            }
        }
    }

    public var codec = OutputCodec.h264
    public var size: PictureSize
    /// Nominal; used by the rate control and written into the stream. Real times are the pictures' own.
    public var frameRate: Rational
    public var color = ColorDescription()
    public var preset = EncoderPreset.superfast
    public var rateControl = RateControl.quality(23, maximumRate: nil, bufferFrames: 2)
    /// Pictures are coded no finer, even where bits are left; nil: as fine as the codec can.
    public var leastQuantiser: Int?
    /// Moves bits from blocks with much detail to flat ones (`aq-mode` of both libraries).
    public var adaptsQuantiser = true
    /// Of H.264: keeps a coefficient only where it is worth its bits (libx264's `trellis`); needs CABAC. ``EncoderPreset/quick`` and
    /// ``EncoderPreset/careful`` always do.
    public var choosesCoefficients = false
    /// Of H.264: codes arithmetically, as all presets but ``EncoderPreset/ultrafast`` do, for a tenth more time.
    public var usesCABAC = false
    /// Of H.264: codes in the constrained baseline profile, whatever else is asked for.
    public var isBaseline = false
    /// A picture of H.264 is cut into as many slices as there are threads, which costs a little rate and saves delay. Of HEVC, threads
    /// share its rows of blocks.
    public var threads = 1
    /// A keyframe at least every so many pictures; nil: only the first and those asked for.
    public var keyframeInterval: Int?
    /// For files, the unit of times; nil for live streams. A file has its parameter sets in the container's header
    /// instead of before every keyframe, and lookahead and B-frames as the preset has them.
    var fileTimeBase: Rational?

    public init(size: PictureSize, frameRate: Rational) {
        self.size = size
        self.frameRate = frameRate
    }

    func apply(to context: UnsafeMutablePointer<AVCodecContext>, at place: String) throws(CodecError) {
        unsafe context.pointee.width = Int32(size.width)
        unsafe context.pointee.height = Int32(size.height)
        unsafe context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
        unsafe context.pointee.time_base = AVRational(num: 1, den: 90_000)
        unsafe context.pointee.framerate = AVRational(frameRate)
        unsafe context.pointee.gop_size = Int32(clamping: keyframeInterval ?? Int(Int32.max))
        unsafe color.apply(to: context)
        unsafe try set("preset", preset.library, of: context, at: place)
        unsafe try set("forced-idr", "1", of: context, at: place)
        if let fileTimeBase {
            unsafe context.pointee.time_base = AVRational(fileTimeBase)
            unsafe context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
            unsafe context.pointee.gop_size = Int32(clamping: keyframeInterval ?? 250)
        } else {
            unsafe context.pointee.max_b_frames = 0
            unsafe try set("tune", "zerolatency", of: context, at: place)
        }
        if let leastQuantiser { unsafe context.pointee.qmin = Int32(clamping: leastQuantiser) }
        switch codec {
        case .h264: unsafe try applyH264(to: context, at: place)
        case .hevc: unsafe try applyHEVC(to: context, at: place)
        }
        unsafe try applyRate(to: context, at: place)
    }

    private func applyH264(to context: UnsafeMutablePointer<AVCodecContext>, at place: String) throws(CodecError) {
        unsafe context.pointee.thread_count = Int32(max(1, threads))
        if usesCABAC || preset == .quick { unsafe try set("coder", "cabac", of: context, at: place) }
        if preset == .quick {
            unsafe try set("8x8dct", "1", of: context, at: place)
            unsafe try set("partitions", "i4x4,i8x8", of: context, at: place)
        }
        if fileTimeBase == nil {
            unsafe try set("aud", "1", of: context, at: place)
            unsafe try set("sc_threshold", "0", of: context, at: place)
        }
        if choosesCoefficients || preset == .quick || preset == .careful { unsafe context.pointee.trellis = 1 }
        if preset == .careful {
            unsafe try set("x264-params", "no-fast-pskip=1:no-dct-decimate=1:deblock=-1,-1", of: context, at: place)
        }
        if !adaptsQuantiser { unsafe try set("aq-mode", "none", of: context, at: place) }
        if isBaseline { unsafe try set("profile", "baseline", of: context, at: place) }
    }

    /// The wrapper takes `thread_count` for pictures that are coded side by side, each of which is a picture of delay. x265 gives a
    /// picture back at once where it codes one at a time, without lookahead and B-frames (encoder.cpp, `m_bZeroLatency`).
    private func applyHEVC(to context: UnsafeMutablePointer<AVCodecContext>, at place: String) throws(CodecError) {
        unsafe context.pointee.thread_count = Int32(fileTimeBase == nil ? 1 : max(1, threads))
        // `info`: no message with the library's version and settings in each stream.
        var options = ["log-level=error", "info=0"]
        options += threads > 1 ? ["pools=\(threads)"] : ["pools=none", "wpp=0"]
        // The largest blocks are 64 samples wide, and pictures no smaller than a block.
        if min(size.width, size.height) < 64 { options += ["ctu=16"] }
        if fileTimeBase == nil { options += ["aud=1", "repeat-headers=1", "scenecut=0"] }
        if keyframeInterval == nil, fileTimeBase == nil { options += ["keyint=-1"] }
        if !adaptsQuantiser { options += ["aq-mode=0"] }
        unsafe try set("x265-params", options.joined(separator: ":"), of: context, at: place)
    }

    /// Bounds the bits of the stream. libx264's wrapper reads both fields again before each picture, libx265's does not.
    func setBuffer(_ rate: Int, _ frames: Double, of context: UnsafeMutablePointer<AVCodecContext>) {
        unsafe context.pointee.rc_max_rate = Int64(rate)
        let bits = Double(rate) / frameRate.value * max(1, frames)
        unsafe context.pointee.rc_buffer_size = Int32(clamping: Int(bits))
    }

    private func applyRate(to context: UnsafeMutablePointer<AVCodecContext>, at place: String) throws(CodecError) {
        switch rateControl {
        case .quality(let factor, let maximumRate, let bufferFrames):
            unsafe try set("crf", "\(factor)", of: context, at: place)
            if let maximumRate { unsafe setBuffer(maximumRate, bufferFrames, of: context) }
        case .rate(let rate, let bufferFrames):
            unsafe context.pointee.bit_rate = Int64(rate)
            unsafe setBuffer(rate, bufferFrames, of: context)
        }
    }

    private func set(
        _ name: String, _ value: String, of context: UnsafeMutablePointer<AVCodecContext>, at place: String
    ) throws(CodecError) {
        unsafe try check(
            av_opt_set(context.pointee.priv_data, name, value, 0), "av_opt_set", at: "\(place), \(name)=\(value)",
            .unsupportedFormat)
    }
}

extension AVRational {
    /// The nearest fraction that fits into 32 bits.
    init(_ rational: Rational) {
        var (num, den) = (Int32(0), Int32(1))
        unsafe av_reduce(&num, &den, rational.numerator, rational.denominator, Int64(Int32.max))
        self.init(num: num, den: den)
    }
}

extension ColorDescription {
    /// Writes the description where encoders and muxers read it. Code points that libav has no name for are left out,
    /// because they come from damaged headers.
    func apply(to context: UnsafeMutablePointer<AVCodecContext>) {
        let (p, t, m) = (UInt32(primaries), UInt32(transfer), UInt32(matrix))
        if unsafe av_color_primaries_name(AVColorPrimaries(p)) != nil, p != 0 {
            unsafe context.pointee.color_primaries = AVColorPrimaries(p)
        }
        if unsafe av_color_transfer_name(AVColorTransferCharacteristic(t)) != nil, t != 0 {
            unsafe context.pointee.color_trc = AVColorTransferCharacteristic(t)
        }
        // 0 is RGB, which 4:2:0 cannot be.
        if unsafe av_color_space_name(AVColorSpace(m)) != nil, m != 0 {
            unsafe context.pointee.colorspace = AVColorSpace(m)
        }
        switch range {
        case .unspecified: break
        case .limited: unsafe context.pointee.color_range = AVCOL_RANGE_MPEG
        case .full: unsafe context.pointee.color_range = AVCOL_RANGE_JPEG
        }
        if chromaLocation <= 6 {
            unsafe context.pointee.chroma_sample_location = AVChromaLocation(UInt32(chromaLocation))
        }
        unsafe context.pointee.sample_aspect_ratio = AVRational(sampleAspectRatio)
    }
}
