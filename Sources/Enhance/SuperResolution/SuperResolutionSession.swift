import Kernels
import Media

/// Super-resolution of a sequence of frames of one size. A ``FrameProcessor``.
///
/// Where there is a time to stop, a session first makes a complete `base` picture. Then networks replace its tiles, in
/// the order that the caller gives, until that time. Where nothing that a tile depends on has changed since the last
/// frame, the session copies its last result.
///
/// Frames are submitted one at a time, in the order of time. A session may move from thread to thread; to use it from
/// two at once is a programming error and stops the program. Nothing is allocated after `init`.
public final class SuperResolutionSession {
    public let configuration: SuperResolutionConfiguration
    /// The tiles that requests name. Where networks restore pictures of odd sides it leaves out the last column or row,
    /// which stay as they are.
    public let grid: TileGrid
    /// The size of the pictures that are written.
    public let outputSize: PictureSize
    /// Whether networks take artefacts out of pictures that keep their size. Pictures are then synthesised from the results.
    public let restores: Bool

    private let workers: WorkerPool
    private let base: BaseUpscaler
    private let neural: NeuralTiles?
    /// Where the result has a size of its own: what makes it, and the picture that it is made from.
    private let resampler: PictureResampler?
    private let enlarged: Picture?
    /// The last result was made from the source itself.
    private var resampledSource = false
    private let sharpener: Sharpener
    /// The time that sharpening and resampling a frame take: the longest of late, since the time to stop must leave room for them.
    private var finishing = Nanoseconds.zero
    /// Requests for the whole grid at one tier.
    private var everything: [TileRequest]
    private let exclusive = ExclusiveUse()
    public let cancellation = Cancellation()

    /// - Parameter workers: the threads that share a frame's work; they may be shared with other sessions.
    /// - Throws: `unsupportedSize`, `badParameter`, `badWeights`.
    public init(
        _ configuration: SuperResolutionConfiguration, workers: WorkerPool = WorkerPool(threadCount: 1)
    ) throws(EnhanceError) {
        try configuration.check()
        self.configuration = configuration
        self.workers = workers
        let enlargedSize = configuration.size.scaled(by: configuration.scaleFactor)
        outputSize = configuration.outputSize ?? enlargedSize
        let resamples = outputSize != enlargedSize
        resampler =
            resamples
            ? PictureResampler(from: enlargedSize, to: outputSize, kernels: configuration.kernels, workers: workers) : nil
        enlarged = resamples ? Picture(size: enlargedSize) : nil
        // The positions of networks: input samples, or the 2x2 of them that a network sees at once that restores.
        let positions = configuration.scaleFactor == 2 ? configuration.size : configuration.size.halved
        let networks =
            configuration.scaleFactor == 2
            ? configuration.networks : positions.isEmpty ? [:] : SuperResolutionConfiguration.restoring(configuration.networks)
        restores = configuration.scaleFactor == 1 && !networks.isEmpty
        let side = restores ? 2 : 1
        grid = TileGrid(
            size: restores ? positions.scaled(by: side) : configuration.size, tileSize: Self.tileSize.scaled(by: side))
        base = BaseUpscaler(
            size: configuration.size, scaleFactor: configuration.scaleFactor, kernels: configuration.kernels,
            threadCount: workers.threadCount)
        tiers = [.base] + networks.keys.sorted()
        neural =
            networks.isEmpty
            ? nil
            : NeuralTiles(
                grid: TileGrid(size: restores ? positions : configuration.size, tileSize: Self.tileSize),
                networks: networks, base: base, kernels: configuration.kernels,
                reusesTiles: configuration.reusesTiles, threadCount: workers.threadCount)
        sharpener = Sharpener(size: enlargedSize, kernels: configuration.kernels, threadCount: workers.threadCount)
        everything = (0..<grid.count).map { TileRequest(tile: $0, tier: .base) }
    }

    /// A whole tile, in positions of networks.
    static let tileSize = PictureSize(width: 64, height: 32)

    /// The tiers that requests may name.
    public let tiers: [SuperResolutionTier]

    /// How a tile of the last frame was made.
    public func outcome(ofTile tile: Int) -> TileOutcome {
        neural?.outcome(ofTile: tile) ?? TileOutcome(tier: .base, isReused: false)
    }

    /// Enhances one frame.
    /// - Parameters:
    ///   - source: a picture of the configured size. It is only read.
    ///   - destination: a picture of ``outputSize``; every sample is written, and nothing around them.
    ///   - tiles: what to refine beyond `base`, most important first. A tile named twice is done once.
    ///   - afterBase: called when `base` is done, if there is a time to stop and a tile to compute. It gets the time
    ///     that `base` takes, including sharpening and resampling, which come last. It returns a better time to stop, or nil for the
    ///     one in `parameters`. Runs on the calling thread.
    /// - Throws: `sizeMismatch`, `noSuchTile`, `tierNotConfigured`, `badParameter`, before anything is written.
    @unsafe public func process(
        _ source: PictureView, into destination: MutablePictureView, tiles: Span<TileRequest>,
        _ parameters: SuperResolutionParameters = SuperResolutionParameters(),
        afterBase: (Nanoseconds) -> MonotonicTime? = { _ in nil }
    ) throws(EnhanceError) -> SuperResolutionResult {
        exclusive.begin()
        defer { exclusive.end() }
        try cancellation.check()
        unsafe try check(source.size, destination.size, chroma: source.u, source.v, destination.u, destination.v)
        for index in tiles.indices {
            guard (0..<grid.count).contains(tiles[index].tile) else {
                throw EnhanceError(.noSuchTile, "tile \(tiles[index].tile): the grid has \(grid.count)")
            }
            guard self.tiers.contains(tiles[index].tier) else {
                throw EnhanceError(
                    .tierNotConfigured,
                    "a request names \(tiles[index].tier.name), but the session has no network for it")
            }
        }

        let sharpness = parameters.sharpness ?? configuration.sharpness
        try SuperResolutionConfiguration.check(sharpness: sharpness)

        var result = SuperResolutionResult()
        var parameters = parameters
        if sharpness == 0, resampler == nil { finishing = .zero }
        parameters.until = parameters.until.map { $0 - finishing }
        let target = unsafe enlarged?.mutableView ?? destination
        resampledSource = resampler != nil && configuration.scaleFactor == 1 && !restores && sharpness == 0
        if let neural {
            unsafe neural.enhance(source, into: target, tiles: tiles, parameters, with: workers, &result) {
                afterBase($0 + finishing).map { $0 - finishing }
            }
        } else {
            let start = MonotonicTime.now()
            if configuration.scaleFactor == 2 {
                unsafe base.upscale(source, into: target, chromaLocation: parameters.chromaLocation, with: workers)
            } else if !resampledSource {
                unsafe target.copy(source)
            }
            result.baseTime = MonotonicTime.now() - start
        }
        if sharpness > 0 || resampler != nil {
            let start = MonotonicTime.now()
            if sharpness > 0 { unsafe sharpener.sharpen(target.y, sharpness: sharpness, with: workers) }
            unsafe resampler?.resample(
                resampledSource ? source : target.readOnly, into: destination, chromaLocation: parameters.chromaLocation)
            let time = MonotonicTime.now() - start
            finishing = max(time, Nanoseconds(finishing.count / 16 * 15))
            result.baseTime = result.baseTime + time
        }
        try cancellation.check()
        return result
    }

    /// The picture of the last frame from which a polyphase filter has made the result: the enlarged one, or the source. Nil where
    /// the result has not been resampled. The view holds until the next call of `process`.
    /// - Parameter source: the source of that frame.
    @unsafe public func beforeResampling(_ source: PictureView) -> PictureView? {
        guard let enlarged else { return nil }
        return resampledSource ? unsafe source : unsafe enlarged.view
    }

    /// Enhances one frame, with the same tier for all tiles, row by row.
    @unsafe public func process(
        _ source: PictureView, into destination: MutablePictureView, tier: SuperResolutionTier,
        _ parameters: SuperResolutionParameters = SuperResolutionParameters()
    ) throws(EnhanceError) -> SuperResolutionResult {
        if everything[0].tier != tier { for tile in everything.indices { everything[tile].tier = tier } }
        let requests = everything
        return unsafe try process(source, into: destination, tiles: requests.span, parameters)
    }

    /// Forgets the last frame: no tile of the next one is copied. Makes a cancelled session usable again.
    public func reset() {
        exclusive.begin()
        defer { exclusive.end() }
        cancellation.clear()
        neural?.history.invalidate()
    }

    private func check(
        _ source: PictureSize, _ destination: PictureSize, chroma u: PlaneView, _ v: PlaneView,
        _ outU: MutablePlaneView, _ outV: MutablePlaneView
    ) throws(EnhanceError) {
        guard source == configuration.size, destination == outputSize else {
            throw EnhanceError(
                .sizeMismatch,
                "this session makes \(outputSize) from \(configuration.size), not \(destination) from \(source): make another "
                    + "session for another size")
        }
        let fits =
            unsafe PictureSize(width: u.width, height: u.height) == source.chroma
            && PictureSize(width: v.width, height: v.height) == source.chroma
            && PictureSize(width: outU.width, height: outU.height) == outputSize.chroma
            && PictureSize(width: outV.width, height: outV.height) == outputSize.chroma
        guard fits else {
            throw EnhanceError(.sizeMismatch, "the chroma planes are not half of the luma plane, rounded up")
        }
    }
}

extension SuperResolutionSession: @unsafe FrameProcessor {
    /// The same as `init(_:workers:)`.
    public convenience init(
        _ configuration: SuperResolutionConfiguration, on resources: WorkerPool
    ) throws(EnhanceError) {
        try self.init(configuration, workers: resources)
    }

    /// Enhances one frame, with ``SuperResolutionParameters/tier`` for all tiles, row by row.
    @discardableResult
    @unsafe public func process(
        _ input: PictureView, into output: MutablePictureView, _ parameters: SuperResolutionParameters
    ) throws(EnhanceError) -> SuperResolutionResult {
        let best = tiers[tiers.count - 1]
        return unsafe try process(input, into: output, tier: parameters.tier ?? best, parameters)
    }
}

extension MutablePictureView {
    /// Copies every sample of a picture of the same size.
    @unsafe package func copy(_ source: PictureView) {
        unsafe y.copy(source.y)
        unsafe u.copy(source.u)
        unsafe v.copy(source.v)
    }
}

extension MutablePlaneView {
    /// Copies every sample of a plane of the same size.
    @unsafe func copy(_ source: PlaneView) {
        for y in unsafe 0..<height { unsafe row(y).update(from: source.row(y), count: width) }
    }

    /// Copies the samples to the right of and below a size, of a plane of the same size.
    @unsafe func copy(_ source: PlaneView, beyond size: PictureSize) {
        for y in unsafe 0..<height {
            let x = y < size.height ? size.width : 0
            unsafe (row(y) + x).update(from: source.row(y) + x, count: width - x)
        }
    }

    /// The part of this size at the top left.
    @unsafe func part(_ size: PictureSize) -> MutablePlaneView {
        unsafe MutablePlaneView(base: base, stride: stride, width: size.width, height: size.height)
    }
}

extension PlaneView {
    /// The part of this size at the top left.
    @unsafe func part(_ size: PictureSize) -> PlaneView {
        unsafe PlaneView(base: base, stride: stride, width: size.width, height: size.height)
    }
}

extension PictureSize {
    /// Both sides halved, rounded down.
    fileprivate var halved: PictureSize { PictureSize(width: width / 2, height: height / 2) }
    fileprivate var isEmpty: Bool { width == 0 || height == 0 }
}
