import CFFmpeg
import Media

/// What a file says of its video.
public struct FileVideo: Hashable, Sendable {
    public var size: PictureSize
    /// The average frame rate, exact where the container has it.
    public var frameRate: Rational
    /// The unit of presentation times, in seconds.
    public var timeBase: Rational
    public var color = ColorDescription()
    /// How many pictures there are, as far as the container says; an estimate where only a duration is known.
    public var pictureCount: Int?

    public init(size: PictureSize, frameRate: Rational, timeBase: Rational? = nil) {
        self.size = size
        self.frameRate = frameRate
        self.timeBase = timeBase ?? Rational(frameRate.denominator, max(1, frameRate.numerator))
    }

    init(_ stream: UnsafeMutablePointer<AVStream>, of format: UnsafeMutablePointer<AVFormatContext>) {
        let parameters = unsafe stream.pointee.codecpar!
        let rate = unsafe av_guess_frame_rate(format, stream, nil)
        let base = unsafe stream.pointee.time_base
        unsafe self.init(
            size: PictureSize(width: Int(parameters.pointee.width), height: Int(parameters.pointee.height)),
            frameRate: rate.num > 0 && rate.den > 0 ? Rational(Int64(rate.num), Int64(rate.den)) : Rational(25),
            timeBase: Rational(Int64(base.num), Int64(max(1, base.den))))
        unsafe color.primaries = UInt8(truncatingIfNeeded: parameters.pointee.color_primaries.rawValue)
        unsafe color.transfer = UInt8(truncatingIfNeeded: parameters.pointee.color_trc.rawValue)
        unsafe color.matrix = UInt8(truncatingIfNeeded: parameters.pointee.color_space.rawValue)
        unsafe color.chromaLocation = UInt8(truncatingIfNeeded: parameters.pointee.chroma_location.rawValue)
        let range = unsafe parameters.pointee.color_range
        color.range = range == AVCOL_RANGE_JPEG ? .full : range == AVCOL_RANGE_MPEG ? .limited : .unspecified
        let aspect = unsafe av_guess_sample_aspect_ratio(format, stream, nil)
        if aspect.num > 0, aspect.den > 0 {
            color.sampleAspectRatio = Rational(Int64(aspect.num), Int64(aspect.den))
        }
        let known = unsafe stream.pointee.nb_frames
        let duration = unsafe format.pointee.duration
        if known > 0 {
            pictureCount = Int(known)
        } else if duration > 0 {
            pictureCount = Int((Double(duration) / Double(AV_TIME_BASE) * frameRate.value).rounded())
        }
    }
}
