import ArgumentParser
import Codec
import Enhance
import EnhanceNetworks
import Foundation
import Media
import Offline
import Relay
import Settings
import Telemetry
import Synchronization

struct EnhanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enhance", abstract: "Enlarges and interpolates files, with the relay's processors and no deadline.",
        discussion: """
            Reads every file that libavformat reads, videos and pictures. Writes uncompressed pictures to .y4m files and to \
            standard output, one picture to .png, .jpg and .jpeg files. Writes H.264 and the input's audio to other containers.
            """)

    @Option(parsing: .upToNextOption, help: "The files to read; - is standard input.") var input: [String]
    @Option(help: "The file to write; - is standard output.") var output: String?
    @Option(
        help: """
            For several files: the folder to write them to, under their own names. What is neither a picture nor .y4m, .mp4, \
            .mkv, .mov or .ts becomes .mp4.
            """)
    var outputDirectory: String?
    @Option(
        name: .customLong("for"),
        help: """
            What the result is for, in place of the options that this stands for: phone is --scale 1 --restore m --crf 24, archive \
            --scale 2 --tier quality --crf 14, slow-motion --scale 1 --slow 4 --sound stretch.
            """)
    var preset: EnhancePreset?
    @Option(help: "Where to begin in the file: seconds, or as 1:30 or 1:02:03.5.") var from: PlaceInFile?
    @Option(help: "Where to end.") var to: PlaceInFile?
    @Option(help: "How many times wider and higher. (default: 2)") var scale: FileScale?
    @Option(
        help:
            "The exact size of the output, in place of --scale: an even width and height, as 1280x720. The picture keeps its shape."
    )
    var size: SizeArgument?
    @Option(help: "Frames out for each frame in, 1 to 16: K turns N frames into K*(N-1)+1.") var interpolate = 1
    @Option(help: "The constant rate of the output, whatever the input's is: 60, 29.97, 24000/1001 … Not with --interpolate.")
    var fps: String?
    @Option(
        help: """
            How many times slower everything is shown, 1 to 16: at the input's rate, or that of --fps. Not with --interpolate. \
            (default: 1)
            """)
    var slow: Int?
    @Option(
        help: """
            What becomes of sound with --slow: none leaves it out; stretch makes it last as long, at its pitch, as AAC in stereo. \
            (default: none)
            """)
    var sound: FileEnhancement.Sound?
    @Option(
        help: """
            What becomes of gaps in a recording of variable rate, with --fps or --slow: fill repeats the picture before them, for a \
            minute at most; keep writes nothing where no picture comes for a quarter of a second. (default: fill)
            """)
    var gaps: FileEnhancement.Gaps?
    @Option(
        help: """
            Blur pictures along their motion, as a camera does whose shutter is open for so many per cent of the time between two: \
            1 to 100; 50 is a shutter of 180 degrees. Not with --interpolate, --fps or --slow.
            """)
    var motionBlur: Double?
    @Option(
        help: """
            What the mean over that time is taken of: coded is samples as they are, linear is light, as in a camera: what is bright \
            leaves bright traces. (default: coded)
            """)
    var motionBlurLight: FileEnhancement.MotionBlurLight?
    @Option(help: "Quality of the enlargement. quality takes seven to ten times as long as neural-m. (default: neural-m)")
    var tier: NetworkTierArgument?
    @Option(
        help: """
            Take coding artefacts out of pictures that keep their size, with --scale 1 or --size: by a small network (s), or one \
            that takes several times as long (m). What was coded finely stays as it is.
            """)
    var restore: FileEnhancement.Restoration?
    @Option(
        help: """
            What the networks are trained for: general is any video; calls is coarsely coded pictures, for which neural-m takes \
            a third more time.
            """)
    var content = NetworkContent.general
    @Option(help: "The brightest light of PQ pictures in cd/m²: 100 to 10000. Without it: as they say, or else 1000.")
    var hdrPeak: Double?
    @Option(help: "How much to sharpen the enlarged pictures: 0 (not at all) to 1.") var sharpness = 0.0
    @Option(
        help: """
            Take noise out of pictures before they are enlarged: 0 (none) to 1 (much), or auto. With --motion low-latency \
            only earlier pictures help, as in the live relay. (default: 0)
            """)
    var denoise: DenoiseArgument?
    @Option(
        help: """
            Kind of interpolation: low-latency is what the live relay uses; quality looks one picture ahead and takes several \
            times as long; fused improves its pictures by a network and takes several times as long again.
            """)
    var motion = FileEnhancement.Motion.fused
    @OptionGroup var steps: StepOptions
    @Flag(inversion: .prefixedNo, help: "Whether to make interlaced pictures progressive, one frame of each.")
    var deinterlace = true
    @Option(
        help: """
            Write the pictures as they came and enhanced, side by side in one: with the line between them in the middle, or \
            going to and fro.
            """)
    var compare: FileEnhancement.Comparison?
    @Flag(
        help: """
            Keep what is finished in a file beside the output (NAME.resume) until all is done, and go on from it where it is there: \
            after an interruption, give the same command again. For coded files.
            """)
    var resume = false
    @Option(help: "Threads that enhance a picture together.") var threads = 2
    @Option(help: "Of coded output: h264, or hevc (H.265), whose files are smaller and take several times as long.")
    var codec = OutputCodec.h264
    @Option(
        name: [.customLong("crf"), .customLong("quality")],
        help: "The constant rate factor of x264 or x265, 0 to 51, for coded output: less is better, and larger. (default: 18)")
    var quality: Double?
    @Option(help: "Write a report to this file, as JSON: an object for one file, a list for several.") var report: String?
    @Flag(help: "Print the report as JSON (to standard error where standard output is the pictures).") var json = false
    @Flag(help: "Do not print progress.") var quiet = false
    @Flag(
        inversion: .prefixedNo,
        help: "Whether to copy tiles that have not changed since the last picture. The result is the same.")
    var reuse = true

    mutating func validate() throws {
        try preset?.apply(to: &self)
        let (slow, quality) = (slow ?? 1, quality ?? 18)
        guard (output == nil) != (outputDirectory == nil) else {
            throw ValidationError("give --output for one file, or --output-directory")
        }
        guard output == nil || input.count == 1 else {
            throw ValidationError("--output is for one file: give --output-directory for \(input.count)")
        }
        guard outputDirectory == nil || !input.contains("-") else {
            throw ValidationError("standard input has no name to write it under: give --output")
        }
        if resume {
            guard !input.contains("-") else {
                throw ValidationError("standard input cannot be read again: --resume is for files")
            }
            guard output.map(MediaFileWriter.canResume) ?? true else {
                throw ValidationError("--resume is for coded files: name an .mp4, .mkv, .mov or .ts file")
            }
        }
        guard hdrPeak.map({ ColorConversion.peaks.contains($0) }) ?? true else {
            throw ValidationError("--hdr-peak is 100 to 10000, not \(hdrPeak!)")
        }
        guard (0...1).contains(sharpness) else { throw ValidationError("--sharpness is 0 to 1, not \(sharpness)") }
        guard scale == nil || size == nil else { throw ValidationError("--size takes the place of --scale: give one") }
        guard restore == nil || scale == .same || size != nil else {
            throw ValidationError("--restore is for pictures that keep their size: give --scale 1 or --size")
        }
        if let size = size?.value, size.width % 2 != 0 || size.height % 2 != 0 || !StreamOptions.isCodable(size) {
            throw ValidationError("--size is an even width and height up to 139264 blocks of 16x16, not \(size)")
        }
        guard (1...16).contains(interpolate) else {
            throw ValidationError("--interpolate is 1 to 16, not \(interpolate)")
        }
        if let to, to.seconds <= from?.seconds ?? 0 { throw ValidationError("--to lies behind --from") }
        guard (1...16).contains(slow) else { throw ValidationError("--slow is 1 to 16, not \(slow)") }
        guard sound == nil || slow > 1 else { throw ValidationError("--sound is for --slow: give both") }
        guard gaps == nil || fps != nil || slow > 1 else { throw ValidationError("--gaps is for --fps and --slow: give one") }
        guard interpolate == 1 || fps == nil && slow == 1 else {
            throw ValidationError("--fps and --slow take the place of --interpolate: give one")
        }
        guard motionBlurLight == nil || motionBlur != nil else {
            throw ValidationError("--motion-blur-light is for --motion-blur: give both")
        }
        if let motionBlur {
            guard (1...100).contains(motionBlur) else { throw ValidationError("--motion-blur is 1 to 100, not \(motionBlur)") }
            guard interpolate == 1, fps == nil, slow == 1 else {
                throw ValidationError("--motion-blur is for pictures as they come: not with --interpolate, --fps or --slow")
            }
        }
        if let fps {
            guard let rate = FrameRateText.read(fps), (1...240).contains(rate.value) else {
                throw ValidationError("--fps is 1 to 240 frames a second, as 60, 29.97 or 30000/1001, not \(fps)")
            }
        }
        guard (1...64).contains(threads) else { throw ValidationError("--threads is 1 to 64, not \(threads)") }
        guard (0...51).contains(quality) else { throw ValidationError("--crf is 0 to 51, not \(quality)") }
    }

    func run() throws {
        var settings = StepSettings()
        // They were tried when the arguments were read.
        try? steps.apply(to: &settings)
        try StepOptions.readFiles(of: &settings, stream: "")
        let outputs = try namedOutputs(settings.files)
        if let preset, !quiet { StandardError.line(preset.meaning) }
        let file = try report.map { try ReportFile(path: $0) }
        EndSignals.onArrival { Self.stopsEarly.store(true, ordering: .relaxed) }
        var outcomes: [FileOutcome] = []
        var failure: ExitCode?
        for (input, output) in zip(input, outputs) where !Self.stopsEarly.load(ordering: .relaxed) {
            var outcome = FileOutcome(input: input, output: output)
            let work = work(input, output, settings)
            if work.isFinished {
                StandardError.line("\(input) was finished before")
                continue
            }
            var progress = ProgressLine(of: self.input.count > 1 ? input : nil, isWanted: !quiet)
            do throws(FileEnhancementError) {
                outcome.report = try work.run(notice: { line in
                    progress.clear()
                    StandardError.line("in \(input): \(line)")
                }) { done, all in
                    progress.show(done, of: all)
                    return !Self.stopsEarly.load(ordering: .relaxed)
                }
                progress.clear()
            } catch {
                progress.clear()
                let code = Failure.exit(error, in: input)
                if self.input.count == 1 { throw code }
                failure = failure ?? code
                outcome.error = "\(error)"
            }
            describe(outcome)
            outcomes.append(outcome)
        }
        if outcomes.allSatisfy({ $0.error == nil }), !Self.stopsEarly.load(ordering: .relaxed) {
            for (input, output) in zip(input, outputs) { work(input, output, settings).removeResumeFile() }
        }
        try show(outcomes, in: file)
        for outcome in outcomes where outcome.report?.isCutOff == true {
            StandardError.line("burnish: \(outcome.cutOff)")
            failure = failure ?? Failure.badInput
        }
        let failed = outcomes.filter { $0.error != nil }
        if !failed.isEmpty {
            StandardError.line("\(failed.count) of \(input.count) files failed: \(failed.map(\.input).joined(separator: ", "))")
        }
        if let failure { throw failure }
    }

    private func work(_ input: String, _ output: String, _ settings: StepSettings) -> FileEnhancement {
        var work = FileEnhancement(input: input, output: output)
        work.steps = settings
        let name = URL(filePath: input).deletingPathExtension().lastPathComponent
        work.steps.overlay?.material = settings.overlay?.material?.named(name)
        work.size = size.map { .exactly($0.value) } ?? (scale ?? .double).output
        work.part = FilePart(from: from?.seconds ?? 0, to: to?.seconds)
        work.interpolate = interpolate
        work.rate = fps.flatMap(FrameRateText.read)
        work.slowness = slow ?? 1
        if let gaps { work.gaps = gaps }
        if let sound { work.sound = sound }
        work.motionBlur = motionBlur ?? 0
        if let motionBlurLight { work.motionBlurLight = motionBlurLight }
        if let tier { work.tier = tier.value }
        work.restoration = restore
        work.content = content
        work.steps.sharpness = sharpness
        work.reusesTiles = reuse
        work.steps.deinterlace = deinterlace ? .auto : .off
        work.hdrPeak = hdrPeak
        if let denoise { work.steps.denoise = denoise.strength }
        work.motion = motion
        work.threads = threads
        work.codec = codec
        if let quality { work.quality = quality }
        work.comparison = compare
        work.resumes = resume
        return work
    }

    /// The file that each input's result goes to. Makes the folder for them.
    /// - Parameter read: the options that name other files, without dashes, and those.
    /// - Throws: after one line on standard error, an exit code.
    private func namedOutputs(_ read: [(key: String, path: String)]) throws -> [String] {
        var files = NamedFiles()
        for input in input { try files.read(input, "--input") }
        for file in read { try files.read(file.path, "--\(file.key)") }
        var outputs: [String] = []
        if let output {
            try files.write(output, "--output")
            outputs.append(output)
        } else if let folder = outputDirectory.map({ URL(filePath: $0, directoryHint: .isDirectory) }) {
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            } catch {
                StandardError.line("burnish: cannot make the folder \(folder.path): \(error.localizedDescription)")
                throw Failure.unavailable
            }
            for input in input {
                let output = folder.appending(path: Self.outputName(for: input)).path
                try files.write(output, "the output of \(input)")
                outputs.append(output)
            }
        }
        try files.write(report, "--report")
        return outputs
    }

    /// The name under which a file's result is written to a folder.
    private static func outputName(for input: String) -> String {
        let url = URL(filePath: input)
        let kept = ["png", "jpg", "jpeg", "y4m", "mp4", "mkv", "mov", "ts"]
        if kept.contains(url.pathExtension.lowercased()) { return url.lastPathComponent }
        return url.deletingPathExtension().lastPathComponent + ".mp4"
    }

    private static let stopsEarly = Atomic<Bool>(false)

    /// Says for people what was done.
    private func describe(_ outcome: FileOutcome) {
        guard !json, let result = outcome.report else { return }
        let name = input.count > 1 ? "\(outcome.input): " : ""
        if !quiet {
            StandardError.line(
                "\(name)\(result.picturesIn) pictures in, \(result.picturesOut) out in \(result.seconds.formatted()) s; "
                    + result.stages.map { "\($0.name) p50 \($0.time.p50) ms, p95 \($0.time.p95) ms" }
                    .joined(separator: "; "))
        }
        let faults = [
            (result.damagedPackets, "damaged packets"), (result.timelineJumps, "jumps of its time stamps, bridged"),
            (result.picturesLeftOut, "pictures left out because their times went back"),
        ].filter { $0.0 > 0 }.map { "\($0) \($1)" }
        if !faults.isEmpty { StandardError.line("in \(outcome.input): \(faults.joined(separator: ", "))") }
        if result.picturesDeinterlaced > 0, !quiet {
            StandardError.line("\(name)\(result.picturesDeinterlaced) interlaced pictures made progressive")
        }
    }

    private func show(_ outcomes: [FileOutcome], in file: ReportFile?) throws {
        guard let first = outcomes.first else { return }
        let text = try input.count == 1 ? first.report?.json() ?? "{}" : outcomes.json()
        // Standard output may be the pictures themselves.
        if json { output == "-" ? StandardError.line(text) : print(text) }
        try file?.write(text + "\n")
    }
}

/// The scales of a file, which has all the time that it needs.
enum FileScale: String, CaseIterable, ExpressibleByArgument {
    case same = "1"
    case oneAndHalf = "1.5"
    case double = "2"
    case triple = "3"

    var output: OutputSize {
        switch self {
        case .same: .same
        case .oneAndHalf: .oneAndHalf
        case .double: .double
        case .triple: .triple
        }
    }
}

extension NetworkContent: ExpressibleByArgument {}
extension FileEnhancement.Motion: ExpressibleByArgument {}
extension FileEnhancement.Restoration: ExpressibleByArgument {}
extension FileEnhancement.MotionBlurLight: ExpressibleByArgument {}
extension FileEnhancement.Gaps: ExpressibleByArgument {}
extension FileEnhancement.Sound: ExpressibleByArgument {}
extension FileEnhancement.Comparison: ExpressibleByArgument {}

/// A time in a file: `90`, `1:30`, `1:02:03.5`.
struct PlaceInFile: ExpressibleByArgument {
    let seconds: Double

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
        guard (1...3).contains(parts.count) else { return nil }
        var sum = 0.0
        for (place, part) in parts.enumerated() {
            guard let part, part.isFinite, part >= 0, part < 60 || place == 0,
                place == parts.count - 1 || part == part.rounded()
            else { return nil }
            sum = 60 * sum + part
        }
        seconds = sum
    }
}

/// How much noise to take away: 0 to 1, or `auto`.
struct DenoiseArgument: ExpressibleByArgument {
    /// nil is `auto`.
    let strength: Double?

    init?(argument: String) {
        strength = argument == "auto" ? nil : Double(argument)
        guard argument == "auto" || strength.map({ (0...1).contains($0) }) == true else { return nil }
    }

    static var allValueStrings: [String] { ["auto", "0 to 1"] }
}

/// A tier by its name: `base`, `neural-s`, `neural-m`, `quality`.
struct NetworkTierArgument: ExpressibleByArgument {
    var value: SuperResolutionTier

    init(_ value: SuperResolutionTier) { self.value = value }

    init?(argument: String) {
        guard let tier = SuperResolutionTier(name: argument) else { return nil }
        value = tier
    }

    var defaultValueDescription: String { value.name }
    static var allValueStrings: [String] { SuperResolutionTier.allCases.map(\.name) }
}
