import Kernels
import Media

/// A run that makes the picture without networks: each piece is a row of tiles, and the last pieces are chroma.
struct TileRows: PiecewiseWork {
    let tiles: NeuralTiles
    let frame: NeuralTiles.Frame
    let rows: Int

    /// - Parameter rows: nil for all rows of the grid.
    init(tiles: NeuralTiles, frame: NeuralTiles.Frame, rows: Int? = nil) {
        self.tiles = tiles
        self.frame = frame
        self.rows = rows ?? tiles.grid.rows
    }

    func perform(piece: Int, worker: Int) {
        if piece < rows {
            makeRow(piece, worker: worker)
        } else {
            tiles.performChroma(frame, worker: worker)
        }
    }

    /// Copies the tiles whose results are still valid, and writes `base` elsewhere.
    private func makeRow(_ row: Int, worker: Int) {
        let (grid, history) = (tiles.grid, tiles.history)
        if tiles.reusesTiles { unsafe history.update(row: row, from: frame.source) }
        var region = grid.region(row * grid.columns)
        region.width = 0
        for column in 0..<grid.columns {
            let tile = row * grid.columns + column
            let valid = history.tier(ofTile: tile)
            let isAsked = tiles.asked[tile] > valid && frame.until == nil
            if valid != .base && !isAsked { unsafe history.copy(tile, into: frame.destination) }
            let next = grid.region(tile)
            if valid == .base && !isAsked {
                if region.width == 0 { region.x = next.x }
                region.width = next.x + next.width - region.x
            } else if region.width > 0 {
                frame.base.performLuma(region, worker: worker)
                region.width = 0
            }
        }
        if region.width > 0 { frame.base.performLuma(region, worker: worker) }
    }
}

/// A run of strips through one network. The first pieces are the strips, each from its top. Then they follow in the
/// reverse order, each from its bottom, so that threads that have nothing else left join those that are not done. The
/// last pieces are chroma.
struct TileStrips: PiecewiseWork {
    let tiles: NeuralTiles
    let frame: NeuralTiles.Frame
    let tier: SuperResolutionTier
    let network: Network
    let count: Int

    /// How long a thread may work before it reads the clock.
    private static let clockPeriod = Nanoseconds.microseconds(150)
    /// How many rows of samples a thread claims at once. In the end one thread may have to wait for so many of
    /// another's.
    private static let claimedRows = 8
    /// A second thread joins a strip only when so many rows of samples are left, because it has a border to compute
    /// first.
    private static let leastShared = 16

    func perform(piece: Int, worker: Int) {
        if piece < 2 * count {
            makeStrip(piece, worker: worker)
        } else {
            tiles.performChroma(frame, worker: worker)
        }
    }

    /// Computes one strip from one of its ends, until it meets another thread or the time to stop comes.
    private func makeStrip(_ piece: Int, worker: Int) {
        unsafe tiles.reports[piece] = NeuralTiles.StripReport()
        let (grid, progress, until) = (tiles.grid, tiles.progress, frame.until)
        let direction = piece < count ? StripDirection.down : .up
        let index = direction == .down ? piece : 2 * count - 1 - piece
        if direction == .up && progress.rowsLeft(ofStrip: index) < Self.leastShared { return }
        let strip = tiles.plan.strips[index]
        let left = grid.region(strip.row * grid.columns + strip.column)
        let right = grid.region(strip.row * grid.columns + strip.column + strip.columns - 1)
        let columns = left.x..<right.x + right.width
        let cost = tiles.costs[Int(tier.rawValue)].time(samples: columns.count)
        let step =
            until == nil
            ? Self.claimedRows : min(Self.claimedRows, max(1, Int(Self.clockPeriod.count / max(cost.count, 1))))

        let start = MonotonicTime.now()
        var now = start
        var tileRow = direction == .down ? strip.row : strip.row + strip.rows - 1
        var rest = progress.rows(of: tileRow)
        var running = unsafe tiles.kernels.strip(
            network, bucket: tiles.bucket, frame.source, into: tiles.history.plane,
            copy: until == nil ? frame.destination : nil, columns: columns,
            firstRow: direction == .down ? rest.lowerBound : rest.upperBound - 1, direction: direction,
            scratch: tiles.scratch(of: worker))
        while (strip.row..<strip.row + strip.rows).contains(tileRow) {
            rest = progress.rows(of: tileRow)
            let needed = cost * Int64(min(rest.count, progress.rowsLeft(ofStrip: index)))
            if let until, now + needed > until { break }
            while !rest.isEmpty {
                if let until, now > until { break }
                guard let rows = progress.claimRows(ofStrip: index, direction, most: min(step, rest.count)) else { break }
                if progress.recordBegun(rows.count, tileRow: tileRow, of: strip) { mark(tileRow, of: strip, as: .base) }
                unsafe running.advance(by: rows.count)
                unsafe tiles.reports[piece].samples += rows.count * columns.count
                if progress.recordDone(rows.count, tileRow: tileRow, of: strip) {
                    mark(tileRow, of: strip, as: tier)
                    if until != nil {
                        unsafe tiles.history.copy(
                            tileRow * grid.columns + strip.column, columns: strip.columns, into: frame.destination)
                    }
                }
                rest = direction == .down ? rows.upperBound..<rest.upperBound : rest.lowerBound..<rows.lowerBound
                now = MonotonicTime.now()
            }
            if !rest.isEmpty { break }
            tileRow += direction == .down ? 1 : -1
        }
        unsafe tiles.reports[piece].time = MonotonicTime.now() - start
    }

    private func mark(_ tileRow: Int, of strip: TileStrip, as tier: SuperResolutionTier) {
        for column in strip.column..<strip.column + strip.columns {
            tiles.history.set(tier, ofTile: tileRow * tiles.grid.columns + column)
        }
    }
}
