/// Why a frame was not emitted: a closed list.
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
    /// The source jumped: it belongs to a time that is gone.
    case discontinuity
    /// The output was not connected.
    case outputDown
    /// The relay was told to stop before it came out.
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
