import Kernels
import Media

/// Where the samples of one picture lie in another: a vector for each cell of a grid. The caller owns it, and
/// ``OpticalFlow`` fills it. Not thread-safe.
public final class FlowField {
    /// A displacement in samples of the picture, x to the right, y down.
    public struct Vector: Hashable, Sendable, BitwiseCopyable {
        public var x: Float
        public var y: Float
    }

    /// The size of the pictures.
    public let size: PictureSize
    /// Samples between cells: 4 or 8.
    public let spacing: Int
    public let columns: Int
    public let rows: Int
    private var vectors: [Vector]

    init(size: PictureSize, spacing: Int, columns: Int, rows: Int) {
        self.size = size
        self.spacing = spacing
        self.columns = columns
        self.rows = rows
        vectors = Array(repeating: Vector(x: 0, y: 0), count: columns * rows)
    }

    /// The vector of the cell whose first sample is `spacing` times column, row.
    public subscript(column: Int, row: Int) -> Vector { vectors[row * columns + column] }

    /// The vector at a place in samples, bilinear between the centres of the cells.
    public func vector(x: Float, y: Float) -> Vector {
        let cellX = min(max((x + 0.5) / Float(spacing) - 0.5, 0), Float(columns - 1))
        let cellY = min(max((y + 0.5) / Float(spacing) - 0.5, 0), Float(rows - 1))
        let (column, row) = (Int(cellX), Int(cellY))
        let (right, below) = (min(column + 1, columns - 1), min(row + 1, rows - 1))
        let (fx, fy) = (cellX - Float(column), cellY - Float(row))
        func mix(_ part: KeyPath<Vector, Float>) -> Float {
            let upper = self[column, row][keyPath: part] * (1 - fx) + self[right, row][keyPath: part] * fx
            let lower = self[column, below][keyPath: part] * (1 - fx) + self[right, below][keyPath: part] * fx
            return upper * (1 - fy) + lower * fy
        }
        return Vector(x: mix(\.x), y: mix(\.y))
    }

    func fill(from field: MotionVectors) {
        let unit = Float(spacing / Kernels.motionStep) / Float(MotionVector.one)
        for i in vectors.indices {
            let vector = unsafe field.base[i]
            vectors[i] = Vector(x: Float(vector.x) * unit, y: Float(vector.y) * unit)
        }
    }
}
