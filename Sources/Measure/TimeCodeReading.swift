import Media

/// What the time code's place in a picture shows.
public enum TimeCodeReading: Hashable, Sendable, BitwiseCopyable {
    /// An intact code: the picture is a captured frame.
    case code(TimeCode)
    /// Reference cells are there, but many cells are neither black nor white. So the picture mixes two frames: it is
    /// synthesised.
    case blended
    /// Reference cells are there, the code is not intact: damaged, or patched together from two frames.
    case damaged
    /// No time code in this picture.
    case absent

    /// Cells whose level lies further than this from black and white (in parts of their difference) look blended. A
    /// blend of two frames at phase p moves every cell that differs between them by min(p, 1-p); two frames in succession differ in
    /// about 20 cells of 96.
    static let mixed = 0.2
    /// How many such cells make a blended picture, where the code is intact and where it is not.
    static let mixedCellsOfIntact = 6
    static let mixedCellsOfBroken = 4

    /// Reads the time code of a picture of any size. Takes some 10 µs, allocates nothing.
    /// - Parameter near: the present time, see ``TimeCode/init(_:near:)``.
    public init(luma: PlaneView, near: WallTime) {
        let layout = unsafe TimeCodeLayout(PictureSize(width: luma.width, height: luma.height))
        guard layout.cell >= 2 else {
            self = .absent
            return
        }
        var levels = InlineArray<112, Float>(repeating: 0)
        var black: Float = 0
        var white: Float = 0
        for row in 0..<layout.rows {
            for column in 0..<layout.columns {
                let level = unsafe Self.level(luma, layout, column: column, row: row)
                levels[row * layout.columns + column] = level
                switch layout.reference(column: column, row: row) {
                case true?: white += level
                case false?: black += level
                case nil: break
                }
            }
        }
        white /= Float(layout.rows)
        black /= Float(layout.rows)
        let range = white - black
        guard range >= 48 else {
            self = .absent
            return
        }
        var word = TimeCode.Word()
        var mixedCells = 0
        for row in 0..<layout.rows {
            for column in 0..<layout.columns {
                let level = (levels[row * layout.columns + column] - black) / range
                if let expected = layout.reference(column: column, row: row) {
                    // A picture that happens to be bright on one side has no alternating columns.
                    if (level > 0.5) != expected {
                        self = .absent
                        return
                    }
                } else {
                    word[layout.bit(column: column, row: row)] = level > 0.5
                    if level > Float(Self.mixed) && level < 1 - Float(Self.mixed) { mixedCells += 1 }
                }
            }
        }
        if let code = TimeCode(word, near: near) {
            self = mixedCells < Self.mixedCellsOfIntact ? .code(code) : .blended
        } else {
            self = mixedCells < Self.mixedCellsOfBroken ? .damaged : .blended
        }
    }

    /// The mean of at most 8x8 samples of the middle half of a cell.
    private static func level(_ luma: PlaneView, _ layout: TimeCodeLayout, column: Int, row: Int) -> Float {
        let samples = max(2, min(8, Int(layout.cell / 2)))
        let step = layout.cell / 2 / Double(samples)
        let left = layout.edge(column) + layout.cell / 4 + step / 2
        let top = layout.edge(row) + layout.cell / 4 + step / 2
        var sum = 0
        for j in 0..<samples {
            let line = unsafe luma.row(min(luma.height - 1, Int(top + Double(j) * step)))
            for i in 0..<samples { unsafe sum += Int(line[min(luma.width - 1, Int(left + Double(i) * step))]) }
        }
        return Float(sum) / Float(samples * samples)
    }
}
