import Kernels
import Media

/// Where the samples of one picture lie in another: a vector for each cell of a grid. The caller owns it, and
/// ``OpticalFlow`` fills it. Not thread-safe.
public final class FlowField {
    /// A displacement in samples of the picture, x to the right, y down.
    public struct Vector: Hashable, Sendable, BitwiseCopyable {
        public var x: Float
        public var y: Float

        public init(x: Float, y: Float) {
            self.x = x
            self.y = y
        }
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

    /// A field without motion, for vectors that were found elsewhere.
    /// - Throws: `unsupportedSize`; `badParameter` for another spacing than 4 or 8.
    public convenience init(size: PictureSize, spacing: Int = 4) throws(EnhanceError) {
        try OpticalFlowConfiguration(size: size).check()
        guard spacing == 4 || spacing == 8 else {
            throw EnhanceError(.badParameter, "cells of a flow field are 4 or 8 samples apart, not \(spacing)")
        }
        let scale = spacing / Kernels.motionStep
        func cells(_ side: Int) -> Int { max((side / scale + Kernels.motionStep - 1) / Kernels.motionStep, 1) }
        self.init(size: size, spacing: spacing, columns: cells(size.width), rows: cells(size.height))
    }

    /// The vector of the cell whose first sample is `spacing` times column, row.
    public subscript(column: Int, row: Int) -> Vector {
        get { vectors[row * columns + column] }
        set { vectors[row * columns + column] = newValue }
    }

    /// The vector at a place in samples, bilinear between the centres of the cells.
    public func vector(x: Float, y: Float) -> Vector {
        let cellX = min(max((x + 0.5) / Float(spacing) - 0.5, 0), Float(columns - 1))
        let cellY = min(max((y + 0.5) / Float(spacing) - 0.5, 0), Float(rows - 1))
        let (column, row) = (Int(cellX), Int(cellY))
        let (right, below) = (min(column + 1, columns - 1), min(row + 1, rows - 1))
        let (fx, fy) = (cellX - Float(column), cellY - Float(row))
        func mix(_ a: Vector, _ b: Vector, _ share: Float) -> Vector {
            Vector(x: a.x * (1 - share) + b.x * share, y: a.y * (1 - share) + b.y * share)
        }
        let upper = mix(self[column, row], self[right, row], fx)
        let lower = mix(self[column, below], self[right, below], fx)
        return mix(upper, lower, fy)
    }

    func fill(from field: MotionVectors) {
        let unit = Float(spacing / Kernels.motionStep) / Float(MotionVector.one)
        for i in vectors.indices {
            let vector = unsafe field.base[i]
            vectors[i] = Vector(x: Float(vector.x) * unit, y: Float(vector.y) * unit)
        }
    }

    /// Writes the vectors for a level of the pyramid, where the field has a cell for 4x4 samples. At the level that this field
    /// was found at they are the vectors that were found.
    func write(into field: MotionVectors, level: Int) {
        let scale = Float(1 << level)
        let unit = Float(MotionVector.one) / scale
        let isSameGrid =
            unsafe spacing == Kernels.motionStep << level && field.columns == columns && field.rows == rows
        let centre = (Float(Kernels.motionStep) - 1) / 2
        for row in unsafe 0..<field.rows {
            let y = (Float(Kernels.motionStep * row) + centre + 0.5) * scale - 0.5
            for column in unsafe 0..<field.columns {
                let x = (Float(Kernels.motionStep * column) + centre + 0.5) * scale - 0.5
                let vector = isSameGrid ? self[column, row] : self.vector(x: x, y: y)
                unsafe field.base[row * field.columns + column] = MotionVector(
                    x: Self.fixed(vector.x * unit), y: Self.fixed(vector.y * unit))
            }
        }
    }

    /// A number that is none becomes 0, and one that is too large the nearest.
    private static func fixed(_ value: Float) -> Int16 {
        if value.isNaN { return 0 }
        return Int16(min(max(value.rounded(), Float(Int16.min)), Float(Int16.max)))
    }
}

/// The flow between two pictures of a sequence, both ways.
public struct FlowPair {
    /// From the earlier picture to the later one.
    public var forward: FlowField
    /// From the later picture to the earlier one.
    public var backward: FlowField

    public init(forward: FlowField, backward: FlowField) {
        self.forward = forward
        self.backward = backward
    }

    /// - Throws: `sizeMismatch`, where the fields are not of pictures of this size.
    func check(size: PictureSize) throws(EnhanceError) {
        let other = forward.size != size ? forward.size : backward.size
        guard other == size else {
            throw EnhanceError(
                .sizeMismatch,
                "a flow field of pictures of \(other) for pictures of \(size): find the flow in pictures of \(size)")
        }
    }
}
