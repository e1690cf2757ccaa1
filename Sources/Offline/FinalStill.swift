import Codec
import Enhance
import EnhanceNetworks
import Media

/// Makes one picture of a stream anew, as well as it can be: decoded, without the noise that pictures before it and behind it show to be
/// noise, enlarged by a network: where they were coded coarsely, by one for calls.
///
/// A value; ``make(_:)`` needs no other thread than its own helpers.
public struct FinalStill: Sendable {
    /// The steps on pictures.
    public var steps = StepSettings()
    public var size = OutputSize.double
    public var tier = SuperResolutionTier.quality
    public var threads = 1

    /// Larger pictures are not made.
    private static let mostSamples = 4096 * 2304
    /// Pictures with this mean quantiser and larger ones are coded coarsely.
    private static let coarse: Float = 20
    /// So many pictures before the one that is meant go through the noise filter.
    private static let before = 8

    public init() {}

    /// - Returns: a PNG file.
    /// - Throws: where the picture cannot be decoded.
    public func make(_ file: UnitFile) throws(FileEnhancementError) -> [UInt8] {
        let wanted = Self.wanted(file)
        guard let shown = wanted.firstIndex(of: file.target) else { throw .codec(Self.fault("the picture is not there")) }
        let behind = Set(wanted[(shown + 1)...])
        let around = Set(wanted)
        var configuration = VideoDecoder.Configuration()
        configuration.codec = file.codec
        configuration.hdrPeak = file.hdrPeak
        configuration.exportsQuantisers = true
        let settings = configuration
        let decoder = try withCodecErrors { () throws(CodecError) in try VideoDecoder(settings) }
        var orientation = HeldOrientation()
        var work: StillWork?
        /// Takes what has come out of the decoder.
        func take() throws(FileEnhancementError) -> [UInt8]? {
            while let output = try withCodecErrors({ () throws(CodecError) in try decoder.next() }) {
                switch consume output {
                case .noPicture(let id, let fault):
                    if id == file.target { throw .codec(Self.fault("\(fault)")) }
                case .picture(var picture):
                    picture.color.orientation = orientation.next(
                        isKeyframe: picture.isKeyframe, said: picture.statedOrientation)
                    guard around.contains(picture.id) else { continue }
                    if work?.fits(picture) != true {
                        // Pictures of another size do not help.
                        if behind.contains(picture.id) { continue }
                        work = try StillWork(self, picture)
                    }
                    if let result = try work!.process(picture, target: file.target) { return result }
                }
            }
            return nil
        }
        for unit in file.units {
            let result = unsafe file.bytes[unit.range].withUnsafeBytes { bytes in
                Result { () throws(CodecError) in _ = unsafe try decoder.decode(bytes, id: unit.id, flags: unit.flags) }
            }
            try withCodecErrors { () throws(CodecError) in try result.get() }
            if let result = try take() { return result }
        }
        decoder.drain()
        if let result = try take() { return result }
        if let result = try work?.drain(target: file.target) { return result }
        throw .codec(Self.fault("the picture does not come out of the decoder"))
    }

    /// The pictures that go through the noise filter, in the order of presentation.
    private static func wanted(_ file: UnitFile) -> [Int64] {
        let shown = file.units.sorted { ($0.presentation, $0.id) < ($1.presentation, $1.id) }
        guard let place = shown.firstIndex(where: { $0.id == file.target }) else { return [] }
        return shown[max(0, place - before)..<min(shown.count, place + TwoSidedNoiseFilter.longestDelay + 1)].map(\.id)
    }

    /// The size of the final picture: the stream's, or twice the input's where networks cannot refine that and it is not its own.
    func enlargement(of shown: PictureSize) -> Enlargement {
        func refined(_ size: OutputSize) -> Enlargement {
            Enlargement(from: shown, to: size.size(of: shown), refined: tier > .base)
        }
        let wanted: OutputSize = refined(size).doubles || size == .same ? size : .double
        return refined(wanted.limited(for: shown) { $0.samples <= Self.mostSamples })
    }

    /// What the network of pictures with a mean quantiser was trained for.
    fileprivate static func content(forQuantiser quantiser: Float?) -> NetworkContent {
        (quantiser ?? 0) >= coarse ? .calls : .general
    }

    private static func fault(_ text: String) -> CodecError {
        CodecError(.invalidData, operation: "decode", message: text, place: "final still")
    }
}

/// The processors of one still. Confined to one thread.
private final class StillWork {
    private let size: PictureSize
    private let color: ColorDescription
    private let settings: FinalStill
    private let tier: SuperResolutionTier
    private let turning: FileTurning
    private let chain: PictureChain
    private let steps: FileSteps
    private let enlarged: Picture

    init(_ settings: FinalStill, _ first: borrowing DecodedPicture) throws(FileEnhancementError) {
        (size, color, self.settings) = (first.size, first.color, settings)
        turning = FileTurning(first.color.orientation, size: first.size)
        let shown = turning.shownSize
        let enlargement = settings.enlargement(of: shown)
        let isRestored = enlargement.output == shown
        // Those around it are coded much alike.
        tier = enlargement.doubles ? settings.tier : isRestored ? .neuralMedium : .base
        var enlarging = SuperResolutionConfiguration(size: shown)
        enlarging.scaleFactor = enlargement.doubles ? 2 : 1
        enlarging.outputSize = enlargement.output
        enlarging.sharpness = settings.steps.sharpness
        enlarging.reusesTiles = false
        let content = FinalStill.content(forQuantiser: first.meanQuantiser)
        enlarging.networks[tier] = isRestored ? .shippedRestoration(tier) : .shipped(tier, for: content)
        let workers = WorkerPool(threadCount: settings.threads)
        enlarged = Picture(size: enlargement.output)
        do throws(EnhanceError) {
            let sources = try settings.steps.makeSteps(at: .source, size: shown, lookingAhead: true, workers: workers)
            let results = try settings.steps.makeSteps(at: .result, size: enlargement.output, workers: workers)
            chain = PictureChain(try PictureEnlargement(enlarging, workers: workers), nil, steps: sources + results)
            steps = try FileSteps(settings.steps, size: size, chain, workers: workers)
        } catch {
            throw .enhance(error)
        }
    }

    func fits(_ picture: borrowing DecodedPicture) -> Bool {
        picture.size == size
            && PictureTurn(picture.color.orientation).swapsAxes == PictureTurn(color.orientation).swapsAxes
    }

    /// - Returns: the picture that is meant, once it is there.
    func process(_ picture: consuming DecodedPicture, target: Int64) throws(FileEnhancementError) -> [UInt8]? {
        _ = turning.follow(picture.color.orientation)
        let facts = FilePictureFacts(
            time: picture.id, quantiser: picture.meanQuantiser.map { Int($0.rounded()) },
            chromaLocation: picture.color.upright().chromaLocation, isFullRange: picture.color.range == .full,
            matrix: picture.color.matrix)
        do throws(EnhanceError) { try steps.treat(picture) } catch { throw .enhance(error) }
        let view = unsafe turning.upright(steps.treated(picture.view))
        let out = try withEnhanceErrors { () throws(EnhanceError) in unsafe try steps.push(view, facts) }
        var result: [UInt8]?
        if let out, out.time == target { result = unsafe try finish(steps.result(of: view), out) }
        steps.keep(picture)
        return result
    }

    /// No picture follows.
    func drain(target: Int64) throws(FileEnhancementError) -> [UInt8]? {
        while let facts = try withEnhanceErrors({ () throws(EnhanceError) in try steps.drain() }) {
            if facts.time == target, let view = unsafe steps.result { return unsafe try finish(view, facts) }
        }
        return nil
    }

    @unsafe private func finish(_ view: PictureView, _ facts: FilePictureFacts) throws(FileEnhancementError) -> [UInt8] {
        do throws(EnhanceError) {
            let wish = PictureEnlargement.Wish(
                tier, isWhole: true,
                SuperResolutionParameters(quantiser: facts.quantiser, chromaLocation: facts.chromaLocation))
            _ = unsafe try chain.enlarging.process(view, into: enlarged.mutableView, wish)
            var times = StepValues(blank: Nanoseconds.zero)
            let parameters = StepParameters(
                settings.steps, quantiser: facts.quantiser, chromaLocation: facts.chromaLocation)
            unsafe try chain.finish(enlarged.mutableView, parameters, &times)
        } catch {
            throw .enhance(error)
        }
        let (shown, target) = (color.upright().shaped(from: turning.shownSize, to: enlarged.size), enlarged)
        return try withCodecErrors { () throws(CodecError) in
            unsafe try PNGEncoder.encode(target.view, shown, width: 1 << 14)
        }
    }
}
