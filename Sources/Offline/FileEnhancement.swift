import Codec
import Enhance
import EnhanceNetworks
import Glibc
import Media

/// Enhances a file with the relay's processors: enlarges every picture and synthesises frames between each two. There are no
/// deadlines.
public struct FileEnhancement: Sendable {
    public var input: String
    public var output: String
    /// What is read of the input.
    public var part = FilePart()
    public var size = OutputSize.double
    /// The factor of the frame rate: with K, N frames become K·(N−1)+1.
    public var interpolate = 1
    /// The constant rate of the output, whatever the input's is; it takes the place of ``interpolate``. nil leaves the rate.
    public var rate: Rational?
    /// How many times longer everything takes. Above 1 the rate is constant: the input's, where none is set.
    public var slowness = 1
    /// What becomes of sound where everything takes longer.
    public var sound = Sound.none
    /// What becomes of gaps between pictures where the rate is constant.
    public var gaps = Gaps.fill
    /// How long the shutter is open that pictures are blurred by, as per cent of the time between two: 1 to 100; 0 leaves them. It
    /// goes with neither ``interpolate`` nor ``rate`` nor ``slowness``.
    public var motionBlur = 0.0
    /// What the mean over that time is taken of.
    public var motionBlurLight = MotionBlurLight.coded
    public var tier = SuperResolutionTier.neuralMedium
    /// The network that takes coding artefacts out of pictures that are not doubled (``Enlargement/doubles``); nil leaves them.
    public var restoration: Restoration?
    /// For which content the networks are trained.
    public var content = NetworkContent.general
    public var reusesTiles = true
    /// What is asked of the steps on single pictures.
    public var steps = StepSettings()
    /// The brightest light of PQ pictures in cd/m²; nil: as they say.
    public var hdrPeak: Double?
    /// For interpolation, and for steps that may look at later pictures.
    public var motion = Motion.fused
    public var threads = 2
    /// Where the output is coded.
    public var codec = OutputCodec.h264
    /// The constant rate factor of x264 or x265, where the output is coded.
    public var quality = 18.0
    /// Whether what is finished is kept in a file beside the output, with its name and `.resume`, and read again where it is there:
    /// whole groups of coded pictures. ``removeResumeFile()`` removes it.
    public var resumes = false
    /// What is written in place of the enhanced pictures: both, for people to judge.
    public var comparison: Comparison?

    /// How a picture as it came stands beside the enhanced one.
    public enum Comparison: String, Sendable, CaseIterable {
        /// To the left of the middle as it came, to the right enhanced.
        case split
        /// The same, with the line between them going to and fro.
        case wipe
    }

    /// What becomes of a gap between two pictures of a recording of variable rate, where the output's rate is constant.
    public enum Gaps: String, Sendable, CaseIterable {
        /// The picture before it is repeated, for a minute at most. Longer gaps are kept: clocks jump.
        case fill
        /// The picture before it stays: nothing is written for the time of the gap. Gaps are times too long to follow motion in.
        case keep

        /// The longest time between pictures that is filled, in seconds.
        var longest: Double { self == .fill ? 60 : 0.25 }
    }

    /// What becomes of sound in slow motion.
    public enum Sound: String, Sendable, CaseIterable {
        /// It is left out.
        case none
        /// It lasts as long as the pictures, at its pitch: as AAC in stereo.
        case stretch
    }

    /// What a blurred picture is the mean of.
    public enum MotionBlurLight: String, Sendable, CaseIterable {
        /// Samples as they are coded.
        case coded
        /// Light in the scene, as in a camera.
        case linear
    }

    /// A network that restores pictures at their size.
    public enum Restoration: String, Sendable, CaseIterable {
        /// About three thousand multiplications for each sample.
        case small = "s"
        /// About twenty thousand.
        case medium = "m"

        var tier: SuperResolutionTier {
            switch self {
            case .small: .neuralSmall
            case .medium: .neuralMedium
            }
        }
    }

    /// The method of interpolation.
    public enum Motion: String, Sendable, CaseIterable {
        /// The method of the live relay: a pair of pictures is enough.
        case lowLatency = "low-latency"
        /// Better pictures, and several times slower. It looks one picture ahead, past the pair.
        case quality
        /// The default for files: a network improves the pictures of `quality`, in six times its time.
        case fused

        func makeSession(
            _ configuration: FrameInterpolationConfiguration, _ workers: WorkerPool
        ) throws(EnhanceError) -> FrameInterpolation {
            switch self {
            case .lowLatency: return try LowLatencyFrameInterpolation(configuration, workers: workers)
            case .quality: return try FrameRateConversion(configuration, workers: workers)
            case .fused:
                var configuration = configuration
                configuration.fusion = .shipped
                return try FrameRateConversion(configuration, workers: workers)
            }
        }
    }

    public init(input: String, output: String) {
        self.input = input
        self.output = output
    }

    /// What an output is made from, and how: the same for another run of the same work.
    var source: String? {
        guard resumes, MediaFileWriter.canResume(output) else { return nil }
        var status = stat()
        var settings = self
        settings.threads = 0
        var text = "\(settings)"
        // What settings name may have changed in its file.
        for path in [input] + steps.files.map(\.path) {
            guard unsafe stat(path, &status) == 0 else { return nil }
            text += " \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        }
        return text
    }

    /// Whether a run before has completed the output, and its resume file is still there.
    public var isFinished: Bool { source.map { MediaFileWriter.isFinished(output, source: $0) } ?? false }

    /// Removes what was kept. Call it when the output is complete.
    public func removeResumeFile() {
        if source != nil { unsafe unlink(MediaFileWriter.resumePath(of: output)) }
    }

    /// Whether the pictures' quantisers matter: to networks, and to steps.
    var readsQuantisers: Bool { tier > .base || restoration != nil || steps.readsQuantisers }

    /// Enhances the file. Blocks until it is done.
    /// - Parameters:
    ///   - notice: called with a line for people when the output cannot hold something of the input, once for each kind, and at
    ///     every change of the pictures' size.
    ///   - progress: called after each input picture with the number of pictures done and, where the file tells, the number of
    ///     all. Return false to end the work; the output is then a complete file up to that picture.
    /// - Throws: an error of the file, the codec or the processors. The pictures written before it can be played.
    public func run(
        notice: @escaping (String) -> Void = { _ in }, progress: (Int, Int?) -> Bool
    ) throws(FileEnhancementError) -> FileEnhancementReport {
        let (path, exportsQuantisers, part, hdrPeak) = (input, readsQuantisers, part, hdrPeak)
        let reader = try withCodecErrors { () throws(CodecError) in
            try FileReader(
                path: path, exportsQuantisers: exportsQuantisers, readsTransparency: true, part: part, hdrPeak: hdrPeak)
        }
        // Else an output that was there would be gone for nothing.
        try withCodecErrors { () throws(CodecError) in try reader.requirePicture() }
        let work = try FileWork(self, reader, notice: notice)
        do throws(FileEnhancementError) {
            var pictures = 0
            var started = MonotonicTime.now()
            while let item = try withCodecErrors({ () throws(CodecError) in try reader.next() }) {
                switch consume item {
                case .picture(let picture, let time):
                    work.recordDecoding(.now() - started)
                    try work.process(picture, at: time, of: reader)
                    pictures += 1
                    if !progress(pictures, reader.video.pictureCount) { return try work.finish(reader, isWhole: false) }
                case .passed(let packet):
                    try work.copy(packet)
                }
                started = .now()
            }
            return try work.finish(reader, isWhole: true)
        } catch {
            // Complete the file, so that the pictures written so far can be played.
            _ = try? work.finish(reader, isWhole: false)
            throw error
        }
    }
}

/// Why a file could not be enhanced.
public enum FileEnhancementError: Error {
    case codec(CodecError)
    case enhance(EnhanceError)
}

extension FileEnhancementError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .codec(let error): error.description
        case .enhance(let error): "\(error)"
        }
    }
}

/// Runs `body` and wraps its error.
func withCodecErrors<Result: ~Copyable>(
    _ body: () throws(CodecError) -> Result
) throws(FileEnhancementError) -> Result {
    do throws(CodecError) {
        return try body()
    } catch {
        throw .codec(error)
    }
}

/// Runs `body` and wraps its error.
func withEnhanceErrors<Result: ~Copyable>(
    _ body: () throws(EnhanceError) -> Result
) throws(FileEnhancementError) -> Result {
    do throws(EnhanceError) {
        return try body()
    } catch {
        throw .enhance(error)
    }
}
