import Enhance
import EnhanceNetworks
import Foundation
import Media

/// Measures what a picture gains when its tiles get more time, and how far the work overruns the time to stop. Each
/// picture is enlarged with stop times from none to enough, in turn over several rounds. For `burnish bench`; not
/// thread-safe.
public struct StopTimeBench {
    /// Pictures of one size.
    public var pictures: [Picture]
    public var tier = SuperResolutionTier.neuralMedium
    public var threads = 2
    public var rounds = 2
    /// Stop times, counted from the moment when the `base` picture is usually done.
    public var stops: [Nanoseconds] = stride(from: 0.0, through: 40, by: 2).map { .milliseconds($0) }

    /// The result for one stop time, or for all of them together.
    public struct Row: Sendable {
        /// nil in the row for all stop times.
        public var stop: Nanoseconds?
        /// The mean share of tiles that were done.
        public var share: Double
        /// Luma PSNR over all pictures, against the pictures with every tile done. It is infinite where they are equal.
        public var psnr: Double
        /// How much later than the stop time a picture was done, of those pictures that it stopped. The time of the `base`
        /// picture does not count. Zero where it stopped none.
        public var overshoot: (median: Nanoseconds, p99: Nanoseconds, largest: Nanoseconds)
    }

    public init(pictures: [Picture]) { self.pictures = pictures }

    /// - Returns: a row for each stop time, and one for all together; none without pictures.
    /// - Throws: what ``SuperResolutionSession`` throws, for a size that it does not support.
    public func run() throws(EnhanceError) -> [Row] {
        guard let size = pictures.first?.size else { return [] }
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.useShippedNetworks()
        configuration.networks[tier] = SuperResolutionNetwork.shipped(tier)
        let session = try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
        let target = Picture(size: session.outputSize)
        let blank = Picture(size: size)
        var order = TileOrder(grid: session.grid)

        var complete: [Picture] = []
        for source in pictures {
            let picture = Picture(size: session.outputSize)
            _ = unsafe try session.process(source.view, into: picture.mutableView, tier: tier)
            complete.append(picture)
        }
        var shares = stops.map { _ in 0.0 }
        var errors = stops.map { _ in 0.0 }
        var overshoots = stops.map { _ in [Int64]() }
        var base = Nanoseconds.zero
        for _ in 0..<rounds {
            for (index, source) in pictures.enumerated() {
                for (at, stop) in stops.enumerated() {
                    // Enlarge another picture in between, so that no tile of the last turn can be reused.
                    _ = unsafe try session.process(blank.view, into: target.mutableView, tier: .base)
                    unsafe order.arrange(for: source.view.y)
                    let requests = order.order.map { TileRequest(tile: $0, tier: tier) }
                    let until = MonotonicTime.now() + base + stop
                    let result = unsafe try session.process(
                        source.view, into: target.mutableView, tiles: requests.span,
                        SuperResolutionParameters(until: until))
                    let overshoot = min(MonotonicTime.now() - until, result.tileTime)
                    base = base == .zero ? result.baseTime : base + (result.baseTime - base) / 8
                    if result.tilesLeft > 0 || overshoot > .zero { overshoots[at].append(max(overshoot, .zero).count) }
                    shares[at] += Double(result.tilesComputed) / Double(requests.count)
                    errors[at] += unsafe Self.squaredError(target.view.y, complete[index].view.y)
                }
            }
        }
        let samples = Double(rounds * pictures.count)
        let pixels = Double(session.outputSize.width * session.outputSize.height)
        func row(_ stop: Nanoseconds?, share: Double, error: Double, _ overshoots: [Int64]) -> Row {
            let sorted = overshoots.sorted()
            func quantile(_ share: Double) -> Nanoseconds {
                sorted.isEmpty ? .zero : Nanoseconds(sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))])
            }
            return Row(
                stop: stop, share: share / samples, psnr: 10 * log10(255 * 255 / (error / samples / pixels)),
                overshoot: (quantile(0.5), quantile(0.99), quantile(1)))
        }
        let count = Double(stops.count)
        return stops.indices.map { row(stops[$0], share: shares[$0], error: errors[$0], overshoots[$0]) }
            + [
                row(
                    nil, share: shares.reduce(0, +) / count, error: errors.reduce(0, +) / count,
                    overshoots.flatMap { $0 })
            ]
    }

    private static func squaredError(_ a: PlaneView, _ b: PlaneView) -> Double {
        var sum = 0
        for y in unsafe 0..<a.height {
            let (rowA, rowB) = unsafe (a.row(y), b.row(y))
            for x in unsafe 0..<a.width {
                let difference = unsafe Int(rowA[x]) - Int(rowB[x])
                sum += difference * difference
            }
        }
        return Double(sum)
    }
}
