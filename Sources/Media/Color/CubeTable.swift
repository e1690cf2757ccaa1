/// What colours become by the table of a `.cube` file: one curve for each of red, green and blue, or a grid of colours, or first the curves
/// and then the grid. ``CubeReader`` reads it.
///
/// Immutable, so any thread may use it.
public final class CubeTable: Sendable {
    /// A row of values for each channel, for inputs that are evenly apart.
    struct Grid: Sendable {
        /// Inputs of the first value and of the last one.
        var domain = (least: ColorVector(repeating: 0), most: ColorVector(repeating: 1))
        /// Values on each axis.
        var size = 0
        /// Of a grid, red varies fastest.
        var values: [SIMD3<Float>] = []
    }

    /// As the file has it; nil where it has none.
    public let title: String?
    /// Nodes on each axis of the grid; nil where there are only curves.
    public var size: Int? { cube?.size }
    private let curves: Grid?
    private let cube: Grid?

    init(title: String?, curves: Grid?, cube: Grid?) {
        self.title = title
        self.curves = curves
        self.cube = cube
    }

    /// How far beyond its domain a table goes on along its last slope. Colours there do not exist, but a table with other nodes has some
    /// of its own there, and looks up what lies between those and real colours.
    private static let margin = ColorVector(repeating: 0.25)

    /// What a colour becomes: by tetrahedral interpolation, as FFmpeg's `lut3d` filter does it.
    /// - Parameter color: coded red, green and blue, mostly 0…1.
    public func callAsFunction(_ color: ColorVector) -> ColorVector {
        var color = color
        if let curves { color = Self.along(curves, color) }
        guard let cube else { return color }
        let place = (color - cube.domain.least) / (cube.domain.most - cube.domain.least)
        let inside = place.clamped(lowerBound: .zero, upperBound: .one)
        let base = Self.within(cube, inside)
        if inside == place { return base }
        let beyond = (place - inside).clamped(lowerBound: -Self.margin, upperBound: Self.margin)
        var result = base
        let cell = 1 / Double(cube.size - 1)
        for axis in 0..<3 where beyond[axis] != 0 {
            var inner = inside
            inner[axis] += beyond[axis] > 0 ? -cell : cell
            let slope = (base - Self.within(cube, inner)) / cell
            result += slope * abs(beyond[axis])
        }
        return result
    }

    private static func along(_ curves: Grid, _ color: ColorVector) -> ColorVector {
        let place = (color - curves.domain.least) / (curves.domain.most - curves.domain.least)
        let bounded = place.clamped(lowerBound: -margin, upperBound: margin + 1) * Double(curves.size - 1)
        var result = ColorVector()
        for channel in 0..<3 {
            let index = min(max(Int(bounded[channel].rounded(.down)), 0), curves.size - 2)
            let (below, above) = (Double(curves.values[index][channel]), Double(curves.values[index + 1][channel]))
            result[channel] = below + (bounded[channel] - Double(index)) * (above - below)
        }
        return result
    }

    /// - Parameter place: 0…1 on each axis.
    private static func within(_ cube: Grid, _ place: ColorVector) -> ColorVector {
        let scaled = place * Double(cube.size - 1)
        let floor = scaled.rounded(.down).clamped(lowerBound: .zero, upperBound: ColorVector(repeating: Double(cube.size - 2)))
        let fraction = scaled - floor
        var node = Int(floor.x) + cube.size * (Int(floor.y) + cube.size * Int(floor.z))
        let steps = SIMD3(1, cube.size, cube.size * cube.size)
        // From the node below to the one above, along the axis with the largest fraction first.
        var (first, second, third) = (0, 1, 2)
        if fraction[first] < fraction[second] { swap(&first, &second) }
        if fraction[second] < fraction[third] { swap(&second, &third) }
        if fraction[first] < fraction[second] { swap(&first, &second) }
        var result = ColorVector(cube.values[node]) * (1 - fraction[first])
        node += steps[first]
        result += ColorVector(cube.values[node]) * (fraction[first] - fraction[second])
        node += steps[second]
        result += ColorVector(cube.values[node]) * (fraction[second] - fraction[third])
        node += steps[third]
        return result + ColorVector(cube.values[node]) * fraction[third]
    }
}

extension ColorVector {
    fileprivate static let one = ColorVector(repeating: 1)
}

/// Why a file is no table of colours.
public struct CubeFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file's line, from 1; nil where it is all of the file.
    public var line: Int?
    /// One sentence that says what is wrong, and what to do.
    public var text: String

    public init(line: Int? = nil, _ text: String) {
        self.line = line
        self.text = text
    }

    public var description: String { line.map { "line \($0): \(text)" } ?? text }
}
