import Codec
import Enhance
import EnhanceNetworks
import Media
import Telemetry

/// The processors of one file and their state. Not thread-safe.
final class FileWork {
    private let settings: FileEnhancement
    private let writer: MediaFileWriter
    private let video: FileVideo
    /// The size of pictures that are upright.
    private let shownSize: PictureSize
    private let resizing: FileResizing
    private let turning: FileTurning
    private let transparency: FileTransparency
    private let notice: (String) -> Void
    private let chain: PictureChain
    private let steps: FileSteps
    /// The last three enlarged pictures: a pair, and one that interpolation may look ahead at.
    private let enlarged: [Picture]
    /// What they carry for viewers.
    private var carried: [PictureUserData?] = [nil, nil, nil]
    /// When each was shown last, where pictures behind it repeat it, and whether it repeats the one before it.
    private var repeatedAt: [Int64?] = [nil, nil, nil]
    private var rests = [false, false, false]
    private let between: Picture
    private let comparison: SideBySide?
    private var timing: FileTiming
    private let repeats: RepeatedPictures?
    private var repeated = 0
    /// What repeats carry, for the next picture.
    private var repeatedData: PictureUserData?
    private var pictures = 0
    private var synthesised = 0
    private var picturesBlurred = 0
    private var picturesKept = 0
    private var leftOut = 0
    private var tilesComputed = 0
    private var tilesReused = 0
    /// How many pictures came in order.
    private var arrived = 0
    /// The time stamps of the first picture, and of the last one that came in order.
    private var firstTime: Int64?
    /// Of pictures that leave.
    private let sampleShape: Rational
    /// Of the newest picture.
    private var leaving: FilePictureFacts?
    private var newestTime: Int64?
    /// How long after the one before the newest picture came.
    private var step: Int64 = 0
    /// The time stamps of the last picture that was enlarged, and of the last one that was written.
    private var lastTime: Int64?
    private var writtenTime: Int64?
    private var picturesWritten = 0
    /// What pictures carry that no slot of a constant rate has shown yet.
    private var unshown: PictureUserData?
    /// The number of the picture that was written last.
    private var written = 0
    /// What the next picture is to carry.
    private var waiting: PictureUserData?
    private var captionsPassed = 0
    private var captionsDropped = 0
    private let losses: FileLosses
    private var decodeTimes = Histogram()
    private var enlargeTimes = Histogram()
    private var synthesisTimes = Histogram()
    private var compareTimes = Histogram()
    private var encodeTimes = Histogram()
    private let start = MonotonicTime.now()

    /// - Parameter notice: called with a line for people when something of the file is left out or cannot be kept.
    init(
        _ settings: FileEnhancement, _ reader: FileReader, notice: @escaping (String) -> Void
    ) throws(FileEnhancementError) {
        var settings = settings
        self.notice = notice
        video = reader.video
        turning = FileTurning(video.color.orientation, size: video.size)
        let shownSize = turning.shownSize
        self.shownSize = shownSize
        let enlargement = Enlargement(
            from: shownSize, to: settings.size.size(of: shownSize), refined: settings.tier > .base)
        if !enlargement.doubles { settings.tier = settings.restoration?.tier ?? .base }
        if enlargement.doubles, settings.restoration != nil {
            notice("pictures are enlarged by networks that take artefacts out themselves: they are not restored before")
            settings.restoration = nil
        }
        self.settings = settings
        let timing = FileTiming(
            of: FileVideoTimes(frameRate: video.frameRate, timeBase: video.timeBase), interpolate: settings.interpolate,
            rate: settings.rate, slowness: settings.slowness, longestGap: settings.gaps.longest)
        self.timing = timing
        // Beside the enhanced picture stands the one that came with it.
        repeats = timing.wantsRepeats && settings.comparison == nil ? RepeatedPictures(size: shownSize) : nil
        let workers = WorkerPool(threadCount: settings.threads)
        var enlarging = SuperResolutionConfiguration(size: shownSize)
        enlarging.scaleFactor = enlargement.doubles ? 2 : 1
        enlarging.outputSize = enlargement.output
        enlarging.sharpness = settings.steps.sharpness
        enlarging.reusesTiles = settings.reusesTiles
        var interpolating = FrameInterpolationConfiguration(size: shownSize)
        interpolating.scaleFactor = enlargement.doubles ? 2 : 1
        interpolating.outputSize = enlargement.output
        do throws(EnhanceError) {
            enlarging.networks[settings.tier] =
                settings.restoration == nil
                ? .shipped(settings.tier, for: settings.content) : .shippedRestoration(settings.tier)
            let lookingAhead = settings.motion != .lowLatency
            let sources = try settings.steps.makeSteps(
                at: .source, size: shownSize, lookingAhead: lookingAhead, workers: workers)
            let results = try settings.steps.makeSteps(at: .result, size: enlargement.output, workers: workers)
            let synthesis: PictureSynthesis? =
                if timing.synthesises {
                    PictureSynthesis(between: try settings.motion.makeSession(interpolating, workers))
                } else if settings.motionBlur > 0 {
                    PictureSynthesis(
                        blurring: try MotionBlur(
                            interpolating,
                            light: settings.motionBlurLight == .coded
                                ? .coded : .linear(isFullRange: video.color.range == .full),
                            workers: workers))
                } else {
                    nil
                }
            chain = PictureChain(
                try PictureEnlargement(enlarging, workers: workers), synthesis, steps: sources + results)
            steps = try FileSteps(settings.steps, size: video.size, chain, workers: workers)
        } catch {
            throw .enhance(error)
        }
        let outputSize = enlargement.output
        resizing = FileResizing(to: video, workers: workers)
        enlarged = (0..<3).map { _ in Picture(size: outputSize) }
        between = Picture(size: outputSize)
        comparison = settings.comparison.map { [steps] in
            SideBySide($0, from: shownSize, to: outputSize, lookahead: steps.lookahead, workers: workers)
        }
        var output = FileVideo(size: outputSize, frameRate: timing.frameRate, timeBase: timing.timeBase)
        output.color = video.color.upright()
        if case .exactly = settings.size { output.color = output.color.shaped(from: enlargement.input, to: enlargement.output) }
        sampleShape = output.color.sampleAspectRatio
        var coding = MediaFileWriter.Settings()
        coding.codec = settings.codec
        coding.quality = settings.quality
        coding.threads = settings.threads
        coding.slowness = settings.slowness
        coding.stretchesSound = settings.sound == .stretch
        coding.leavesOutPictures = settings.steps.holdsBypass
        coding.source = settings.source
        let (path, described) = (settings.output, output)
        writer = try withCodecErrors { () throws(CodecError) in
            try MediaFileWriter(path: path, video: described, keeping: reader, settings: coding, notice: notice)
        }
        transparency = FileTransparency(turning, to: outputSize, workers: workers)
        losses = FileLosses(output: path, notice: notice)
    }

    func recordDecoding(_ time: Nanoseconds) { decodeTimes.record(time) }

    /// The file's time unit, and whether it is far shorter than a picture's time.
    private var ticksPerSecond: Int64 { Int64(1 / max(video.timeBase.value, 1e-9)) }
    private var hasFineTimes: Bool { video.timeBase.value * video.frameRate.value <= 0.25 }

    /// Adds a picture, and writes what can be written then.
    /// - Parameter reader: says how transparent the picture is.
    func process(
        _ picture: consuming DecodedPicture, at time: Int64, of reader: FileReader
    ) throws(FileEnhancementError) {
        var time = time
        // Captions of a picture that is left out go with the next one.
        add(picture.userData, to: &waiting)
        if let newestTime, time <= newestTime {
            // A stamp that is repeated, or goes back a little: the picture is shown right behind the one before it.
            guard hasFineTimes, newestTime - time <= ticksPerSecond else {
                leftOut += 1
                return
            }
            time = newestTime + 1
        }
        if firstTime == nil { firstTime = time }
        step = newestTime.map { time - $0 } ?? 0
        newestTime = time
        if let line = resizing.follow(picture) {
            notice(line)
            try withEnhanceErrors { () throws(EnhanceError) in try steps.change(to: resizing.input) }
        }
        do throws(EnhanceError) { try steps.treat(picture) } catch { throw .enhance(error) }
        losses.tell(picture, reader, writer, transparency)
        let facts = FilePictureFacts(
            time: time, quantiser: picture.meanQuantiser.map { Int($0.rounded()) },
            chromaLocation: picture.color.upright().chromaLocation,
            isFullRange: picture.color.range == .full, matrix: picture.color.matrix, userData: waiting)
        waiting = nil
        if let line = turning.follow(picture.color.orientation) { notice(line) }
        if let comparison {
            let started = MonotonicTime.now()
            // A picture as it came is shown with its masks.
            let came = unsafe settings.steps.holdsBypass ? steps.treated(picture.view) : picture.view
            let shown = unsafe resizing.resized(came, chromaLocation: picture.color.chromaLocation)
            unsafe comparison.keep(turning.upright(shown), index: arrived, chromaLocation: facts.chromaLocation)
            compareTimes.record(.now() - started)
        }
        let treated = unsafe resizing.resized(
            steps.treated(picture.view), chromaLocation: picture.color.chromaLocation)
        let view = unsafe turning.upright(treated)
        arrived += 1
        let out = try withEnhanceErrors { () throws(EnhanceError) in unsafe try steps.push(view, facts) }
        if let out { unsafe try enlarge(steps.result(of: view), out) }
        steps.keep(picture)
    }

    /// What a picture that is written carries.
    private func passing(_ data: PictureUserData?) -> PictureUserData? {
        guard let data else { return nil }
        guard writer.holdsUserData else {
            if captionsDropped == 0, data.validPieces > 0 {
                notice("captions are left out, for \(settings.output) cannot hold them: name an .mp4, .mkv, .mov or .ts file")
            }
            captionsDropped += data.validPieces
            return nil
        }
        captionsPassed += data.validPieces
        return data
    }

    /// Enlarges a picture, and writes what can be written then.
    @unsafe private func enlarge(_ view: PictureView, _ facts: FilePictureFacts) throws(FileEnhancementError) {
        let isRepeat = unsafe repeats?.isRepeat(view) ?? false
        if isRepeat, let lastTime, Double(facts.time - lastTime) * video.timeBase.value <= Self.longestRepeat {
            repeated += 1
            repeatedAt[(pictures - 1) % 3] = facts.time
            add(facts.userData, to: &repeatedData)
            return
        }
        if settings.motionBlur > 0, let lastTime, Double(facts.time - lastTime) * video.timeBase.value > Self.longestPair {
            // Too far apart for motion between them.
            chain.synthesis?.finish()
            try emit(pictures - 1, at: lastTime)
        }
        do throws(EnhanceError) {
            if needsEnlarging { unsafe try enlargeAndAppend(view, facts) }
        } catch {
            throw .enhance(error)
        }
        add(facts.userData, to: &repeatedData)
        carried[pictures % 3] = repeatedData.take()
        (repeatedAt[pictures % 3], rests[pictures % 3]) = (nil, isRepeat)
        if chain.synthesis?.lookahead != 1 {
            try emit(pictures, at: facts.time)
        } else if let lastTime, lastTime != writtenTime {
            try emit(pictures - 1, at: lastTime)
        }
        pictures += 1
        lastTime = facts.time
    }

    /// Whether a picture is enlarged: not long before the first one that was not there before.
    private var needsEnlarging: Bool { writer.keptUntil == nil || pictures + Self.picturesAhead >= writer.keptNumber }
    /// So many pictures before the first one that is written are enlarged again, for all that looks back.
    private static let picturesAhead = 8

    @unsafe private func enlargeAndAppend(_ view: PictureView, _ facts: FilePictureFacts) throws(EnhanceError) {
        let started = MonotonicTime.now()
        if settings.restoration != nil, facts.quantiser == nil { losses.tellNotRestored() }
        let wish = PictureEnlargement.Wish(
            settings.tier, isWhole: true,
            SuperResolutionParameters(quantiser: facts.quantiser, chromaLocation: facts.chromaLocation))
        let target = enlarged[pictures % 3]
        let result = unsafe try chain.enlarging.process(view, into: target.mutableView, wish)
        tilesComputed += result.tilesComputed
        tilesReused += result.tilesReused
        enlargeTimes.record(.now() - started)
        unsafe try chain.append(view, target.view, chromaLocation: facts.chromaLocation)
        leaving = facts
        if settings.motionBlur == 0 { try finish(target, at: Double(facts.time) * video.timeBase.value) }
    }

    /// Takes an enlarged or synthesised picture through the steps on what leaves.
    /// - Parameter time: its time stamp in seconds.
    private func finish(_ picture: Picture, at time: Double) throws(EnhanceError) {
        guard let leaving, !chain.results.kinds.isEmpty else { return }
        var times = StepValues(blank: Nanoseconds.zero)
        var parameters = StepParameters(
            settings.steps, chromaLocation: leaving.chromaLocation, isFullRange: leaving.isFullRange, matrix: leaving.matrix)
        parameters.sampleAspectRatio = sampleShape
        parameters.moment.number = UInt64(pictures)
        parameters.moment.presented = .seconds(time - Double(firstTime ?? 0) * video.timeBase.value)
        unsafe try chain.finish(picture.mutableView, parameters, &times)
        steps.record(times)
    }

    /// Motion goes past repeats of a picture within so many seconds, as of an animation at 8 pictures a second. A picture that is
    /// repeated for longer rests.
    private static let longestRepeat = 0.13
    /// Motion is not followed between pictures further apart, in seconds.
    private static let longestPair = 0.25

    /// Writes what is to be shown between the last picture and this one, and then this one, which is one of the last two.
    private func emit(_ index: Int, at time: Int64) throws(FileEnhancementError) {
        let before = (index + 2) % 3
        let held = rests[index % 3] ? time : rests[before] ? repeatedAt[before] : nil
        let shown = timing.add(time, heldUntil: held)
        if let gap = timing.gap {
            losses.tellGap(
                gap, before: Double(time - (firstTime ?? 0)) * video.timeBase.value, isWanted: settings.gaps == .keep)
        }
        for shown in shown { try show(shown, index) }
        add(carried[index % 3].take(), to: &unshown)
        writtenTime = time
    }

    /// Writes one picture.
    /// - Parameter index: of the later of the two that it is made of.
    private func show(_ shown: FileTiming.Shown, _ index: Int) throws(FileEnhancementError) {
        if let kept = writer.keptUntil, shown.time < kept {
            if shown.source == .later { add(carried[index % 3].take(), to: &unshown) }
            return try keep(until: shown.time)
        }
        switch shown.source {
        case .earlier: try write(enlarged[(index + 2) % 3], at: shown.time, carrying: unshown.take())
        case .between(let phase):
            if try synthesise(phase.value, at: shown.time) {
                try write(between, at: shown.time, carrying: timing.wantsRepeats ? unshown.take() : nil)
            } else if timing.wantsRepeats {
                try write(enlarged[phase.value < 0.5 ? (index + 2) % 3 : index % 3], at: shown.time, carrying: unshown.take())
            }
        case .later:
            written = index
            add(carried[index % 3].take(), to: &unshown)
            try write(try blurred(at: shown.time) ?? enlarged[index % 3], at: shown.time, carrying: unshown.take())
        }
    }

    /// Writes a picture that is there from a run before.
    private func keep(until time: Int64) throws(FileEnhancementError) {
        captionsPassed += unshown.take()?.validPieces ?? 0
        try withCodecErrors { () throws(CodecError) in try writer.keep(until: time) }
        picturesKept += 1
        picturesWritten += 1
    }

    /// The picture that leaves next, blurred; nil where pictures are not.
    private func blurred(at time: Int64) throws(FileEnhancementError) -> Picture? {
        guard settings.motionBlur > 0 else { return nil }
        let started = MonotonicTime.now()
        do throws(EnhanceError) {
            let result = unsafe try chain.synthesis?.blur(strength: settings.motionBlur, into: between.mutableView)
            if let result, result.before + result.after > 0 { picturesBlurred += 1 }
            // Motion was found when the picture after this one came.
            synthesisTimes.record((.now() - started) + (result?.flowTime ?? .zero))
            try finish(between, at: Double(time) * timing.timeBase.value)
        } catch {
            throw .enhance(error)
        }
        return between
    }

    /// Adds what a picture carries to what others did.
    private func add(_ data: PictureUserData?, to all: inout PictureUserData?) {
        guard var data else { return }
        var sum = all ?? PictureUserData()
        if !sum.absorb(&data) { captionsDropped += data.validPieces }
        all = sum
    }

    /// Copies a packet of another stream to the output.
    func copy(_ packet: consuming CodedPacket) throws(FileEnhancementError) {
        do throws(CodecError) {
            try writer.write(packet)
        } catch {
            throw .codec(error)
        }
    }

    /// Makes the picture at a phase of the pair.
    /// - Returns: whether there is a pair.
    private func synthesise(_ phase: Double, at time: Int64) throws(FileEnhancementError) -> Bool {
        guard let synthesis = chain.synthesis, synthesis.isReady else { return false }
        let started = MonotonicTime.now()
        do throws(EnhanceError) {
            _ = unsafe try synthesis.make(phase: phase, into: between.mutableView)
            synthesisTimes.record(.now() - started)
            try finish(between, at: Double(time) * timing.timeBase.value)
        } catch {
            throw .enhance(error)
        }
        synthesised += 1
        return true
    }

    /// - Parameters:
    ///   - time: in the output's unit.
    ///   - userData: what viewers get beside the samples.
    private func write(
        _ picture: Picture, at time: Int64, carrying userData: PictureUserData? = nil
    ) throws(FileEnhancementError) {
        var shown = picture
        if let comparison {
            let started = MonotonicTime.now()
            shown = comparison.compose(
                written, picture, at: Double(time) * timing.timeBase.value - Double(firstTime ?? 0) * video.timeBase.value)
            compareTimes.record(.now() - started)
        }
        let started = MonotonicTime.now()
        let clear = transparency.enlarged
        let data = passing(userData)
        try withCodecErrors { [shown] () throws(CodecError) in
            unsafe try writer.write(shown.view, at: time, transparency: clear?.view.y, carrying: data, number: Int64(written))
        }
        picturesWritten += 1
        encodeTimes.record(.now() - started)
    }

    private var totals: StageTotals {
        StageTotals(
            decode: decodeTimes.sum.milliseconds, enlarge: enlargeTimes.sum.milliseconds,
            synthesise: synthesisTimes.sum.milliseconds, compare: compareTimes.sum.milliseconds,
            encode: encodeTimes.sum.milliseconds)
    }

    /// Writes the pictures that are held back and completes the file. Completes it also when that write fails.
    /// - Parameter isWhole: no picture follows.
    func finish(_ reader: FileReader, isWhole: Bool) throws(FileEnhancementError) -> FileEnhancementReport {
        if !isWhole { writer.stopKeeping() }
        do throws(FileEnhancementError) {
            while let facts = try withEnhanceErrors({ () throws(EnhanceError) in try steps.drain() }) {
                if let view = unsafe steps.result { unsafe try enlarge(view, facts) }
            }
            if let synthesis = chain.synthesis, synthesis.lookahead == 1, let lastTime, lastTime != writtenTime {
                synthesis.finish()
                try emit(pictures - 1, at: lastTime)
            }
            add(repeatedData.take(), to: &unshown)
            // The last picture stands before one that does not come.
            for shown in timing.end(heldUntil: repeatedAt[(pictures + 2) % 3], lasting: step) { try show(shown, pictures) }
            if let unshown { captionsDropped += unshown.validPieces }
        } catch {
            try? writer.finish(isWhole: false)
            throw error
        }
        try withCodecErrors { () throws(CodecError) in try writer.finish(isWhole: isWhole) }
        let none = Quantiles(Histogram())
        var report = FileEnhancementReport(
            picturesIn: pictures + repeated + leftOut, picturesOut: picturesWritten, synthesised: synthesised,
            picturesBlurred: picturesBlurred, picturesLeftOut: leftOut, picturesRepeated: repeated, picturesKept: picturesKept,
            picturesConverted: losses.converted, gapsKept: losses.gapsKept, captionsPassed: captionsPassed,
            captionsDropped: captionsDropped,
            isCutOff: reader.isCutOff,
            damagedPackets: reader.damagedPackets, timelineJumps: reader.jumps, tilesComputed: tilesComputed,
            tilesReused: tilesReused, decode: .init(decodeTimes), deinterlace: none, enlarge: .init(enlargeTimes),
            synthesise: .init(synthesisTimes),
            encode: .init(encodeTimes), totals: totals,
            seconds: (.now() - start).seconds)
        report.add(steps.reports(chain))
        return report
    }
}
