import CFFmpeg
import Media

/// What is known to be wrong with a decoded picture.
public struct PictureDamage: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Its own coded data was incomplete or wrong, and the decoder filled the holes in.
    public static let concealed = PictureDamage(rawValue: 1)
    /// A picture that it refers to, directly or not, was lost or damaged. Lasts until the next keyframe.
    public static let reference = PictureDamage(rawValue: 2)
    /// libavcodec itself calls it corrupt (decoding started at no keyframe).
    public static let corrupt = PictureDamage(rawValue: 4)
}

/// A decoded picture, 8-bit 4:2:0, moved out of the decoder without a copy.
///
/// It owns its samples' memory (a reference to the decoder's buffer) and gives it back when it goes away, which may be
/// on another thread and after the decoder itself is gone. Nobody writes to it: the decoder may still refer to it.
@safe public struct DecodedPicture: ~Copyable, @unchecked Sendable {
    /// The caller's number of the access unit that it was decoded from.
    public let id: Int64
    public let size: PictureSize
    public let color: ColorDescription
    /// A picture at which decoding can start.
    public let isKeyframe: Bool
    /// Other pictures may refer to it.
    public let isReference: Bool
    /// Two fields woven into one picture.
    public let isInterlaced: Bool
    /// The size or the colour description differs from the picture's before (true for the first one too).
    public let isNewFormat: Bool
    public let damage: PictureDamage
    /// The mean H.264 luma quantiser over the picture's macroblocks (0…51); nil when not exported.
    public let meanQuantiser: Float?

    private let frame: UnsafeMutablePointer<AVFrame>
    private let shells: FrameShells

    /// Takes over a frame that came from `shells`.
    init(
        taking frame: UnsafeMutablePointer<AVFrame>, from shells: FrameShells, id: Int64, isReference: Bool = true,
        isNewFormat: Bool, damage: PictureDamage
    ) {
        self.id = id
        self.isReference = isReference
        self.isNewFormat = isNewFormat
        self.damage = damage
        unsafe size = PictureSize(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        unsafe color = ColorDescription(frame)
        unsafe isKeyframe = frame.pointee.key_frame != 0
        unsafe isInterlaced = frame.pointee.interlaced_frame != 0
        unsafe meanQuantiser = CodecBlocks.meanQuantiser(of: frame)
        unsafe self.frame = frame
        self.shells = shells
    }

    deinit { unsafe shells.give(frame) }

    /// The planes, for reading; 64 bytes before and after each are readable too (``Media/Picture/slop``). The view must
    /// not outlive the picture.
    @unsafe public var view: PictureView {
        let chroma = size.chroma
        let data = unsafe frame.pointee.data
        let stride = unsafe frame.pointee.linesize
        return unsafe PictureView(
            y: PlaneView(base: data.0!, stride: Int(stride.0), width: size.width, height: size.height),
            u: PlaneView(base: data.1!, stride: Int(stride.1), width: chroma.width, height: chroma.height),
            v: PlaneView(base: data.2!, stride: Int(stride.2), width: chroma.width, height: chroma.height))
    }

    /// Calls `body` with each motion vector that the decoder exported (``VideoDecoder/Configuration/exportsMotion``).
    public func forEachMotionVector(_ body: (MotionVector) -> Void) {
        unsafe CodecBlocks.forEachMotionVector(of: frame, body)
    }
}

/// One prediction block's motion, in luma samples of the picture.
public struct MotionVector: Hashable, Sendable, BitwiseCopyable {
    /// The block's centre.
    public var x, y: Int16
    public var width, height: UInt8
    /// Where it was predicted from, relative to the block, in quarter samples.
    public var dx, dy: Int32
    /// Predicted from a picture that is shown later.
    public var isBackward: Bool
}

extension ColorDescription {
    /// How a frame's samples are to be read, from the fields that libav carries them in.
    init(_ frame: UnsafeMutablePointer<AVFrame>) {
        self.init()
        unsafe primaries = UInt8(truncatingIfNeeded: frame.pointee.color_primaries.rawValue)
        unsafe transfer = UInt8(truncatingIfNeeded: frame.pointee.color_trc.rawValue)
        unsafe matrix = UInt8(truncatingIfNeeded: frame.pointee.colorspace.rawValue)
        unsafe chromaLocation = UInt8(truncatingIfNeeded: frame.pointee.chroma_location.rawValue)
        let isFull = unsafe frame.pointee.color_range == AVCOL_RANGE_JPEG
            || frame.pointee.format == AV_PIX_FMT_YUVJ420P.rawValue
        if isFull {
            range = .full
        } else if unsafe frame.pointee.color_range == AVCOL_RANGE_MPEG {
            range = .limited
        }
        let aspect = unsafe frame.pointee.sample_aspect_ratio
        if aspect.num > 0, aspect.den > 0 { sampleAspectRatio = Rational(Int64(aspect.num), Int64(aspect.den)) }
    }
}
