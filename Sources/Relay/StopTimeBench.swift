import Codec
import Enhance
import Foundation
import Media
import Offline

/// What a picture gains when its tiles are given more time, and by how much the time to stop is overrun: pictures of a
/// file, each enlarged with stop times from none to enough, in turn over several rounds.
public struct StopTimeBench {
    public var input: String
    public var tier = SuperResolutionTier.neuralMedium
    public var threads = 2
    /// Pictures from the start of the file.
    public var pictures = 24
    public var rounds = 2
    /// Stop times, counted from when the `base` picture is usually done.
    public var stops: [Nanoseconds] = stride(from: 0.0, through: 40, by: 2).map { .milliseconds($0) }

    /// What one stop time came to, or all of them together.
    public struct Row: Sendable {
        /// nil in the row for all.
        public var stop: Nanoseconds?
        /// Tiles done, of those there are: the mean.
        public var share: Double
        /// Luma PSNR over all pictures, against the picture with every tile done; infinite where all were.
        public var psnr: Double
        /// By how much later than the stop time the picture was done, of those that it stopped; the time of the `base`
        /// picture is not counted. Zero where it stopped none.
        public var overshoot: (median: Nanoseconds, p99: Nanoseconds, largest: Nanoseconds)
    }

    public init(input: String) { self.input = input }

    /// - Returns: a row for each stop time, and one for all together; none when the file has no picture.
    public func run() throws(FileEnhancementError) -> [Row] {
        let sources = try read()
        guard let size = sources.first?.size else { return [] }
        do throws(EnhanceError) {
            return try measure(sources, size)
        } catch {
            throw .enhance(error)
        }
    }

    private func read() throws(FileEnhancementError) -> [Picture] {
        var copies: [Picture] = []
        do throws(CodecError) {
            let reader = try FileReader(path: input)
            while copies.count < pictures, let item = try reader.next() {
                guard case .picture(let picture, _) = consume item, picture.size == reader.video.size else { continue }
                let copy = Picture(size: picture.size)
                unsafe Self.copy(picture.view, into: copy.mutableView)
                copies.append(copy)
            }
        } catch {
            throw .codec(error)
        }
        return copies
    }

    private func measure(_ sources: [Picture], _ size: PictureSize) throws(EnhanceError) -> [Row] {
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.useShippedNetworks()
        let session = try SuperResolutionSession(configuration, workers: WorkerPool(threadCount: threads))
        let target = Picture(size: session.outputSize)
        let blank = Picture(size: size)
        var order = TileOrder(grid: session.grid)

        var complete: [Picture] = []
        for source in sources {
            let picture = Picture(size: session.outputSize)
            _ = unsafe try session.process(source.view, into: picture.mutableView, tier: tier)
            complete.append(picture)
        }
        var shares = stops.map { _ in 0.0 }
        var errors = stops.map { _ in 0.0 }
        var overshoots = stops.map { _ in [Int64]() }
        var base = Nanoseconds.zero
        for _ in 0..<rounds {
            for (index, source) in sources.enumerated() {
                for (at, stop) in stops.enumerated() {
                    // Another picture in between: nothing of the last turn can be used again.
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
                    shares[at] += Double(result.tilesSmall + result.tilesMedium) / Double(requests.count)
                    errors[at] += unsafe Self.squaredError(target.view.y, complete[index].view.y)
                }
            }
        }
        let samples = Double(rounds * sources.count)
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

    private static func copy(_ source: PictureView, into target: MutablePictureView) {
        func copy(_ from: PlaneView, _ to: MutablePlaneView) {
            for y in unsafe 0..<from.height { unsafe to.row(y).update(from: from.row(y), count: from.width) }
        }
        unsafe copy(source.y, target.y)
        unsafe copy(source.u, target.u)
        unsafe copy(source.v, target.v)
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
