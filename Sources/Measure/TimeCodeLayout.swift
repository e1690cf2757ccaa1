import Media

/// Where the cells of a ``TimeCode`` lie in a picture: a block at the top left, in proportion to the picture so that a
/// scaled picture has it in the same place. Cells are square; a column of alternating black and white reference cells
/// stands on either side. At 640x360 a cell is 23.7 samples wide, at 160x90 5.9.
public struct TimeCodeLayout: Hashable, Sendable, BitwiseCopyable {
    /// The smallest picture that carries a readable code.
    public static let smallestSide = 64

    /// Width and height of a cell in luma samples.
    public let cell: Double
    /// Columns of cells, the two reference columns included.
    public let columns: Int
    public let rows: Int
    /// The size of the block with its quiet border of half a cell.
    public let width: Int
    public let height: Int

    public init(_ size: PictureSize) {
        let portrait = size.height > size.width
        columns = portrait ? 14 : 26
        rows = portrait ? 8 : 4
        // The second term keeps very wide and very tall pictures from being all code.
        cell = min(
            Double(size.width) / Double(columns + 1), Double(size.height) / Double(portrait ? 14 : 8))
        width = min(size.width, Int((cell * Double(columns + 1)).rounded()))
        height = min(size.height, Int((cell * Double(rows + 1)).rounded()))
    }

    /// Left or top edge of the cell with this index, in samples.
    func edge(_ index: Int) -> Double { (Double(index) + 0.5) * cell }

    /// Reference cells: black and white alternate down the left column, and the other way round down the right one.
    func reference(column: Int, row: Int) -> Bool? {
        if column == 0 { return row & 1 == 1 }
        if column == columns - 1 { return row & 1 == 0 }
        return nil
    }

    /// The bit that a data cell carries.
    func bit(column: Int, row: Int) -> Int { row * (columns - 2) + column - 1 }
}

extension TimeCode {
    // Inside limited range, with room for a scaler's overshoot.
    static let black: UInt8 = 40
    static let white: UInt8 = 212
    static let quiet: UInt8 = 126

    /// Paints the code into a luma plane.
    public func paint(into luma: MutablePlaneView) {
        let layout = unsafe TimeCodeLayout(PictureSize(width: luma.width, height: luma.height))
        let word = self.word
        for y in 0..<layout.height {
            unsafe luma.row(y).update(repeating: Self.quiet, count: layout.width)
        }
        for row in 0..<layout.rows {
            let top = Int(layout.edge(row).rounded())
            let bottom = min(layout.height, Int(layout.edge(row + 1).rounded()))
            for column in 0..<layout.columns {
                let left = Int(layout.edge(column).rounded())
                let right = min(layout.width, Int(layout.edge(column + 1).rounded()))
                let bit = layout.reference(column: column, row: row) ?? word[layout.bit(column: column, row: row)]
                for y in top..<bottom {
                    unsafe (luma.row(y) + left).update(repeating: bit ? Self.white : Self.black, count: right - left)
                }
            }
        }
    }
}
