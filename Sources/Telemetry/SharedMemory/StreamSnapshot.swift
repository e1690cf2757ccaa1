import Media
import Schedule

/// What a stream's telemetry map says at one moment.
public struct StreamSnapshot: Sendable {
    public var books = Books()
    /// All outputs together.
    public var output = OutputTotals()
    /// Each output.
    public var outputs: [OutputFigures] = []
    public var latency = Latency()
    public var counters: [StreamCounters.Counter: UInt64] = [:]
    public var steps: [StepKind: StepFigures] = [:]
    public var gauges = StreamGauges()
    public var inputLeg = LegFigures()
    /// The first output's.
    public var outputLeg = LegFigures()
    /// How many workers have written the map so far, the present one, and since when it has.
    public var writers: UInt64 = 0
    public var process: Int32 = 0
    public var startedAt = MonotonicTime(nanoseconds: 0)
    /// Wall clock (since 1970) minus monotonic clock when the map was made.
    public var wallOffset = Nanoseconds.zero
    /// Frames that were closed since the map was made.
    public var recordsWritten: UInt64 = 0
    /// Values that no worker writes. They are zero here.
    public var faults = 0

    public init() {}
}

/// What became of the coded units of a stream, at all of its outputs together: `offered = sent + dropped + queued`.
public struct OutputTotals: Sendable, Equatable {
    public var offered: UInt64 = 0
    public var sent: UInt64 = 0
    public var dropped: UInt64 = 0
    public var queued: UInt64 = 0

    public init() {}

    public var balance: Bool { offered == sent + dropped + queued }
}

/// Figures of a stream that go up and down.
public struct StreamGauges: Sendable, BitwiseCopyable {
    /// The rung of the last frame, as its place in `Rung.all`; nil before the first, and while pictures are bypassed.
    public var rung: UInt8?
    /// The largest number of a rung.
    public static let lastRung: UInt8 = 7
    /// What the stream needs of the machine, in cores; zero before the first picture.
    public var coresLeast = 0.0
    public var coresSynthesising = 0.0
    /// Frames a second that went out in the last second.
    public var rate = 0.0
    public var inputSize = PictureSize(width: 0, height: 0)
    public var outputSize = PictureSize(width: 0, height: 0)
    /// What the output is made like, where it is chosen to fit the machine; nil elsewhere.
    public var output: Output?

    /// A choice of the output.
    public struct Output: Hashable, Sendable, BitwiseCopyable {
        /// How many better choices there are: 0 is what was asked for.
        public var step: UInt8
        public var preset: EncoderPreset
        /// The largest number of a step.
        static let lastStep: UInt8 = 63

        public init(step: UInt8, preset: EncoderPreset) {
            self.step = step
            self.preset = preset
        }
    }
    /// The next better output, which would take the present one's place if it fitted the machine; nil where there is none.
    public var better: Better?

    /// An output that needs more of the machine.
    public struct Better: Hashable, Sendable, BitwiseCopyable {
        public var size: PictureSize
        public var preset: EncoderPreset
        /// How many cores its originals would need.
        public var cores: Double

        public init(size: PictureSize, preset: EncoderPreset, cores: Double) {
            (self.size, self.preset, self.cores) = (size, preset, cores)
        }
    }

    /// For what content the networks are that enlarge pictures: any video, or what is coded coarsely, as in calls. Nil while none
    /// enlarges them.
    public var content: Content?

    public enum Content: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        case general = 1
        case calls = 2

        public var name: String { self == .calls ? "calls" : "general" }
    }

    /// What is kept of the past: of what came in, and of what went out.
    public var pastInput = Past()
    public var pastOutput = Past()

    /// Coded units in memory.
    public struct Past: Hashable, Sendable, BitwiseCopyable {
        public var bytes: UInt64 = 0
        public var seconds = 0.0

        public init() {}
    }

    /// When the map was last written by the observer.
    public var writtenAt = MonotonicTime(nanoseconds: 0)

    public init() {}
}

/// A frame's record and what became of it.
public struct ClosedFrame: Sendable {
    public var record: FrameRecord
    public var fate: FrameFate

    public init(record: FrameRecord, fate: FrameFate) {
        self.record = record
        self.fate = fate
    }
}
