import Enhance
import EnhanceNetworks
import Foundation
import KernelChecks
import Kernels
import Media
import Testing

/// How much the shipped integer networks lose against the float networks that they were made from (`NAME.floats`, for
/// clean input).
@Suite struct QuantisationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var tier: SuperResolutionTier
        var widths: [Int]
        /// Decibels. On the held-out clips both lose 0.02 (docs/measurements/super-resolution.md); discs with their
        /// many edges are harder.
        var bound: Double
        var testDescription: String { tier.name }
    }

    static let cases = [
        Case(tier: .neuralSmall, widths: [1, 8, 8, 8, 8, 4], bound: 0.1),
        Case(tier: .neuralMedium, widths: [1, 16, 16, 16, 16, 16, 16, 4], bound: 0.05),
    ]

    static func float(_ tier: SuperResolutionTier, _ widths: [Int]) throws -> FloatNetwork {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let bytes = [UInt8](try Data(contentsOf: folder.appending(path: "Golden/\(tier.name).floats")))
        let parameters = stride(from: 0, to: bytes.count, by: 4).map { (at: Int) -> Float in
            var bits: UInt32 = 0
            for byte in bytes[at..<(at + 4)].reversed() { bits = bits << 8 | UInt32(byte) }
            return Float(bitPattern: bits)
        }
        return try #require(FloatNetwork(widths: widths, parameters: parameters))
    }

    /// Discs of many sizes and greys that cover each other, drawn at twice the size and averaged. Their statistics are
    /// like those of natural images (Lee, Mumford, Huang 2001).
    static func discs(width: Int, height: Int, seed: UInt64) -> [Double] {
        var random = CheckRandom(seed: seed)
        func uniform() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
        let (w, h) = (2 * width, 2 * height)
        var fine = [Double](repeating: 128, count: w * h)
        for _ in 0..<400 {
            let radius = 2 * min(60, 3 / (1 - uniform() * 0.97))
            let (cx, cy, grey) = (uniform() * Double(w), uniform() * Double(h), 40 + 170 * uniform())
            let (dx, dy) = (uniform() * 0.4 - 0.2, uniform() * 0.4 - 0.2)
            for y in max(0, Int(cy - radius))..<min(h, Int(cy + radius) + 1) {
                for x in max(0, Int(cx - radius))..<min(w, Int(cx + radius) + 1) {
                    let (u, v) = (Double(x) - cx, Double(y) - cy)
                    if u * u + v * v < radius * radius { fine[y * w + x] = grey + dx * u + dy * v }
                }
            }
        }
        return halved(fine, w, h)
    }

    static func halved(_ plane: [Double], _ width: Int, _ height: Int) -> [Double] {
        (0..<width * height / 4).map {
            let at = $0 / (width / 2) * 2 * width + $0 % (width / 2) * 2
            return (plane[at] + plane[at + 1] + plane[at + width] + plane[at + width + 1]) / 4
        }
    }

    static func rounded(_ plane: [Double]) -> [Double] { plane.map { min(max($0.rounded(), 0), 255) } }

    /// Mean squared error without the outermost 8 samples.
    static func error(_ a: [Double], _ b: [Double], _ width: Int) -> Double {
        let (columns, rows) = (8..<width - 8, 8..<a.count / width - 8)
        let inner = a.indices.filter { columns.contains($0 % width) && rows.contains($0 / width) }
        return inner.reduce(0) { $0 + (a[$1] - b[$1]) * (a[$1] - b[$1]) } / Double(inner.count)
    }

    @Test(arguments: cases) func integersLoseLittle(against float: Case) throws {
        let network = try Self.float(float.tier, float.widths)
        let size = PictureSize(width: 96, height: 64)
        var errors = (float: 0.0, integer: 0.0, base: 0.0)
        for seed in 1...3 as ClosedRange<UInt64> {
            let truth = Self.rounded(Self.discs(width: 192, height: 128, seed: seed))
            let small = Self.rounded(Self.halved(truth, 192, 128)).map { UInt8($0) }
            let source = TestPicture(size) { plane, x, y in plane == 0 ? small[y * 96 + x] : 128 }
            func integer(_ tier: SuperResolutionTier) throws -> [Double] {
                var configuration = SuperResolutionConfiguration(size: size)
                configuration.useShippedNetworks()
                let session = try SuperResolutionSession(configuration)
                let output = TestPicture(session.outputSize)
                _ = try session.process(source.view, into: output.mutableView, tier: tier)
                return (0..<192 * 128).map { Double(output.sample(0, $0 % 192, $0 / 192)) }
            }
            let wanted = Self.rounded(network.double(small, width: 96, height: 64).map(Double.init))
            errors.float += Self.error(wanted, truth, 192)
            errors.integer += Self.error(try integer(float.tier), truth, 192)
            errors.base += Self.error(try integer(.base), truth, 192)
        }
        let loss = 10 * log10(errors.integer / errors.float)
        #expect(loss < float.bound, "\(float.tier.name) loses \(loss) dB")
        // Make sure that the float network does something.
        #expect(10 * log10(errors.base / errors.float) > 1)
    }
}
