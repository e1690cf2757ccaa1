import Codec
import Enhance
import Media
import Schedule

/// What decoding, the base upscale, synthesis and encoding cost on this machine, measured with synthetic pictures: before the first stream
/// of the process, and again where pictures pass for want of time (``CostWatch``). It takes about a fifth of a second.
struct StartCosts: Sendable {
    /// The estimates of `Schedule` where nothing could be measured.
    let costs: OutputLadder.Costs
    /// - Parameter codec: what is encoded. x265 takes 4.5 times x264's time: 5 with the fastest preset, 3.7 with `superfast` (640x360
    ///   and 1280x720, November 2026).
    func costs(of codec: OutputCodec) -> OutputLadder.Costs {
        var costs = costs
        guard codec == .hevc else { return costs }
        costs.encode *= 4.5
        costs.encodeSynthesised *= 4.5
        costs.encodeRepeated *= 4.5
        return costs
    }

    /// Why nothing could be measured.
    let fault: String?

    static let measured: StartCosts = {
        do {
            return StartCosts(costs: try measure(), fault: nil)
        } catch {
            let text = "what work costs here could not be measured, so the output's size is chosen by estimates: \(error)"
            return StartCosts(costs: OutputLadder.Costs(), fault: text)
        }
    }()

    /// What work costs now; nil where it cannot be measured.
    static func measuredAgain() -> StartCosts? { (try? measure()).map { StartCosts(costs: $0, fault: nil) } }

    private static let size = PictureSize(width: 640, height: 384)
    private static let groups = 4
    private static let picturesInGroup = 4

    /// Processor time counts, on one thread. It does not contain the time for which other programs hold the core, but they slow the
    /// thread down all the same: they share caches and, on some machines, the core itself. So the best of several groups of
    /// pictures counts.
    private static func measure() throws -> OutputLadder.Costs {
        let pixels = Double(size.width * size.height)
        var configuration = VideoEncoderConfiguration(size: size, frameRate: Rational(30))
        configuration.preset = .ultrafast
        configuration.usesCABAC = true
        let encoder = try VideoEncoder(configuration)
        let decoder = try VideoDecoder()
        var enlarging = SuperResolutionConfiguration(size: size)
        enlarging.scaleFactor = 2
        let session = try SuperResolutionSession(enlarging, workers: WorkerPool(threadCount: 1))
        let enlarged = Picture(size: session.outputSize)
        let sources = (0...(groups * picturesInGroup)).map(picture)
        var (encode, decode, base): ([Double], [Double], [Double]) = ([], [], [])
        for (index, source) in sources.enumerated() {
            var coded: [UInt8] = []
            encode.append(
                try time {
                    unsafe try encoder.encode(
                        source.view, id: Int64(index), at: MediaTime(ticks: Int64(index + 1) * 3000)
                    ) { unit in unsafe coded.append(contentsOf: unit.bytes) }
                })
            decode.append(
                try time {
                    unsafe try coded.withUnsafeBytes { unsafe _ = try decoder.decode($0, id: Int64(index)) }
                    while try decoder.next() != nil {}
                })
            base.append(
                try time {
                    _ = unsafe try session.process(source.view, into: enlarged.mutableView, tier: .base)
                })
        }
        var costs = OutputLadder.Costs()
        costs.encode = least(encode) / pixels
        // Synthesised ones move less from one to the next. How much less is not known before they are made.
        costs.encodeSynthesised = costs.encode
        // Repeated ones took 0.26 (6 Mb/s, `trellis`) to 1 (10 Mb/s) of it at 1920x1080. Synthetic ones have too much grain to tell.
        costs.encodeRepeated = 0.8 * costs.encode
        costs.decode = least(decode) / pixels
        costs.base = least(base) / (4 * pixels)
        costs.synthesise = try measureSynthesis(of: sources)
        return costs
    }

    /// By itself, because it would take the caches from the others, which then cost more than larger pictures do.
    private static func measureSynthesis(of sources: [Picture]) throws -> Double {
        let session = try LowLatencyFrameInterpolation(FrameInterpolationConfiguration(size: size))
        let synthesised = Picture(size: size)
        let times = try sources.map { source in
            try time {
                unsafe try session.push(source.view, enhanced: source.view)
                if session.isReady { unsafe try session.synthesise(phase: 0.5, into: synthesised.mutableView) }
            }
        }
        return least(times) / Enlargement(from: size, to: size).synthesisWork
    }

    /// The least mean of a group. The first picture is in none: it is a keyframe, and works in untouched memory.
    static func least(_ times: [Double]) -> Double {
        let times = times.dropFirst()
        return stride(from: times.startIndex, to: times.endIndex, by: picturesInGroup).map { first in
            let group = times[first..<min(first + picturesInGroup, times.endIndex)]
            return group.reduce(0, +) / Double(group.count)
        }.min() ?? 0
    }

    /// The processor time of this thread, in nanoseconds.
    private static func time(_ work: () throws -> Void) rethrows -> Double {
        let start = StageThread.ownProcessorTime
        try work()
        return Double((StageThread.ownProcessorTime - start).count)
    }

    /// Shades with some grain, which move: about what real pictures cost that fill the bits that they may have. Colours hardly change in
    /// real ones: with as much contrast as the luma, `ultrafast` took 1.7 times as long (10.8 and 6.4 ns a pixel; real ones 4.7 to 7.6).
    private static func picture(_ index: Int) -> Picture {
        let picture = Picture(size: size)
        var random = SplitMix64(seed: 1)
        let grain = (0..<4096).map { _ in Int(random.unit() * 24) }
        let view = unsafe picture.mutableView
        unsafe paint(view.y, index, grain, contrast: 48)
        unsafe paint(view.u, index, [0], contrast: 6)
        unsafe paint(view.v, index, [0], contrast: 6)
        return picture
    }

    private static func paint(_ plane: MutablePlaneView, _ index: Int, _ grain: [Int], contrast: Int) {
        for row in 0..<(unsafe plane.height) {
            for column in 0..<(unsafe plane.width) {
                let (x, y) = (column + 3 * index, row + index)
                let shade = 64 + (x ^ y) % 96 * contrast / 96 + grain[(x * 31 + y * 17) % grain.count]
                unsafe plane.base[row * plane.stride + column] = UInt8(clamping: shade)
            }
        }
    }
}
