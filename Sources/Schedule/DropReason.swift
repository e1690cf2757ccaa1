/// Why a frame was not emitted.
///
/// To add a reason: add a case at the end and its ``name``, and raise the length of the arrays in `Telemetry.Books` (their
/// initialiser stops when it differs). The name appears in traces and reports, so users may depend on it.
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
    /// A privacy mask is set, and the frame could not be masked, or was made before.
    case masked
    /// All who watch get another layer of a call than the encoder's pictures.
    case otherLayer

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
        case .masked: "masked"
        case .otherLayer: "other_layer"
        }
    }
}
