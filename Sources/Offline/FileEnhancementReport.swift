import Enhance
import Media
import Telemetry

/// The counts and times of the work on a file. Times are in milliseconds.
public struct FileEnhancementReport: Codable, Sendable {
    public var picturesIn = 0
    public var picturesOut = 0
    public var synthesised = 0
    /// Pictures that were blurred along their motion.
    public var picturesBlurred = 0
    /// Pictures that were dropped because their time was not after that of the picture before.
    public var picturesLeftOut = 0
    /// Pictures that repeated the one before: with a constant rate, motion goes past them.
    public var picturesRepeated = 0
    /// Pictures that were there from a run before.
    public var picturesKept = 0
    /// Interlaced pictures that were made progressive.
    public var picturesDeinterlaced = 0
    /// Pictures of which not all bits, or not all samples of chroma, were kept.
    public var picturesConverted = 0
    /// Gaps between pictures in which none was repeated, though the rate is constant.
    public var gapsKept = 0
    /// Pieces of captions, without padding, that were written with pictures, and that the output could not hold.
    public var captionsPassed = 0
    public var captionsDropped = 0
    /// Whether the input was cut off: what came of it was written.
    public var isCutOff = false
    /// Damaged packets and unreadable parts of the file.
    public var damagedPackets = 0
    /// How often the time stamps went back.
    public var timelineJumps = 0
    /// How many tiles of all pictures a network computed, and how many were copied from the picture before.
    public var tilesComputed = 0
    public var tilesReused = 0
    /// Milliseconds for one picture in each stage: reading and decoding, deinterlacing, enlarging, synthesising (or blurring), and
    /// encoding and writing.
    public var decode: Quantiles
    public var deinterlace: Quantiles
    /// nil where noise was left.
    public var denoise: Denoising?
    /// Every step on single pictures that changed some.
    public var steps: [Step] = []
    public var enlarge: Quantiles
    public var synthesise: Quantiles
    public var encode: Quantiles
    /// Milliseconds of each stage for all pictures together.
    public var totals: StageTotals
    public var seconds = 0.0

    /// What a step did.
    public struct Step: Codable, Sendable {
        /// Its name in the table of steps.
        public var name: String
        /// Milliseconds for one picture that it changed.
        public var time: Quantiles
        /// The mean, which says more where several pictures are treated at once.
        public var meanTime: Double
        /// Milliseconds for all pictures together.
        public var total: Double
        /// What it found out: means over all pictures.
        public var figures: [String: Double]

        init(_ kind: StepKind, _ histogram: Histogram, _ figures: [StepFigure]) {
            name = kind.name
            time = Quantiles(histogram)
            total = histogram.sum.milliseconds
            meanTime = total / Double(max(histogram.count, 1))
            self.figures = Dictionary(figures.map { ($0.name, $0.value) }) { first, _ in first }
        }
    }

    /// What the noise filter did.
    public struct Denoising: Codable, Sendable {
        /// Milliseconds for one picture.
        public var time: Quantiles
        /// The mean, which says more where several pictures are filtered at once.
        public var meanTime: Double
        /// The noise that was filtered, in levels: the mean over all pictures.
        public var lumaDeviation: Double
        public var chromaDeviation: Double
    }

    /// Says what steps did, also under the keys that two of them had before there was a list.
    mutating func add(_ steps: [Step]) {
        self.steps = steps
        for step in steps {
            switch step.name {
            case StepKind.deinterlace.name:
                deinterlace = step.time
                picturesDeinterlaced = Int(step.time.count)
                totals.deinterlace = step.total
            case StepKind.denoise.name:
                denoise = Denoising(
                    time: step.time, meanTime: step.meanTime, lumaDeviation: step.figures["luma_deviation"] ?? 0,
                    chromaDeviation: step.figures["chroma_deviation"] ?? 0)
                totals.denoise = step.total
            default: break
            }
        }
    }
}

/// The time that each stage took for a whole file, in milliseconds.
public struct StageTotals: Codable, Hashable, Sendable {
    public var decode = 0.0
    public var deinterlace = 0.0
    public var denoise = 0.0
    public var enlarge = 0.0
    public var synthesise = 0.0
    public var compare = 0.0
    public var encode = 0.0
}
