import Codec
import Enhance
import Media
import Telemetry

/// Enhances a file with the relay's processors: enlarges every picture and synthesises frames between each two. There are no
/// deadlines.
public struct FileEnhancement: Sendable {
    public var input: String
    public var output: String
    public var size = OutputSize.double
    /// The factor of the frame rate: with K, N frames become K·(N−1)+1.
    public var interpolate = 1
    public var tier = SuperResolutionTier.neuralMedium
    /// 0…1; 0 leaves pictures as they are.
    public var sharpness = 0.0
    public var reusesTiles = true
    /// Whether interlaced pictures become progressive before they are enlarged.
    public var deinterlaces = true
    public var motion = Motion.quality
    public var threads = 2
    /// x264's constant rate factor, where the output is coded.
    public var quality = 18.0

    /// The method of interpolation.
    public enum Motion: String, Sendable, CaseIterable {
        /// The method of the live relay: a pair of pictures is enough.
        case lowLatency = "low-latency"
        /// The default for files: better pictures, and several times slower. It looks one picture ahead, past the pair.
        case quality

        fileprivate func makeSession(
            _ configuration: FrameInterpolationConfiguration, _ workers: WorkerPool
        ) throws(EnhanceError) -> FrameInterpolation {
            switch self {
            case .lowLatency: try LowLatencyFrameInterpolation(configuration, workers: workers)
            case .quality: try FrameRateConversion(configuration, workers: workers)
            }
        }
    }

    public init(input: String, output: String) {
        self.input = input
        self.output = output
    }

    /// Enhances the file. Blocks until it is done.
    /// - Parameter progress: called after each input picture with the number of pictures done and, where the file tells, the
    ///   number of all. Return false to end the work; the output is then a complete file up to that picture.
    /// - Throws: an error of the file, the codec or the processors. The pictures written before it can be played.
    public func run(progress: (Int, Int?) -> Bool) throws(FileEnhancementError) -> FileEnhancementReport {
        let reader = try withCodecErrors { () throws(CodecError) in try FileReader(path: input) }
        let work = try FileWork(self, reader)
        do throws(FileEnhancementError) {
            var pictures = 0
            var started = MonotonicTime.now()
            while let item = try withCodecErrors({ () throws(CodecError) in try reader.next() }) {
                switch consume item {
                case .picture(let picture, let time):
                    work.recordDecoding(.now() - started)
                    try work.process(picture, at: time)
                    pictures += 1
                    if !progress(pictures, reader.video.pictureCount) { return try work.finish(reader) }
                case .audio(let packet):
                    try work.copy(packet)
                }
                started = .now()
            }
            return try work.finish(reader)
        } catch {
            // Complete the file, so that the pictures written so far can be played.
            _ = try? work.finish(reader)
            throw error
        }
    }
}

/// Why a file could not be enhanced.
public enum FileEnhancementError: Error {
    case codec(CodecError)
    case enhance(EnhanceError)
    case sizeChanged(from: PictureSize, to: PictureSize, picture: Int64)
}

extension FileEnhancementError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .codec(let error): error.description
        case .enhance(let error): "\(error)"
        case .sizeChanged(let from, let to, let picture):
            "picture \(picture) is \(to) where the ones before are \(from): cut the file there"
        }
    }
}

/// The counts and times of the work on a file. Times are in milliseconds.
public struct FileEnhancementReport: Codable, Sendable {
    public var picturesIn = 0
    public var picturesOut = 0
    public var synthesised = 0
    /// Pictures that were dropped because their time was not after that of the picture before.
    public var picturesLeftOut = 0
    /// Interlaced pictures that were made progressive.
    public var picturesDeinterlaced = 0
    /// Damaged packets and unreadable parts of the file.
    public var damagedPackets = 0
    /// How often the time stamps went back.
    public var timelineJumps = 0
    /// How many tiles of all pictures a network computed, and how many were copied from the picture before.
    public var tilesComputed = 0
    public var tilesReused = 0
    /// Milliseconds for one picture in each stage: reading and decoding, enlarging, synthesising, and encoding and writing.
    public var decode: Quantiles
    public var enlarge: Quantiles
    public var synthesise: Quantiles
    public var encode: Quantiles
    public var seconds = 0.0
}

/// The processors of one file and their state. Not thread-safe.
private final class FileWork {
    private let settings: FileEnhancement
    private let writer: FileWriter
    private let video: FileVideo
    private let superResolution: SuperResolutionSession
    private let interpolation: FrameInterpolation?
    private let deinterlacing: FileDeinterlacing?
    /// The last two enlarged pictures. Two are kept because interpolation may need one picture of lookahead.
    private let enlarged: [Picture]
    private let between: Picture
    private let outputUnit: Int64
    private var pictures = 0
    private var synthesised = 0
    private var leftOut = 0
    private var tilesComputed = 0
    private var tilesReused = 0
    /// The time stamps of the last picture that was processed, and of the last one that was written.
    private var lastTime: Int64?
    private var writtenTime: Int64?
    private var decodeTimes = Histogram()
    private var enlargeTimes = Histogram()
    private var synthesisTimes = Histogram()
    private var encodeTimes = Histogram()
    private let start = MonotonicTime.now()

    init(_ settings: FileEnhancement, _ reader: FileReader) throws(FileEnhancementError) {
        var settings = settings
        video = reader.video
        let enlargement = Enlargement(from: video.size, to: settings.size.size(of: video.size))
        // The networks only refine doubled pictures.
        if !enlargement.doubles { settings.tier = .base }
        self.settings = settings
        let workers = WorkerPool(threadCount: settings.threads)
        var enlarging = SuperResolutionConfiguration(size: video.size)
        enlarging.scaleFactor = enlargement.doubles ? 2 : 1
        enlarging.outputSize = enlargement.output
        enlarging.sharpness = settings.sharpness
        enlarging.reusesTiles = settings.reusesTiles
        var interpolating = FrameInterpolationConfiguration(size: video.size)
        interpolating.scaleFactor = enlargement.doubles ? 2 : 1
        interpolating.outputSize = enlargement.output
        do throws(EnhanceError) {
            if settings.tier > .base { enlarging.useShippedNetworks() }
            superResolution = try SuperResolutionSession(enlarging, workers: workers)
            interpolation =
                settings.interpolate > 1 ? try settings.motion.makeSession(interpolating, workers) : nil
        } catch {
            throw .enhance(error)
        }
        deinterlacing = settings.deinterlaces ? FileDeinterlacing() : nil
        enlarged = (0..<2).map { [superResolution] _ in Picture(size: superResolution.outputSize) }
        between = Picture(size: superResolution.outputSize)
        // The time unit of the output is a K-th of the input's, so that all its times are whole numbers.
        outputUnit = Int64(settings.interpolate)
        var output = FileVideo(
            size: superResolution.outputSize,
            frameRate: Rational(video.frameRate.numerator * outputUnit, video.frameRate.denominator),
            timeBase: Rational(video.timeBase.numerator, video.timeBase.denominator * outputUnit))
        output.color = video.color
        if case .exactly = settings.size { output.color = video.color.shaped(from: enlargement.input, to: enlargement.output) }
        var coding = FileWriter.Settings()
        coding.quality = settings.quality
        coding.threads = settings.threads
        let (path, described) = (settings.output, output)
        writer = try withCodecErrors { () throws(CodecError) in
            try FileWriter(path: path, video: described, copyingAudioOf: reader, settings: coding)
        }
    }

    func recordDecoding(_ time: Nanoseconds) { decodeTimes.record(time) }

    /// Enlarges a picture, and writes what can be written then.
    func process(_ picture: consuming DecodedPicture, at time: Int64) throws(FileEnhancementError) {
        guard picture.size == video.size else {
            throw .sizeChanged(from: video.size, to: picture.size, picture: picture.id)
        }
        if let lastTime, time <= lastTime {
            leftOut += 1
            return
        }
        do throws(EnhanceError) {
            let started = MonotonicTime.now()
            let made = deinterlacing?.progressive(picture)
            let view = unsafe made?.view ?? picture.view
            let parameters = SuperResolutionParameters(
                quantiser: picture.meanQuantiser.map { Int($0.rounded()) },
                chromaLocation: picture.color.chromaLocation)
            let result = unsafe try superResolution.process(
                view, into: enlarged[pictures % 2].mutableView, tier: settings.tier, parameters)
            tilesComputed += result.tilesSmall + result.tilesMedium
            tilesReused += result.tilesReused
            enlargeTimes.record(.now() - started)
            interpolation?.chromaLocation = picture.color.chromaLocation
            unsafe try interpolation?.push(
                view, enhanced: superResolution.beforeResampling(view) ?? enlarged[pictures % 2].view)
        } catch {
            throw .enhance(error)
        }
        deinterlacing?.keep(picture)
        if interpolation?.lookahead != 1 {
            try emit(enlarged[pictures % 2], at: time)
        } else if let lastTime {
            try emit(enlarged[(pictures - 1) % 2], at: lastTime)
        }
        pictures += 1
        lastTime = time
    }

    /// Writes the frames between the last picture and this one, and then this one.
    private func emit(_ picture: Picture, at time: Int64) throws(FileEnhancementError) {
        if let writtenTime { try synthesise(from: writtenTime, to: time) }
        try write(picture, at: time * outputUnit)
        writtenTime = time
    }

    /// Copies a packet of sound to the output.
    func copy(_ packet: consuming CodedPacket) throws(FileEnhancementError) {
        do throws(CodecError) {
            try writer.write(packet)
        } catch {
            throw .codec(error)
        }
    }

    private func synthesise(from last: Int64, to time: Int64) throws(FileEnhancementError) {
        guard let interpolation, interpolation.isReady else { return }
        for step in 1..<outputUnit {
            let started = MonotonicTime.now()
            do throws(EnhanceError) {
                unsafe try interpolation.synthesise(
                    phase: Double(step) / Double(outputUnit), into: between.mutableView)
            } catch {
                throw .enhance(error)
            }
            synthesisTimes.record(.now() - started)
            synthesised += 1
            try write(between, at: last * outputUnit + (time - last) * step)
        }
    }

    private func write(_ picture: Picture, at time: Int64) throws(FileEnhancementError) {
        let started = MonotonicTime.now()
        try withCodecErrors { () throws(CodecError) in unsafe try writer.write(picture.view, at: time) }
        encodeTimes.record(.now() - started)
    }

    /// Writes the picture that is held back and completes the file. Completes it also when that write fails.
    func finish(_ reader: FileReader) throws(FileEnhancementError) -> FileEnhancementReport {
        do throws(FileEnhancementError) {
            if let interpolation, interpolation.lookahead == 1, let lastTime, lastTime != writtenTime {
                interpolation.finish()
                try emit(enlarged[(pictures - 1) % 2], at: lastTime)
            }
        } catch {
            try? writer.finish()
            throw error
        }
        try withCodecErrors { () throws(CodecError) in try writer.finish() }
        return FileEnhancementReport(
            picturesIn: pictures + leftOut, picturesOut: pictures + synthesised, synthesised: synthesised,
            picturesLeftOut: leftOut, picturesDeinterlaced: deinterlacing?.count ?? 0, damagedPackets: reader.damagedPackets,
            timelineJumps: reader.jumps,
            tilesComputed: tilesComputed, tilesReused: tilesReused, decode: .init(decodeTimes),
            enlarge: .init(enlargeTimes), synthesise: .init(synthesisTimes), encode: .init(encodeTimes),
            seconds: (.now() - start).seconds)
    }
}

/// Runs `body` and wraps its error.
private func withCodecErrors<Result: ~Copyable>(
    _ body: () throws(CodecError) -> Result
) throws(FileEnhancementError) -> Result {
    do throws(CodecError) {
        return try body()
    } catch {
        throw .codec(error)
    }
}
