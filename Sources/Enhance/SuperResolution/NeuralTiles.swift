import Kernels
import Media

/// Makes pictures in which networks compute tiles, in the caller's order, until the caller's time to stop.
///
/// First it makes a complete picture, row by row of tiles: a tile whose last result is still valid is copied, and every
/// other tile gets `base`. Without a time to stop it leaves out the tiles that networks are going to write.
///
/// Everything here is counted in positions of the networks: input samples, or 2x2 of them where networks restore. Each
/// gives 2x2 samples.
@safe final class NeuralTiles {
    let grid: TileGrid
    let kernels: Kernels
    let networks: [SuperResolutionTier: Network]
    private let base: BaseUpscaler
    let reusesTiles: Bool
    /// Networks keep the size.
    private let restores: Bool
    let history: TileHistory
    private let scratch: AlignedMemory
    private let scratchStride: Int
    private var outcomes: [TileOutcome]
    private var todo: [TileRequest] = []
    /// Whether a tile is in `todo`.
    private var isListed: [Bool]
    private(set) var plan: StripPlan
    let progress: StripProgress
    private(set) var bucket = 0
    /// By the tier's raw value.
    private(set) var costs: [TileCost]
    /// The tier that the caller asked for, by tile.
    private(set) var asked: [SuperResolutionTier]
    /// The pieces of chroma that nobody has claimed yet.
    private let chroma = TwoEndedRange()
    /// What each piece of a run of strips did.
    let reports: UnsafeMutablePointer<StripReport>

    struct StripReport: BitwiseCopyable {
        var samples = 0
        var time = Nanoseconds.zero
    }

    /// Columns of a strip at most, in positions: its rows of all layers together stay in the second-level cache.
    private static let stripWidth = 640
    /// With fewer rows of tiles a strip is flat.
    private static let highStrip = 4

    /// - Parameter networks: not empty; without `base`.
    init(
        grid: TileGrid, networks: [SuperResolutionTier: SuperResolutionNetwork], base: BaseUpscaler, kernels: Kernels,
        reusesTiles: Bool, threadCount: Int
    ) {
        self.reusesTiles = reusesTiles
        restores = networks.values.contains(where: \.isRestoring)
        self.grid = grid
        self.base = base
        self.kernels = kernels
        self.networks = networks.mapValues(\.network)
        var radii = SuperResolutionTier.allCases.map { _ in 0 }
        costs = SuperResolutionTier.allCases.map { _ in TileCost(guess: 0) }
        for (tier, network) in networks {
            radii[Int(tier.rawValue)] = network.network.radius
            let speed = kernels.features.isEmpty ? 1.0 : 50.0
            costs[Int(tier.rawValue)] = TileCost(guess: Double(network.network.multiplicationsPerPosition) / speed)
        }
        history = TileHistory(grid: grid, radii: radii, inputScale: restores ? 2 : 1)
        let width = min(grid.size.width, max(Self.stripWidth, grid.tileSize.width))
        scratchStride = networks.values.map { ($0.network.scratchSize(width: width) + 63) & ~63 }.max()!
        scratch = AlignedMemory(byteCount: scratchStride * threadCount)
        outcomes = Array(repeating: TileOutcome(tier: .base, isReused: false), count: grid.count)
        asked = Array(repeating: .base, count: grid.count)
        todo.reserveCapacity(grid.count)
        isListed = Array(repeating: false, count: grid.count)
        plan = StripPlan(grid: grid)
        progress = StripProgress(grid: grid)
        unsafe reports = .allocate(capacity: 2 * grid.count)
    }

    deinit { unsafe reports.deallocate() }

    func outcome(ofTile tile: Int) -> TileOutcome { outcomes[tile] }

    /// The picture in work.
    @safe struct Frame {
        let source: PlaneView
        let destination: MutablePlaneView
        let base: BaseUpscaler.Frame
        var until: MonotonicTime?
        /// How many pieces of chroma the next run has to do beside its own.
        fileprivate var chromaLeft = 0
    }

    /// Makes a picture.
    @unsafe func enhance(
        _ source: PictureView, into destination: MutablePictureView, tiles: Span<TileRequest>,
        _ parameters: SuperResolutionParameters, with workers: WorkerPool, _ result: inout SuperResolutionResult,
        afterBase: (Nanoseconds) -> MonotonicTime?
    ) {
        let start = MonotonicTime.now()
        // A last column or row of an odd side has no position.
        let whole = grid.size.scaled(by: 2)
        if restores { unsafe destination.y.copy(source.y, beyond: whole) }
        var frame = unsafe Frame(
            source: restores ? source.y.part(whole) : source.y, destination: destination.y.part(whole),
            base: base.frame(source, into: destination, chromaLocation: parameters.chromaLocation),
            until: parameters.until)
        chooseBucket(quantiser: parameters.quantiser)
        // What was coded finely, or never, needs no restoration.
        let count = restores && bucket == 0 ? 0 : tiles.count
        if !reusesTiles { history.invalidate() }
        for tile in asked.indices { asked[tile] = .base }
        for index in 0..<count { asked[tiles[index].tile] = max(asked[tiles[index].tile], tiles[index].tier) }

        // Without a time to stop chroma is done together with the networks' tiles: it evens out the threads' work.
        let hasStop = frame.until != nil
        if hasStop { frame.chromaLeft = frame.base.chromaPieces }
        let rows = TileRows(tiles: self, frame: frame)
        workers.run(rows, pieces: grid.rows + beginChroma(&frame), order: .ownPartFirst)
        if !hasStop { frame.chromaLeft = frame.base.chromaPieces }
        history.advance()
        countReused(&result)
        let refined = MonotonicTime.now()
        result.baseTime = refined - start
        collect(tiles, count: count)
        // Without a time to stop all listed tiles must be done, because their rows have no `base`.
        if hasStop, !todo.isEmpty, let better = afterBase(result.baseTime) { frame.until = better }
        refine(&frame, workers, &result)
        result.tileTime = MonotonicTime.now() - refined
    }

    /// Does the listed tiles, and chroma where it is not done yet.
    private func refine(_ frame: inout Frame, _ workers: WorkerPool, _ result: inout SuperResolutionResult) {
        let hasTime = frame.until.map { $0 > .now() } ?? true
        var next = 0
        while next < todo.count {
            let count = affordable(from: next, until: frame.until, threads: workers.threadCount)
            if count == 0 { break }
            var finished = true
            for tier in SuperResolutionTier.allCases where tier != .base {
                finished = run(tier, next..<next + count, &frame, workers, &result) && finished
            }
            next += count
            if !finished { break }
        }
        result.tilesLeft = todo.count - result.tilesComputed
        if hasTime && result.tilesComputed == 0, let first = todo.first { costs[Int(first.tier.rawValue)].doubt() }
        if frame.chromaLeft > 0 {
            workers.run(TileRows(tiles: self, frame: frame, rows: 0), pieces: beginChroma(&frame))
        }
    }

    /// Puts the pieces of chroma that are left into the next run.
    /// - Returns: how many they are.
    private func beginChroma(_ frame: inout Frame) -> Int {
        defer { frame.chromaLeft = 0 }
        chroma.fill(0..<frame.chromaLeft)
        return frame.chromaLeft
    }

    /// Does one piece of chroma. The first thread begins at the top and the second at the bottom, as they do with rows:
    /// a core finds in its own cache what it has written for the last picture.
    func performChroma(_ frame: Frame, worker: Int) {
        guard let piece = worker % 2 == 0 ? chroma.claimFirst() : chroma.claimLast() else { return }
        frame.base.performChroma(piece: piece.lowerBound, worker: worker)
    }

    func scratch(of worker: Int) -> UnsafeMutableRawPointer { unsafe scratch.pointer(at: worker * scratchStride) }

    /// Chooses the network's weights for a quantiser. Another bucket makes every result invalid, so the present one
    /// stays while the quantiser is near its range.
    private func chooseBucket(quantiser: Int?) {
        let network = networks.values.first!
        let wanted = network.bucket(quantiser: quantiser)
        if wanted == bucket { return }
        if let quantiser, wanted > 0, bucket > 0 {
            let slack = 2
            let low = Int(network.edges[bucket - 1]) + 1 - slack
            let high = Int(network.edges[bucket]) + slack
            if (low...high).contains(quantiser) { return }
        }
        bucket = wanted
        history.invalidate()
    }

    private func countReused(_ result: inout SuperResolutionResult) {
        for tile in 0..<grid.count {
            let tier = history.tier(ofTile: tile)
            outcomes[tile] = TileOutcome(tier: tier, isReused: tier != .base)
            if tier != .base { result.tilesReused += 1 }
        }
    }

    /// Lists what the caller asks for in the first requests and no valid result covers, each tile once. `base` asks for nothing.
    private func collect(_ tiles: Span<TileRequest>, count: Int) {
        todo.removeAll(keepingCapacity: true)
        for index in 0..<count {
            let request = tiles[index]
            if isListed[request.tile] || request.tier <= outcomes[request.tile].tier { continue }
            isListed[request.tile] = true
            todo.append(request)
        }
        for request in todo { isListed[request.tile] = false }
    }

    /// How many of the listed tiles, from `first` on, should be done by the time to stop.
    private func affordable(from first: Int, until: MonotonicTime?, threads: Int) -> Int {
        guard let until else { return todo.count - first }
        var budget = (until - MonotonicTime.now()) * Int64(threads)
        var count = 0
        while first + count < todo.count {
            let request = todo[first + count]
            let region = grid.region(request.tile)
            budget = budget - costs[Int(request.tier.rawValue)].time(samples: region.width * region.height)
            if budget < .zero { break }
            count += 1
        }
        return count
    }

    /// Does the tiles of one tier in a part of the list.
    /// - Returns: false when time was up.
    private func run(
        _ tier: SuperResolutionTier, _ requests: Range<Int>, _ frame: inout Frame, _ workers: WorkerPool,
        _ result: inout SuperResolutionResult
    ) -> Bool {
        var count = 0
        for index in requests where todo[index].tier == tier {
            plan.add(todo[index].tile, rank: index)
            count += 1
        }
        guard count > 0, let network = networks[tier] else { return true }
        // One strip for two threads, which meet in it: every further strip has one more border to compute. Strips are
        // as wide as they may be, because a border at the side is rounded up to whole vectors and one above is not.
        // They are narrower where they would be flat.
        let pairs = (workers.threadCount + 1) / 2
        let limit = (count + pairs - 1) / pairs
        let widest = max(1, Self.stripWidth / grid.tileSize.width)
        let isFlat = pairs > 1 && limit / widest < Self.highStrip
        plan.group(limit: limit, width: isFlat ? min(widest, (grid.columns + 1) / 2) : widest)
        progress.begin(plan.strips)
        let strips = TileStrips(tiles: self, frame: frame, tier: tier, network: network, count: plan.strips.count)
        workers.run(strips, pieces: 2 * plan.strips.count + beginChroma(&frame))

        var done = 0
        for strip in plan.strips {
            for row in strip.row..<strip.row + strip.rows where progress.isDone(tileRow: row, of: strip) {
                for column in strip.column..<strip.column + strip.columns {
                    let tile = row * grid.columns + column
                    if outcomes[tile].isReused { result.tilesReused -= 1 }
                    outcomes[tile] = TileOutcome(tier: tier, isReused: false)
                }
                done += strip.columns
            }
        }
        var samples = 0
        var time = Nanoseconds.zero
        for piece in 0..<2 * plan.strips.count {
            samples += unsafe reports[piece].samples
            time = unsafe time + reports[piece].time
        }
        switch tier {
        case .base: break
        case .neuralSmall: result.tilesSmall += done
        case .neuralMedium: result.tilesMedium += done
        case .quality: result.tilesQuality += done
        }
        costs[Int(tier.rawValue)].learn(time, samples: samples)
        return done == count
    }
}
