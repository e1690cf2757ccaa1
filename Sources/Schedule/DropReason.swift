/// Why a frame was not emitted.
///
/// To add a reason: add a case with the next raw value and its ``name``. The books make room for it by themselves
/// (`DropReason.allCases`). The name appears in traces, reports and metrics, so it is public from then on.
public enum DropReason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// Its deadline had passed.
    case late
    /// The plan shed it because the machine cannot keep up.
    case overload
    /// Left out to reach the output rate.
    case cadence
    /// Not decodable until the next keyframe.
    case noKeyframe
    /// The decoder gave no picture for it.
    case decodeError
    /// The encoder gave no coded picture for it.
    case encodeError
    /// The source's clock jumped, and the frame belongs to a time that has passed.
    case discontinuity
    /// The output was not connected.
    case outputDown
    /// The relay was asked to stop before it could emit the frame.
    case shutdown

    /// The name in reports and traces.
    public var name: String {
        switch self {
        case .late: "late"
        case .overload: "overload"
        case .cadence: "cadence"
        case .noKeyframe: "no_keyframe"
        case .decodeError: "decode_error"
        case .encodeError: "encode_error"
        case .discontinuity: "discontinuity"
        case .outputDown: "output_down"
        case .shutdown: "shutdown"
        }
    }
}
