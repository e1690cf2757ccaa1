import Media
import Schedule

/// What may change while a stream runs. The stages read one value of it for each frame, so a change takes hold between two
/// frames.
public struct StreamSettings: Hashable, Sendable {
    /// When a finished frame leaves.
    public enum Pacing: String, Sendable, CaseIterable {
        /// As soon as it is ready. SRT source times let the next hop's window restore the cadence.
        case eager
        /// Evenly, at the time that its source time asks for. For receivers without a window, such as plain UDP players.
        case paced
    }

    /// What becomes of the input's pictures.
    public enum Mode: String, Sendable, CaseIterable {
        /// They are decoded, enhanced and encoded, as far as the machine and the input allow it.
        case enhance
        /// They go out as they came.
        case bypass
    }

    /// Takes effect at the next picture at which a decoder can begin.
    public var mode = Mode.enhance
    /// What networks are trained for.
    public enum Content: String, Sendable, CaseIterable {
        /// What suits the pictures, by how coarsely they were coded.
        case auto
        /// Any video.
        case general
        /// Pictures that were coded in real time at the rates of video calls.
        case calls
    }

    /// The best tier of super-resolution that may be used. The scheduler decides frame by frame.
    public var tier = Tier.usual
    /// For which content the networks are trained that enlarge pictures.
    public var content = Content.auto
    /// What becomes of HDR pictures (PQ, HLG).
    public enum HDR: String, Sendable, CaseIterable {
        /// What suits most receivers: ``sdr``.
        case auto
        /// They become SDR with BT.709's colours.
        case sdr
        /// They go out as they came.
        case pass
    }

    public var hdr = HDR.auto
    /// The brightest light of PQ pictures in cd/m², 100 to 10,000; nil: as they say.
    public var hdrPeak: Double?
    /// What is asked of the steps between decoder and encoder.
    public var steps = StepSettings()
    /// Frames out for each frame in, where the output has no constant rate: 1 or 2.
    public var interpolate = 1
    /// Whether the API may let reactions fly over pictures.
    public var allowsReactions = false
    /// The time from the moment at which a plain receiver would have had a frame to the frame's deadline.
    public var budget = Nanoseconds.milliseconds(80)
    /// How many times slower the machine may suddenly become before tiles or synthesised frames make an original late: 1 to 10.
    public var caution = 1.0
    public var pacing = Pacing.eager
    /// Bits a second of the output's video; nil derives them from size and rate.
    public var bitRate: Int?
    /// How many times the input's bits the output's video may have; nil leaves it to ``bitsAllowed``.
    public var bits: Double?
    /// What is recorded of the output.
    public var record = RecordSettings()
    /// The bit rate follows the outputs' SRT links down to this; nil leaves it as it is.
    public var bitRateFloor: Int?

    public init() {
        // Costs no PSNR.
        steps.sharpness = 0.125
    }

    /// How many times the input's bits the output's video may have where nobody says anything of its rate.
    static let bitsByDefault = 2.0

    /// How many times the input's bits the output's video may have; nil where its rate is given in another way.
    public var bitsAllowed: Double? { bits ?? (bitRate == nil && bitRateFloor == nil ? Self.bitsByDefault : nil) }

    /// Whether the pictures' quantisers matter: to networks, and to steps.
    public var readsQuantisers: Bool { tier > .base || steps.readsQuantisers }
}
