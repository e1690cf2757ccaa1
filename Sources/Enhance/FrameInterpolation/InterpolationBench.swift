import Kernels
import Media

/// Times synthesised frames, flow included, at several numbers of threads, in turn over many rounds, so that what the
/// machine's neighbours do falls on all alike. For `burnish bench`; not thread-safe.
public struct InterpolationBench {
    public enum Subject: String, Sendable, CaseIterable {
        case lowLatency = "low-latency"
        case quality
        case extrapolation
    }

    public struct Row: Sendable {
        public let subject: Subject
        public let threads: Int
        /// Wall time to take in one picture and synthesise another: median and least over the rounds.
        public let median: Nanoseconds
        public let least: Nanoseconds
        /// How many times as long the first number of threads took, median over the rounds.
        public let speedup: Double
    }

    /// Of the pictures that come in.
    public var size = PictureSize(width: 1280, height: 720)
    public var scaleFactor = 1
    public var threads = [1, 2]
    public var rounds = 31
    public var subjects = Subject.allCases

    public init() {}

    /// - Throws: `unsupportedSize`.
    public func run() throws(EnhanceError) -> [Row] {
        var variants: [Variant] = []
        for subject in subjects {
            for count in threads {
                variants.append(try Variant(subject, configuration, WorkerPool(threadCount: count)))
            }
        }
        // A texture that goes to and fro under a window, so that every pair has motion and none is like the last.
        let places = [0, 7, 10, 16, 24, 29, 27, 19, 12, 5]
        let sources = places.map { texture(size, step: 12, movedBy: $0) }
        let enhanced =
            scaleFactor == 1
            ? sources : places.map { texture(size.scaled(by: scaleFactor), step: 24, movedBy: scaleFactor * $0) }
        let output = Picture(size: size.scaled(by: scaleFactor))
        // The first rounds fill the sessions with pictures.
        for round in -4..<rounds {
            let index = (round + 4) % places.count
            for variant in variants {
                let start = MonotonicTime.now()
                unsafe try variant.run(sources[index].view, enhanced[index].view, into: output.mutableView)
                if round >= 0 { variant.times.append(.now() - start) }
            }
        }
        return variants.indices.map { i in variants[i].row(against: variants[i - i % threads.count]) }
    }

    private var configuration: FrameInterpolationConfiguration {
        var configuration = FrameInterpolationConfiguration(size: size)
        configuration.scaleFactor = scaleFactor
        return configuration
    }

    /// Random levels `step` samples apart, bilinear between them, with some noise of its own.
    private func texture(_ size: PictureSize, step: Int, movedBy x: Int) -> Picture {
        let picture = Picture(size: size)
        var random = CheckRandom(seed: 7)
        let columns = (size.width + 64) / step + 2
        let lattice = (0..<columns * (size.height / step + 2)).map { _ in Int(random.byte()) }
        let luma = unsafe picture.mutableView.y
        for y in 0..<size.height {
            for column in 0..<size.width {
                let (cell, fx) = (column + x).quotientAndRemainder(dividingBy: step)
                let at = y / step * columns + cell
                let upper = lattice[at] * (step - fx) + lattice[at + 1] * fx
                let lower = lattice[at + columns] * (step - fx) + lattice[at + columns + 1] * fx
                let sum = upper * (step - y % step) + lower * (y % step)
                unsafe luma.row(y)[column] = UInt8(min(sum / (step * step) + Int(random.byte() % 5), 255))
            }
        }
        for plane in 1...2 {
            let plane = unsafe picture.mutableView.plane(plane)
            for y in unsafe 0..<plane.height { unsafe plane.row(y).update(repeating: 128, count: plane.width) }
        }
        return picture
    }

    private final class Variant {
        private enum Session {
            case between(FrameInterpolation)
            case ahead(FrameExtrapolation)
        }
        private let subject: Subject
        private let threads: Int
        private let session: Session
        var times: [Nanoseconds] = []

        init(
            _ subject: Subject, _ configuration: FrameInterpolationConfiguration, _ workers: WorkerPool
        ) throws(EnhanceError) {
            self.subject = subject
            threads = workers.threadCount
            session =
                switch subject {
                case .lowLatency: .between(try LowLatencyFrameInterpolation(configuration, workers: workers))
                case .quality: .between(try FrameRateConversion(configuration, workers: workers))
                case .extrapolation: .ahead(try FrameExtrapolation(configuration, workers: workers))
                }
        }

        @unsafe func run(
            _ source: PictureView, _ enhanced: PictureView, into output: MutablePictureView
        ) throws(EnhanceError) {
            switch session {
            case .between(let session):
                unsafe try session.push(source, enhanced: enhanced)
                if session.isReady { unsafe try session.synthesise(phase: 0.5, into: output) }
            case .ahead(let session):
                unsafe try session.push(source, enhanced: enhanced)
                unsafe try session.synthesise(distance: 0.5, into: output)
            }
        }

        func row(against first: Variant) -> Row {
            let sorted = times.sorted()
            let ratios = zip(first.times, times).map { Double($0.count) / Double($1.count) }.sorted()
            return Row(
                subject: subject, threads: threads, median: sorted[sorted.count / 2], least: sorted[0],
                speedup: ratios[ratios.count / 2])
        }
    }
}
