import Kernels
import Media

/// Replaces tiles of a `base` picture by networks' results: in the caller's order, until the caller's time.
@safe final class NeuralTiles: PiecewiseWork, @unchecked Sendable {
    private let grid: TileGrid
    private let kernels: Kernels
    private let networks: [SuperResolutionTier: Network]
    private let history: TileHistory
    private let scratch: AlignedMemory
    private let scratchStride: Int
    private var outcomes: [TileOutcome]
    private var todo: [TileRequest] = []
    /// Whether a tile is in `todo`.
    private var isListed: [Bool]
    private var plan: StripPlan
    private var bucket = 0
    /// Nanoseconds for one input sample on one thread, by tier; learnt.
    private var costs: [Double]
    // The run in hand.
    private var tier = SuperResolutionTier.base
    private var until: MonotonicTime?
    private var source: PlaneView?
    private var destination: MutablePlaneView?
    private let reports: UnsafeMutablePointer<StripReport>

    /// What one strip of a run did.
    private struct StripReport: BitwiseCopyable {
        var rows = 0
        var samples = 0
        var time = Nanoseconds.zero
    }

    /// Columns of a strip at most, in samples: its rows of all layers together stay in the second-level cache.
    private static let stripWidth = 640
    /// How long a thread may work before it looks at the clock.
    private static let attention = 150_000.0

    /// - Parameter networks: not empty; without `base`.
    init(
        grid: TileGrid, networks: [SuperResolutionTier: SuperResolutionNetwork], kernels: Kernels, threadCount: Int
    ) {
        self.grid = grid
        self.kernels = kernels
        self.networks = networks.mapValues(\.network)
        var radii = SuperResolutionTier.allCases.map { _ in 0 }
        costs = SuperResolutionTier.allCases.map { _ in 0 }
        for (tier, network) in networks {
            radii[Int(tier.rawValue)] = network.radius
            // A guess to begin with; the first frame corrects it.
            costs[Int(tier.rawValue)] = Double(network.multiplicationsPerSample) / (kernels.features.isEmpty ? 1 : 50)
        }
        history = TileHistory(grid: grid, radii: radii)
        let width = min(grid.size.width, max(Self.stripWidth, grid.tileSize.width))
        scratchStride = networks.values.map { ($0.network.scratchSize(width: width) + 63) & ~63 }.max()!
        scratch = AlignedMemory(byteCount: scratchStride * threadCount)
        outcomes = Array(repeating: TileOutcome(tier: .base, isReused: false), count: grid.count)
        todo.reserveCapacity(grid.count)
        isListed = Array(repeating: false, count: grid.count)
        plan = StripPlan(grid: grid)
        unsafe reports = .allocate(capacity: grid.count)
    }

    deinit { unsafe reports.deallocate() }

    func outcome(ofTile tile: Int) -> TileOutcome { outcomes[tile] }

    /// Refines a picture that is complete already; writes luma only.
    @unsafe func refine(
        _ source: PlaneView, _ destination: MutablePlaneView, tiles: Span<TileRequest>,
        _ parameters: SuperResolutionParameters, with workers: WorkerPool, _ result: inout SuperResolutionResult
    ) {
        unsafe self.source = unsafe source
        unsafe self.destination = unsafe destination
        until = parameters.until
        chooseBucket(quantiser: parameters.quantiser)
        unsafe history.advance(to: source, with: workers)
        unsafe reuse(in: destination, &result)
        collect(tiles)

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
        result.tilesLeft = todo.count - result.tilesSmall - result.tilesMedium
        unsafe self.source = nil
        unsafe self.destination = nil
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

    private func reuse(in destination: MutablePlaneView, _ result: inout SuperResolutionResult) {
        for tile in 0..<grid.count {
            let tier = history.tier(ofTile: tile)
            outcomes[tile] = TileOutcome(tier: tier, isReused: tier != .base)
            if tier == .base { continue }
            unsafe history.show(tile, in: destination)
            result.tilesReused += 1
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
        var budget = Double((until - MonotonicTime.now()).count) * Double(threads)
        var count = 0
        while first + count < todo.count {
            let request = todo[first + count]
            let region = grid.region(request.tile)
            budget -= costs[Int(request.tier.rawValue)] * Double(region.width * region.height)
            if budget < 0 { break }
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
        // One thread takes what it can get; several need a few strips each, so that they end together. Strips that
        // are neither narrow nor flat have the least border.
        let widest = max(1, Self.stripWidth / grid.tileSize.width)
        if workers.threadCount == 1 {
            plan.group(limit: count, width: widest)
        } else {
            let limit = (count + 2 * workers.threadCount - 1) / (2 * workers.threadCount)
            plan.group(limit: limit, width: min(widest, (grid.columns + 1) / 2))
        }
        self.tier = tier
        workers.run(self, pieces: plan.strips.count)

        var done = 0
        var samples = 0
        var time = Nanoseconds.zero
        for index in plan.strips.indices {
            let strip = plan.strips[index]
            let report = unsafe reports[index]
            for row in strip.row..<strip.row + report.rows {
                for column in strip.column..<strip.column + strip.columns {
                    let tile = row * grid.columns + column
                    if outcomes[tile].isReused { result.tilesReused -= 1 }
                    outcomes[tile] = TileOutcome(tier: tier, isReused: false)
                }
            }
            done += report.rows * strip.columns
            samples += report.samples
            time = time + report.time
        }
        if tier == .neuralSmall { result.tilesSmall += done } else { result.tilesMedium += done }
        if samples > 0 {
            // Quick to rise, slower to fall: a frame that is late costs more than a tile that is left out.
            let (old, new) = (costs[Int(tier.rawValue)], Double(time.count) / Double(samples))
            costs[Int(tier.rawValue)] = old + (new - old) * (new > old ? 0.5 : 0.2)
        }
        return done == count
    }

    /// One strip, from its top to its bottom or to the time to stop.
    func perform(piece: Int, worker: Int) {
        unsafe reports[piece] = StripReport()
        guard let source = unsafe source, let destination = unsafe destination, let network = networks[tier] else {
            return
        }
        let strip = plan.strips[piece]
        let top = grid.region(strip.row * grid.columns + strip.column)
        let right = grid.region(strip.row * grid.columns + strip.column + strip.columns - 1)
        let columns = top.x..<right.x + right.width
        let cost = costs[Int(tier.rawValue)] * Double(columns.count)
        let step = until == nil ? grid.tileSize.height : max(1, Int(Self.attention / max(cost, 1)))

        let start = MonotonicTime.now()
        var now = start
        var running = unsafe kernels.strip(
            network, bucket: bucket, source, into: history.plane, columns: columns, firstRow: top.y,
            scratch: scratch.pointer(at: worker * scratchStride))
        var row = top.y
        for tileRow in strip.row..<strip.row + strip.rows {
            let end = min(row + grid.tileSize.height, grid.size.height)
            if let until, now + Nanoseconds(Int64(cost * Double(end - row))) > until { break }
            for column in strip.column..<strip.column + strip.columns {
                history.set(.base, ofTile: tileRow * grid.columns + column)
            }
            while row < end {
                if let until, now > until { break }
                let next = min(row + step, end)
                unsafe running.advance(to: next)
                unsafe reports[piece].samples += (next - row) * columns.count
                row = next
                now = MonotonicTime.now()
            }
            if row < end { break }
            for column in strip.column..<strip.column + strip.columns {
                let tile = tileRow * grid.columns + column
                history.set(tier, ofTile: tile)
                unsafe history.show(tile, in: destination)
            }
            unsafe reports[piece].rows += 1
        }
        unsafe reports[piece].time = MonotonicTime.now() - start
    }
}
