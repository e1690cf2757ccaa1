import Media

/// The shapes that fly in reactions, drawn from formulas.
enum ReactionShape: Int, CaseIterable {
    case thumbUp, thumbDown, heart, balloon, drop, paper, spark

    /// Of the paper and the balloons; other shapes have one of their own.
    static let colors: [SIMD3<UInt8>] = [
        SIMD3(230, 57, 70), SIMD3(255, 202, 58), SIMD3(138, 201, 38), SIMD3(25, 130, 196), SIMD3(146, 96, 197),
    ]

    /// The colour that the shape always has.
    private var own: SIMD3<UInt8>? {
        switch self {
        case .thumbUp, .thumbDown: Self.colors[1]
        case .heart: Self.colors[0]
        case .drop: SIMD3(120, 190, 240)
        case .balloon, .paper, .spark: nil
        }
    }

    /// Draws it as an image.
    /// - Parameter color: one of ``colors``.
    func image(side: Int, color: Int) -> OverlayImage {
        let ink = own ?? Self.colors[color]
        var samples = [UInt8](repeating: 0, count: 4 * side * side)
        let steps = 4
        for row in 0..<side {
            for column in 0..<side {
                var covered = 0
                for part in 0..<steps * steps {
                    let x = (Double(column) + (Double(part % steps) + 0.5) / Double(steps)) / Double(side) * 2 - 1
                    let y = 1 - (Double(row) + (Double(part / steps) + 0.5) / Double(steps)) / Double(side) * 2
                    if contains(x, y, color) { covered += 1 }
                }
                let at = 4 * (row * side + column)
                (samples[at], samples[at + 1], samples[at + 2]) = (ink.x, ink.y, ink.z)
                samples[at + 3] = UInt8(255 * covered / (steps * steps))
            }
        }
        return OverlayImage(size: PictureSize(width: side, height: side), samples: samples)
    }

    /// Whether a point of the square from -1 to 1 is part of the shape.
    private func contains(_ x: Double, _ y: Double, _ color: Int) -> Bool {
        switch self {
        case .thumbUp: Self.isThumb(x, y)
        case .thumbDown: Self.isThumb(x, -y)
        case .heart:
            // Taubin's heart in the plane: (x² + y² - 1)³ = x²y³.
            {
                let (x, y) = (1.25 * x, 1.25 * y + 0.15)
                let round = x * x + y * y - 1
                return round * round * round <= x * x * y * y * y
            }()
        case .balloon:
            (x * x / 0.36 + (y - 0.3) * (y - 0.3) / 0.49) <= 1 || (abs(x) < 0.04 && y < -0.35)
                || (y > -0.5 && y < -0.3 && abs(x) < (-0.3 - y))
        case .drop:
            x * x + (y + 0.3) * (y + 0.3) <= 0.2 || (y > -0.2 && y < 0.9 && abs(x) < 0.4 * (0.9 - y) / 1.1)
        case .paper:
            // Each colour lies another way.
            {
                let slope = Double(color) * 0.5 - 1
                let length = (1 + slope * slope).squareRoot()
                let (along, across) = ((x + slope * y) / length, (y - slope * x) / length)
                return abs(along) < 0.75 && abs(across) < 0.35
            }()
        case .spark: x * x + y * y <= 0.8
        }
    }

    private static func isThumb(_ x: Double, _ y: Double) -> Bool {
        func isBox(_ left: Double, _ right: Double, _ low: Double, _ high: Double, corner: Double) -> Bool {
            let across = max(left + corner - x, x - right + corner, 0)
            let down = max(low + corner - y, y - high + corner, 0)
            return across * across + down * down <= corner * corner
        }
        /// A thick line.
        func isLine(_ a: (x: Double, y: Double), _ b: (x: Double, y: Double), _ radius: Double) -> Bool {
            let (dx, dy) = (b.x - a.x, b.y - a.y)
            let share = min(max(((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy), 0), 1)
            let (px, py) = (x - a.x - share * dx, y - a.y - share * dy)
            return px * px + py * py <= radius * radius
        }
        return isBox(-0.9, -0.5, -0.8, 0.15, corner: 0.1) || isBox(-0.4, 0.8, -0.8, 0.2, corner: 0.22)
            || isLine((-0.15, 0), (0.15, 0.72), 0.2)
    }
}
