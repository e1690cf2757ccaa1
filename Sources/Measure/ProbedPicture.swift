import Media

/// What a probe sees of one picture.
public struct ProbedPicture: Hashable, Sendable, BitwiseCopyable {
    public var reading: TimeCodeReading
    /// When its decoder gave it.
    public var arrived: WallTime
    /// The mean of its luma, 0…255: by it a listing shows which settings a picture was made with.
    public var level: Double

    private static let columns = 32
    private static let rows = 18

    /// Reads a picture. Allocates nothing.
    init(luma: PlaneView, arrived: WallTime) {
        self.arrived = arrived
        reading = unsafe TimeCodeReading(luma: luma, near: arrived)
        var sum = 0
        for row in 0..<Self.rows {
            let line = unsafe luma.row((2 * row + 1) * luma.height / (2 * Self.rows))
            for column in 0..<Self.columns { unsafe sum += Int(line[(2 * column + 1) * luma.width / (2 * Self.columns)]) }
        }
        level = Double(sum) / Double(Self.rows * Self.columns)
    }
}
