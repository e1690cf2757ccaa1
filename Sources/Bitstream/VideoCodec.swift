/// A coded format of video that can be decoded.
public enum VideoCodec: UInt8, CaseIterable, Hashable, Sendable, BitwiseCopyable {
    /// MPEG-1 and MPEG-2 video share a syntax; the sequence extension tells them apart.
    case h264, hevc, mpeg2Video, av1, vp8, vp9

    /// The name for reports and error messages.
    public var name: String {
        switch self {
        case .h264: "H.264"
        case .hevc: "HEVC"
        case .mpeg2Video: "MPEG-2 video"
        case .av1: "AV1"
        case .vp8: "VP8"
        case .vp9: "VP9"
        }
    }

    /// The names of all that a transport stream can carry, for messages.
    public static let names = "H.264, HEVC, MPEG-2 or AV1 video"

    /// A reader of this format's access units.
    public func makeUnitReader() -> any AccessUnitReader {
        switch self {
        case .h264: H264UnitReader()
        case .hevc: HEVCUnitReader()
        case .mpeg2Video: MPEG2UnitReader()
        case .av1: AV1UnitReader()
        case .vp8: VP8UnitReader()
        case .vp9: VP9UnitReader()
        }
    }
}
