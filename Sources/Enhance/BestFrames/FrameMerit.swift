import Media

/// What speaks for a picture as the poster of a video. All are from 0 to 1 but ``sharpness`` and ``contrast``, which only compare.
///
/// Pictures of other sizes than 640 columns are reduced first, so that a size does not decide.
public struct FrameMerit: Hashable, Sendable, Codable {
    /// The mean size of the Laplacian in the sharpest tenth of all blocks of 8x8: a sharp subject before a soft background is sharp.
    public var sharpness: Double
    /// 0 for black and white pictures, 1 where samples lie in the middle and few are at an end.
    public var exposure: Double
    /// The standard deviation of luma, in levels.
    public var contrast: Double
    /// How far colours are from grey and from each other (Hasler and Süsstrunk, Human Vision and Electronic Imaging 2003).
    public var colour: Double
    /// 0 where everything has changed since the picture before, 1 where nothing has, or nothing is known.
    public var steadiness: Double
    /// 0 where blocks of 8x8 stand out or the quantiser is high, 1 for fine coding.
    public var fineness: Double

    /// The most columns of the picture that is looked at.
    static let columns = 640
    private static let block = 8

    /// - Parameters:
    ///   - before: the picture before it, of the same size; nil where there is none.
    ///   - quantiser: as H.264 counts; nil where it is not known.
    @unsafe public init(_ picture: PictureView, before: PictureView? = nil, quantiser: Double? = nil) {
        let luma = unsafe ReducedPlane(picture.y, columns: Self.columns)
        let (mean, deviation) = luma.meanAndDeviation
        contrast = deviation
        sharpness = Self.sharpness(of: luma)
        let ends = Double(luma.samples.count { $0 <= 24 || $0 >= 232 }) / Double(luma.samples.count)
        let middle = min(1, max(0, (mean - 24) / 48)) * min(1, max(0, (232 - mean) / 48))
        exposure = middle * (1 - ends)
        colour = unsafe Self.colour(ReducedPlane(picture.u, columns: 160), ReducedPlane(picture.v, columns: 160))
        if let before = unsafe before {
            let other = unsafe ReducedPlane(before.y, columns: Self.columns)
            let change = zip(luma.samples, other.samples).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            steadiness = 1 - min(1, Double(change) / Double(luma.samples.count) / 16)
        } else {
            steadiness = 1
        }
        let blocks = unsafe Self.blockiness(picture.y)
        let coded = quantiser.map { min(1, max(0, (44 - $0) / 20)) } ?? 1
        fineness = min(coded, 1 - min(1, max(0, blocks - 0.1) / 0.4))
    }

    private static func sharpness(of luma: ReducedPlane) -> Double {
        var blocks: [Double] = []
        for top in stride(from: 1, to: luma.height - 1, by: block) {
            for left in stride(from: 1, to: luma.width - 1, by: block) {
                var (sum, count) = (0, 0)
                for y in top..<min(top + block, luma.height - 1) {
                    for x in left..<min(left + block, luma.width - 1) {
                        let around = luma[x - 1, y] + luma[x + 1, y] + luma[x, y - 1] + luma[x, y + 1]
                        sum += abs(4 * luma[x, y] - around)
                        count += 1
                    }
                }
                if count > 0 { blocks.append(Double(sum) / Double(count)) }
            }
        }
        guard !blocks.isEmpty else { return 0 }
        blocks.sort(by: >)
        let sharpest = blocks.prefix(max(1, blocks.count / 10))
        return sharpest.reduce(0, +) / Double(sharpest.count)
    }

    private static func colour(_ u: ReducedPlane, _ v: ReducedPlane) -> Double {
        let (first, second) = (u.meanAndDeviation, v.meanAndDeviation)
        func length(_ a: Double, _ b: Double) -> Double { (a * a + b * b).squareRoot() }
        let spread = length(first.deviation, second.deviation)
        return min(1, (spread + 0.3 * length(first.mean - 128, second.mean - 128)) / 24)
    }

    /// By how many more borders of coded blocks stand out than other columns do. What is shown has edges anywhere; coding has them at
    /// most borders.
    @unsafe private static func blockiness(_ plane: PlaneView) -> Double {
        let (width, height) = unsafe (plane.width, plane.height)
        var (standing, columns) = ([0, 0], 0)
        for y in stride(from: 0, to: height, by: 4) {
            let row = unsafe plane.row(y)
            for x in stride(from: block, to: width - block, by: block) {
                func stands(_ x: Int) -> Bool {
                    func step(_ x: Int) -> Int { unsafe abs(Int(row[x]) - Int(row[x - 1])) }
                    return 2 * step(x) > 3 * max(step(x - 1), step(x + 1)) + 2
                }
                if stands(x) { standing[0] += 1 }
                if stands(x + block / 2) { standing[1] += 1 }
                columns += 1
            }
        }
        return columns > 0 ? Double(standing[0] - standing[1]) / Double(columns) : 0
    }
}

/// A plane whose squares of samples became their means.
struct ReducedPlane {
    let width: Int
    let height: Int
    let samples: [UInt8]

    /// - Parameter columns: the most of them.
    @unsafe init(_ plane: PlaneView, columns: Int) {
        let factor = unsafe max(1, (plane.width + columns - 1) / columns)
        let (width, height) = unsafe (max(1, plane.width / factor), max(1, plane.height / factor))
        (self.width, self.height) = (width, height)
        // The last columns and rows of an uneven size are left out.
        let (across, down) = unsafe (min(factor, plane.width), min(factor, plane.height))
        var samples = [UInt8](repeating: 0, count: width * height)
        var sums = [Int32](repeating: 0, count: width)
        let count = Int32(across * down)
        for y in 0..<height {
            for x in sums.indices { sums[x] = count / 2 }
            for line in 0..<down {
                let row = unsafe plane.row(y * factor + line)
                for x in 0..<width {
                    var sum: Int32 = 0
                    for column in 0..<across { unsafe sum &+= Int32(row[x * factor + column]) }
                    sums[x] &+= sum
                }
            }
            for x in 0..<width { samples[y * width + x] = UInt8(truncatingIfNeeded: sums[x] / count) }
        }
        self.samples = samples
    }

    subscript(x: Int, y: Int) -> Int { Int(samples[y * width + x]) }

    var meanAndDeviation: (mean: Double, deviation: Double) {
        var (sum, squares) = (0, 0)
        for sample in samples {
            sum += Int(sample)
            squares += Int(sample) * Int(sample)
        }
        let count = Double(samples.count)
        let mean = Double(sum) / count
        return (mean, max(0, Double(squares) / count - mean * mean).squareRoot())
    }
}
