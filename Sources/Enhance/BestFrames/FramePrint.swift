import Media

/// A print of a picture that tells scenes apart: where it is bright and dark, its colours, and the directions of its edges.
///
/// Brightness and contrast are taken out, so that a faded picture of a scene has nearly the print of the scene. The layout follows
/// MPEG-7's colour layout (ISO/IEC 15938-3), without its transform.
public struct FramePrint: Hashable, Sendable {
    private let luma: [Float]
    private let chroma: [Float]
    private let edges: [Float]

    private static let cells = 8
    private static let directions = 4

    @unsafe public init(_ picture: PictureView) {
        let plane = unsafe ReducedPlane(picture.y, columns: 160)
        let layout = Self.layout(plane, Self.cells)
        let mean = layout.reduce(0, +) / Float(layout.count)
        let deviation = (layout.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Float(layout.count)).squareRoot()
        luma = layout.map { ($0 - mean) / (deviation + 4) }
        chroma = unsafe [picture.u, picture.v].flatMap { unsafe Self.layout(ReducedPlane($0, columns: 80), Self.cells / 2) }
            .map { ($0 - 128) / 16 }
        edges = Self.edges(plane)
    }

    /// 0 for the same picture; pictures of one scene are mostly under ``oneScene``.
    public func distance(to other: FramePrint) -> Double {
        func mean(_ a: [Float], _ b: [Float]) -> Float {
            var sum: Float = 0
            for place in a.indices { sum += abs(a[place] - b[place]) }
            return sum / Float(a.count)
        }
        return Double(mean(luma, other.luma) + mean(chroma, other.chroma) + mean(edges, other.edges)) / 3
    }

    public static let oneScene = 0.25

    /// The means of a square number of parts.
    private static func layout(_ plane: ReducedPlane, _ cells: Int) -> [Float] {
        (0..<cells * cells).map { cell in
            let rows = range(cell / cells, of: cells, plane.height)
            let columns = range(cell % cells, of: cells, plane.width)
            var sum = 0
            for y in rows { for x in columns { sum += plane[x, y] } }
            return Float(sum) / Float(rows.count * columns.count)
        }
    }

    /// Shares of four directions of gradients in each of 4x4 parts.
    private static func edges(_ plane: ReducedPlane) -> [Float] {
        let cells = cells / 2
        var shares: [Float] = []
        for cell in 0..<cells * cells {
            var sums = [Float](repeating: 0, count: directions)
            for y in range(cell / cells, of: cells, plane.height) where y > 0 && y < plane.height - 1 {
                for x in range(cell % cells, of: cells, plane.width) where x > 0 && x < plane.width - 1 {
                    let (across, down) = (plane[x + 1, y] - plane[x - 1, y], plane[x, y + 1] - plane[x, y - 1])
                    let isSteep = abs(down) > abs(across)
                    sums[(isSteep ? 2 : 0) + (across * down < 0 ? 1 : 0)] += Float(abs(across) + abs(down))
                }
            }
            // Parts without edges have nearly none of each.
            let all = sums.reduce(0, +) + 64
            shares += sums.map { 2 * $0 / all }
        }
        return shares
    }

    private static func range(_ place: Int, of count: Int, _ length: Int) -> Range<Int> {
        let first = min(place * length / count, length - 1)
        return first..<max(first + 1, (place + 1) * length / count)
    }
}
