import CFFmpeg
import Media

/// What is known to be wrong with a decoded picture.
public struct PictureDamage: OptionSet, Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Its own coded data was incomplete or wrong, and the decoder filled in what was missing.
    public static let concealed = PictureDamage(rawValue: 1)
    /// A picture that it refers to, directly or not, was lost or damaged. Lasts until the next keyframe.
    public static let reference = PictureDamage(rawValue: 2)
    /// libavcodec itself calls it corrupt (decoding started at no keyframe).
    public static let corrupt = PictureDamage(rawValue: 4)
}

/// How a picture was scanned, by its marks in the stream.
public enum Scan: UInt8, Sendable, BitwiseCopyable {
    case progressive
    /// Two fields of different moments. The rows 0, 2, 4 … belong to the earlier one.
    case topFieldFirst
    /// Two fields of different moments. The rows 1, 3, 5 … belong to the earlier one.
    case bottomFieldFirst

    public var isInterlaced: Bool { self != .progressive }
}

/// A decoded picture, 8-bit 4:2:0, moved out of the decoder without a copy.
///
/// It owns a reference to the decoder's buffer and releases it when it goes away. That may be on another thread, and
/// after the decoder itself is gone. Nobody writes to the buffer, because the decoder may still refer to it.
@safe public struct DecodedPicture: ~Copyable, Sendable {
    /// The caller's number of the access unit that it was decoded from.
    public let id: Int64
    public let size: PictureSize
    /// Changed where the stream says something of it elsewhere than with this picture.
    public var color: ColorDescription
    /// What came with this picture, of all that ``color`` says of its orientation; nil where nothing came.
    public let statedOrientation: Orientation?
    /// A picture at which decoding can start.
    public let isKeyframe: Bool
    /// Other pictures may refer to it.
    public let isReference: Bool
    public let damage: PictureDamage
    /// How coarsely the picture was coded: its mean luma quantiser in H.264's scale (0…51); nil when not asked for.
    public let meanQuantiser: Float?
    public let scan: Scan
    /// What it was converted from; nil where it was decoded to 8-bit 4:2:0.
    public let convertedFrom: SampleFormat?
    /// What its colours were before they became SDR with BT.709's; nil where they stayed.
    public let colorBefore: ColorDescription?

    /// The captions and the active format that came with it, as far as libav knows them.
    public var userData: PictureUserData? {
        let data = unsafe PictureUserData(frame.pointer)
        return data.isEmpty ? nil : data
    }

    private let frame: OwnedFrame
    private let pool: FramePool

    /// - Parameter pool: where the frame goes when the picture goes away.
    init(
        _ frame: consuming OwnedFrame, from pool: FramePool, id: Int64, isReference: Bool = true, damage: PictureDamage,
        quantiser: Float? = nil, convertedFrom: SampleFormat? = nil, colorBefore: ColorDescription? = nil
    ) {
        self.id = id
        self.isReference = isReference
        self.damage = damage
        let fields = unsafe frame.pointer
        unsafe size = PictureSize(width: Int(fields.pointee.width), height: Int(fields.pointee.height))
        unsafe color = ColorDescription(fields)
        unsafe statedOrientation = Orientation(fields)
        color.orientation = statedOrientation ?? .upright
        unsafe isKeyframe = burnish_is_keyframe(fields)
        meanQuantiser = quantiser
        unsafe scan = Scan(fields)
        self.convertedFrom = convertedFrom
        self.colorBefore = colorBefore
        self.frame = frame
        self.pool = pool
    }

    /// A picture with other samples, or with the same ones, that says the same of itself as `original`.
    init(_ frame: consuming OwnedFrame, from pool: FramePool, like original: borrowing DecodedPicture, scan: Scan) {
        id = original.id
        size = original.size
        color = original.color
        statedOrientation = original.statedOrientation
        isKeyframe = original.isKeyframe
        isReference = original.isReference
        damage = original.damage
        meanQuantiser = original.meanQuantiser
        convertedFrom = original.convertedFrom
        colorBefore = original.colorBefore
        self.scan = scan
        self.frame = frame
        self.pool = pool
    }

    deinit { pool.recycle(frame) }

    /// Another reference to the same samples; nil when there is no memory for it. Allocates inside libav.
    public func share() -> DecodedPicture? {
        do throws(CodecError) {
            let other = try pool.emptyFrame()
            guard unsafe av_frame_ref(other.pointer, frame.pointer) >= 0 else { return nil }
            return DecodedPicture(other, from: pool, like: self, scan: scan)
        } catch {
            return nil
        }
    }

    /// The planes, for reading; 64 bytes before and after each are readable too (``Media/Picture/slop``). The view must
    /// not outlive the picture.
    @unsafe public var view: PictureView {
        let chroma = size.chroma
        let data = unsafe frame.pointer.pointee.data
        let stride = unsafe frame.pointer.pointee.linesize
        return unsafe PictureView(
            y: PlaneView(base: data.0!, stride: Int(stride.0), width: size.width, height: size.height),
            u: PlaneView(base: data.1!, stride: Int(stride.1), width: chroma.width, height: chroma.height),
            v: PlaneView(base: data.2!, stride: Int(stride.2), width: chroma.width, height: chroma.height))
    }
}

extension Scan {
    init(_ frame: UnsafeMutablePointer<AVFrame>) {
        if unsafe !burnish_is_interlaced(frame) {
            self = .progressive
        } else {
            self = unsafe burnish_is_top_field_first(frame) ? .topFieldFirst : .bottomFieldFirst
        }
    }
}

extension ColorDescription {
    /// How a frame's samples are to be read, from the fields that libav carries it in.
    init(_ frame: UnsafeMutablePointer<AVFrame>) {
        self.init()
        unsafe primaries = UInt8(truncatingIfNeeded: frame.pointee.color_primaries.rawValue)
        unsafe transfer = UInt8(truncatingIfNeeded: frame.pointee.color_trc.rawValue)
        unsafe matrix = UInt8(truncatingIfNeeded: frame.pointee.colorspace.rawValue)
        unsafe chromaLocation = UInt8(truncatingIfNeeded: frame.pointee.chroma_location.rawValue)
        let isFull =
            unsafe frame.pointee.color_range == AVCOL_RANGE_JPEG
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
