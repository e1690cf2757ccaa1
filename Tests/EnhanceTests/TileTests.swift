@testable import Enhance
import KernelChecks
import Kernels
import Media
import Testing

@Suite struct StripPlanTests {
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func everyTileIsInOneStrip(seed: UInt64) {
        var random = CheckRandom(seed: seed)
        let grid = TileGrid(
            size: PictureSize(width: random.number(in: 1...700), height: random.number(in: 1...400)),
            tileSize: PictureSize(width: 64, height: 32))
        var plan = StripPlan(grid: grid)
        for _ in 0..<2 {
            let tiles = (0..<grid.count).filter { _ in random.number(in: 0...2) > 0 }
            for (rank, tile) in tiles.enumerated() { plan.add(tile, rank: tiles.count - rank) }
            let limit = random.number(in: 1...30)
            plan.group(limit: limit, width: 4)
            var covered: [Int] = []
            for strip in plan.strips {
                #expect(strip.columns * strip.rows <= limit && strip.columns <= 4)
                for row in strip.row..<strip.row + strip.rows {
                    for column in strip.column..<strip.column + strip.columns {
                        covered.append(row * grid.columns + column)
                    }
                }
            }
            #expect(covered.sorted() == tiles)
            #expect(plan.strips.map(\.rank) == plan.strips.map(\.rank).sorted())
        }
    }
}

@Suite struct TileCostTests {
    @Test func risesQuicklyAndFallsSlowly() {
        var cost = TileCost(guess: 100)
        cost.learn(Nanoseconds(20_000), samples: 100)
        #expect(cost.perSample == 150)
        cost.learn(Nanoseconds(10_000), samples: 100)
        #expect(cost.perSample == 140)
        cost.learn(Nanoseconds(5), samples: 0)
        #expect(cost.time(samples: 1000) == Nanoseconds(140_000))
    }

    /// After a spike the estimate for a tile is above any budget. `doubt()` brings it back below.
    @Test func oneSpikeDoesNotPreventTilesForEver() {
        var cost = TileCost(guess: 100)
        cost.learn(.seconds(1), samples: 2048)
        let budget = Nanoseconds.microseconds(500)
        var frames = 0
        while cost.time(samples: 2048) > budget {
            cost.doubt()
            frames += 1
            #expect(frames < 100)
        }
        #expect(frames > 0)
    }
}

@Suite struct StripProgressTests {
    private struct Walker {
        var strip: Int
        var direction: StripDirection
        var tileRow: Int
        var rest: Range<Int>
    }

    /// Two walkers in each strip, in any order: every row of samples is done once. For every row of tiles exactly one
    /// walker learns that it has begun, and exactly one that it is done, when it is.
    @Test(arguments: 1...60 as ClosedRange<UInt64>) func bothEndsMeet(seed: UInt64) {
        var random = CheckRandom(seed: seed)
        let grid = TileGrid(
            size: PictureSize(width: random.number(in: 1...300), height: random.number(in: 1...400)),
            tileSize: PictureSize(width: 64, height: random.number(in: 1...40)))
        let progress = StripProgress(grid: grid)
        var plan = StripPlan(grid: grid)
        for _ in 0..<2 {
            for tile in 0..<grid.count where random.number(in: 0...3) > 0 { plan.add(tile, rank: tile) }
            plan.group(limit: random.number(in: 1...40), width: 4)
            progress.begin(plan.strips)
            var walkers = plan.strips.indices.flatMap { index in
                let strip = plan.strips[index]
                return [(StripDirection.down, strip.row), (.up, strip.row + strip.rows - 1)].map {
                    Walker(strip: index, direction: $0, tileRow: $1, rest: progress.rows(of: $1))
                }
            }
            var times = Array(repeating: 0, count: grid.count * 512)
            var (begun, done) = (Array(repeating: 0, count: grid.count), Array(repeating: 0, count: grid.count))
            while !walkers.isEmpty {
                let at = random.number(in: 0...walkers.count - 1)
                var walker = walkers[at]
                let strip = plan.strips[walker.strip]
                let most = min(walker.rest.count, random.number(in: 1...9))
                guard let rows = progress.claimRows(ofStrip: walker.strip, walker.direction, most: most) else {
                    #expect(progress.rowsLeft(ofStrip: walker.strip) == 0)
                    walkers.remove(at: at)
                    continue
                }
                let first = walker.tileRow * grid.columns + strip.column
                let tile = progress.rows(of: walker.tileRow)
                #expect(tile.contains(rows.lowerBound) && tile.contains(rows.upperBound - 1))
                for row in rows { times[first * 512 + row - tile.lowerBound] += 1 }
                if progress.recordBegun(rows.count, tileRow: walker.tileRow, of: strip) { begun[first] += 1 }
                let isDone = progress.recordDone(rows.count, tileRow: walker.tileRow, of: strip)
                #expect(isDone == times[first * 512..<first * 512 + tile.count].allSatisfy { $0 == 1 })
                if isDone { done[first] += 1 }
                switch walker.direction {
                case .down: walker.rest = rows.upperBound..<walker.rest.upperBound
                case .up: walker.rest = walker.rest.lowerBound..<rows.lowerBound
                }
                if walker.rest.isEmpty {
                    walker.tileRow += walker.direction == .down ? 1 : -1
                    if (strip.row..<strip.row + strip.rows).contains(walker.tileRow) {
                        walker.rest = progress.rows(of: walker.tileRow)
                    } else {
                        walker.rest = 0..<1  // nothing is left to claim
                    }
                }
                walkers[at] = walker
            }
            for strip in plan.strips {
                for row in strip.row..<strip.row + strip.rows {
                    let first = row * grid.columns + strip.column
                    #expect(begun[first] == 1 && done[first] == 1 && progress.isDone(tileRow: row, of: strip))
                }
            }
        }
    }
}

@Suite struct TwoEndedRangeTests {
    @Test func threadsClaimEachNumberOnce() {
        /// Each piece claims from one end until nothing is left.
        final class Claims: PiecewiseWork {
            let range = TwoEndedRange()
            let claimed = Lock(Array(repeating: [Range<Int>](), count: 4))

            func perform(piece: Int, worker: Int) {
                var mine: [Range<Int>] = []
                while let next = piece % 2 == 0 ? range.claimFirst(most: 1 + piece) : range.claimLast(most: 1 + piece) {
                    mine.append(next)
                }
                claimed.withLock { $0[piece] = mine }
            }
        }
        let (workers, claims) = (WorkerPool(threadCount: 4), Claims())
        for count in [0, 1, 2, 7, 10_000] {
            claims.range.fill(0..<count)
            #expect(claims.range.count == count)
            workers.run(claims, pieces: 4)
            #expect(claims.range.count == 0)
            let claimed = claims.claimed.withLock { $0 }
            #expect(claimed.joined().flatMap { Array($0) }.sorted() == Array(0..<count))
        }
    }
}
