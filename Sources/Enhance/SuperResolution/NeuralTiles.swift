import Kernels
import Media

/// Makes pictures of which networks make tiles: in the caller's order, until the caller's time.
///
/// First a complete picture is made, row by row of tiles: where the last frame's result holds it is shown, elsewhere
/// stands `base`. Without a time to stop, what networks are going to replace is left out.
@safe final class NeuralTiles: PiecewiseWork, @unchecked Sendable {
    private let grid: TileGrid
    private let kernels: Kernels
    private let networks: [SuperResolutionTier: Network]
    private let base: BaseUpscaler
    private let reusesTiles: Bool
    private let history: TileHistory
    private let scratch: AlignedMemory
    private let scratchStride: Int
    private var outcomes: [TileOutcome]
    private var todo: [TileRequest] = []
    /// Whether a tile is in `todo`.
    private var isListed: [Bool]
    private var plan: StripPlan
    private let progress: StripProgress
    private var bucket = 0
    /// By the tier's raw value.
    private var costs: [TileCost]
    /// What is asked of each tile.
    private var asked: [SuperResolutionTier]
    // The run in hand.
    private var isMakingRows = false
    /// Pieces that are rows of tiles, or else strips: each from its top, then each from its bottom, so that threads that
    /// have nothing else left join those who are not done. What follows are bands of chroma.
    private var lumaPieces = 0
    private let chroma = TwoEndedRange()
    private var isChromaDone = false
    private var tier = SuperResolutionTier.base
    private var until: MonotonicTime?
    private var source: PlaneView?
    private var destination: MutablePlaneView?
    private let reports: UnsafeMutablePointer<StripReport>

    /// What one piece of a run did.
    private struct StripReport: BitwiseCopyable {
        var samples = 0
        var time = Nanoseconds.zero
    }

    /// Columns of a strip at most, in samples: its rows of all layers together stay in the second-level cache.
    private static let stripWidth = 640
    /// Rows of tiles from which on a strip is not flat.
    private static let highStrip = 4
    /// How long a thread may work before it looks at the clock.
    private static let attention = Nanoseconds.microseconds(150)
    /// How many rows of samples a thread takes at once: what another may have to wait for in the end.
    private static let bite = 8
    /// How many rows of samples must be left for a second thread to join in, which has a border to compute first.
    private static let leastShared = 16

    /// - Parameter networks: not empty; without `base`.
    init(
        grid: TileGrid, networks: [SuperResolutionTier: SuperResolutionNetwork], base: BaseUpscaler, kernels: Kernels,
        reusesTiles: Bool, threadCount: Int
    ) {
        self.reusesTiles = reusesTiles
        self.grid = grid
        self.base = base
        self.kernels = kernels
        self.networks = networks.mapValues(\.network)
        var radii = SuperResolutionTier.allCases.map { _ in 0 }
        costs = SuperResolutionTier.allCases.map { _ in TileCost(guess: 0) }
        for (tier, network) in networks {
            radii[Int(tier.rawValue)] = network.radius
            let speed = kernels.features.isEmpty ? 1.0 : 50.0
            costs[Int(tier.rawValue)] = TileCost(guess: Double(network.multiplicationsPerSample) / speed)
        }
        history = TileHistory(grid: grid, radii: radii)
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

    /// Makes a picture.
    @unsafe func enhance(
        _ source: PictureView, into destination: MutablePictureView, tiles: Span<TileRequest>,
        _ parameters: SuperResolutionParameters, with workers: WorkerPool, _ result: inout SuperResolutionResult,
        afterBase: (Nanoseconds) -> MonotonicTime?
    ) {
        let start = MonotonicTime.now()
        unsafe self.source = unsafe source.y
        unsafe self.destination = unsafe destination.y
        until = parameters.until
        unsafe base.begin(source, into: destination, chromaLocation: parameters.chromaLocation)
        chooseBucket(quantiser: parameters.quantiser)
        if !reusesTiles { history.forget() }
        for tile in asked.indices { asked[tile] = .base }
        for index in tiles.indices { asked[tiles[index].tile] = max(asked[tiles[index].tile], tiles[index].tier) }

        // Without a time to stop chroma waits for the networks: it evens out what the threads have left to do.
        isMakingRows = true
        isChromaDone = until == nil
        run(pieces: grid.rows, workers)
        isMakingRows = false
        isChromaDone = until != nil
        history.advance()
        noteReused(&result)
        let refined = MonotonicTime.now()
        result.baseTime = refined - start
        collect(tiles)
        // Without a time to stop rows were left to the networks altogether: they must be done.
        if until != nil, !todo.isEmpty, let better = afterBase(result.baseTime) { until = better }
        refine(workers, &result)
        result.tileTime = MonotonicTime.now() - refined
        base.end()
        unsafe self.source = nil
        unsafe self.destination = nil
    }

    /// Does what has been collected, and chroma where that has waited.
    private func refine(_ workers: WorkerPool, _ result: inout SuperResolutionResult) {
        let hasTime = until.map { $0 > .now() } ?? true
        var next = 0
        while next < todo.count {
            let count = affordable(from: next, threads: workers.threadCount)
            if count == 0 { break }
            var finished = true
            for tier in SuperResolutionTier.allCases where tier != .base {
                finished = run(tier, next..<next + count, workers, &result) && finished
            }
            next += count
            if !finished { break }
        }
        let done = result.tilesSmall + result.tilesMedium
        result.tilesLeft = todo.count - done
        if hasTime && done == 0, let first = todo.first { costs[Int(first.tier.rawValue)].doubt() }
        run(pieces: 0, workers)
    }

    /// Does rows or strips, and chroma if nothing has done it yet. The first thread begins at the top, the second at the
    /// bottom, whatever it is that they do: a core finds what it has written last time in its own cache.
    private func run(pieces: Int, _ workers: WorkerPool) {
        lumaPieces = pieces
        let chroma = isChromaDone ? 0 : base.chromaPieces
        isChromaDone = true
        self.chroma.fill(0..<chroma)
        workers.run(self, pieces: pieces + chroma, order: isMakingRows ? .ownPartFirst : .ascending)
    }

    /// A new bucket makes every result void, so the present one is kept while the quantiser is near its range.
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
        history.forget()
    }

    private func noteReused(_ result: inout SuperResolutionResult) {
        for tile in 0..<grid.count {
            let tier = history.tier(ofTile: tile)
            outcomes[tile] = TileOutcome(tier: tier, isReused: tier != .base)
            if tier != .base { result.tilesReused += 1 }
        }
    }

    /// What is asked for and not there yet, each tile once. `base` asks for nothing.
    private func collect(_ tiles: Span<TileRequest>) {
        todo.removeAll(keepingCapacity: true)
        for index in tiles.indices {
            let request = tiles[index]
            if isListed[request.tile] || request.tier <= outcomes[request.tile].tier { continue }
            isListed[request.tile] = true
            todo.append(request)
        }
        for request in todo { isListed[request.tile] = false }
    }

    /// How many of the requests from `first` on should be done by the time to stop.
    private func affordable(from first: Int, threads: Int) -> Int {
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

    /// Does the requests of one tier in a part of the list.
    /// - Returns: false when time was up.
    private func run(
        _ tier: SuperResolutionTier, _ requests: Range<Int>, _ workers: WorkerPool,
        _ result: inout SuperResolutionResult
    ) -> Bool {
        var count = 0
        for index in requests where todo[index].tier == tier {
            plan.add(todo[index].tile, rank: index)
            count += 1
        }
        if count == 0 { return true }
        // A strip for two threads, who meet in it: every further one has a border more to compute. A border at the side is
        // rounded up to whole vectors and one above is not, so strips are as wide as they may be, unless that makes them
        // flat.
        let pairs = (workers.threadCount + 1) / 2
        let limit = (count + pairs - 1) / pairs
        let widest = max(1, Self.stripWidth / grid.tileSize.width)
        let isFlat = pairs > 1 && limit / widest < Self.highStrip
        plan.group(limit: limit, width: isFlat ? min(widest, (grid.columns + 1) / 2) : widest)
        progress.begin(plan.strips)
        self.tier = tier
        run(pieces: 2 * plan.strips.count, workers)

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
        if tier == .neuralSmall { result.tilesSmall += done } else { result.tilesMedium += done }
        costs[Int(tier.rawValue)].learn(time, samples: samples)
        return done == count
    }

    func perform(piece: Int, worker: Int) {
        if piece >= lumaPieces {
            let band = worker % 2 == 0 ? chroma.takeFirst() : chroma.takeLast()
            base.performChroma(piece: band!.lowerBound, worker: worker)
        } else if isMakingRows {
            makeRow(piece, worker: worker)
        } else {
            makeStrip(piece, worker: worker)
        }
    }

    /// One row of tiles without networks: results that hold, else `base`.
    private func makeRow(_ row: Int, worker: Int) {
        guard let source = unsafe source, let destination = unsafe destination else { return }
        if reusesTiles { unsafe history.update(row: row, from: source) }
        var region = grid.region(row * grid.columns)
        region.width = 0
        for column in 0..<grid.columns {
            let tile = row * grid.columns + column
            let held = history.tier(ofTile: tile)
            let isAsked = asked[tile] > held && until == nil
            if held != .base && !isAsked { unsafe history.show(tile, in: destination) }
            let next = grid.region(tile)
            if held == .base && !isAsked {
                if region.width == 0 { region.x = next.x }
                region.width = next.x + next.width - region.x
            } else if region.width > 0 {
                base.performLuma(region, worker: worker)
                region.width = 0
            }
        }
        if region.width > 0 { base.performLuma(region, worker: worker) }
    }

    /// One strip, from one of its ends until another thread is met there, or to the time to stop.
    private func makeStrip(_ piece: Int, worker: Int) {
        unsafe reports[piece] = StripReport()
        guard let source = unsafe source, let destination = unsafe destination, let network = networks[tier] else {
            return
        }
        let count = plan.strips.count
        let direction = piece < count ? StripDirection.down : .up
        let index = direction == .down ? piece : 2 * count - 1 - piece
        if direction == .up && progress.rowsLeft(ofStrip: index) < Self.leastShared { return }
        let strip = plan.strips[index]
        let left = grid.region(strip.row * grid.columns + strip.column)
        let right = grid.region(strip.row * grid.columns + strip.column + strip.columns - 1)
        let columns = left.x..<right.x + right.width
        let cost = costs[Int(tier.rawValue)].time(samples: columns.count)
        let step = until == nil ? Self.bite : min(Self.bite, max(1, Int(Self.attention.count / max(cost.count, 1))))

        let start = MonotonicTime.now()
        var now = start
        var tileRow = direction == .down ? strip.row : strip.row + strip.rows - 1
        var rest = progress.rows(of: tileRow)
        var running = unsafe kernels.strip(
            network, bucket: bucket, source, into: history.plane, copy: until == nil ? destination : nil,
            columns: columns, firstRow: direction == .down ? rest.lowerBound : rest.upperBound - 1,
            direction: direction, scratch: scratch.pointer(at: worker * scratchStride))
        while (strip.row..<strip.row + strip.rows).contains(tileRow) {
            rest = progress.rows(of: tileRow)
            let needed = cost * Int64(min(rest.count, progress.rowsLeft(ofStrip: index)))
            if let until, now + needed > until { break }
            while !rest.isEmpty {
                if let until, now > until { break }
                guard let rows = progress.take(ofStrip: index, direction, most: min(step, rest.count)) else { break }
                if progress.noteBegun(rows.count, tileRow: tileRow, of: strip) { mark(tileRow, of: strip, as: .base) }
                unsafe running.advance(by: rows.count)
                unsafe reports[piece].samples += rows.count * columns.count
                if progress.noteDone(rows.count, tileRow: tileRow, of: strip) {
                    mark(tileRow, of: strip, as: tier)
                    if until != nil {
                        unsafe history.show(
                            tileRow * grid.columns + strip.column, columns: strip.columns, in: destination)
                    }
                }
                rest = direction == .down ? rows.upperBound..<rest.upperBound : rest.lowerBound..<rows.lowerBound
                now = MonotonicTime.now()
            }
            if !rest.isEmpty { break }
            tileRow += direction == .down ? 1 : -1
        }
        unsafe reports[piece].time = MonotonicTime.now() - start
    }

    private func mark(_ tileRow: Int, of strip: TileStrip, as tier: SuperResolutionTier) {
        for column in strip.column..<strip.column + strip.columns {
            history.set(tier, ofTile: tileRow * grid.columns + column)
        }
    }
}
