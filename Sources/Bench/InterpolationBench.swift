import Enhance
import EnhanceNetworks
import KernelChecks
import Media

/// Measures the time of synthesised frames, including their flow, at several numbers of threads. They run in turn over
/// many rounds, so that other load on the machine affects all of them alike. For `burnish bench`; not thread-safe.
public struct InterpolationBench {
    public enum Subject: String, Sendable, CaseIterable {
        case lowLatency = "low-latency"
        case quality
        case fused
        case extrapolation
    }

    public struct Row: Sendable {
        public let subject: Subject
        public let threads: Int
        /// Wall time to push one picture and synthesise another: median and least over the rounds.
        public let median: Nanoseconds
        public let least: Nanoseconds
        /// The time with the first number of threads divided by this time, median over the rounds.
        public let speedup: Double
        /// The best `speedup` that the machine allows where the first number of threads is 1: how many independent
        /// frames it makes on so many threads in the time of one frame alone, median over the rounds.
        public let ceiling: Double
    }

    /// The size of the pictures that are pushed.
    public var size = PictureSize(width: 1280, height: 720)
    public var scaleFactor = 1
    public var threads = [1, 2]
    public var rounds = 31
    public var subjects = Subject.allCases

    public init() {}

    /// - Throws: `unsupportedSize`.
    public func run() throws(EnhanceError) -> [Row] {
        var variants: [Variant] = []
        var crowds: [Crowd] = []
        for subject in subjects {
            for count in threads {
                variants.append(try Variant(subject, configuration, WorkerPool(threadCount: count)))
                crowds.append(try Crowd(subject, configuration, count: count))
            }
        }
        // A texture that moves to and fro, so that every pair has motion and none is like the last.
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
            for crowd in crowds { try crowd.run((sources[index], enhanced[index]), isCounted: round >= 0) }
        }
        return variants.indices.map { i in
            variants[i].row(against: variants[i - i % threads.count], ceiling: crowds[i].ceiling)
        }
    }

    private var configuration: FrameInterpolationConfiguration {
        var configuration = FrameInterpolationConfiguration(size: size)
        configuration.scaleFactor = scaleFactor
        return configuration
    }

    /// Random levels `step` samples apart, bilinear between them, with some noise added.
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
        unsafe fill(picture.mutableView.u)
        unsafe fill(picture.mutableView.v)
        return picture
    }

    /// Makes a chroma plane grey.
    private func fill(_ plane: MutablePlaneView) {
        for y in unsafe 0..<plane.height { unsafe plane.row(y).update(repeating: 128, count: plane.width) }
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
                case .fused: .between(try FrameRateConversion(Self.fusing(configuration), workers: workers))
                case .extrapolation: .ahead(try FrameExtrapolation(configuration, workers: workers))
                }
        }

        private static func fusing(_ configuration: FrameInterpolationConfiguration) -> FrameInterpolationConfiguration {
            var configuration = configuration
            configuration.fusion = .shipped
            return configuration
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

        func row(against first: Variant, ceiling: Double) -> Row {
            let sorted = times.sorted()
            let ratios = zip(first.times, times).map { Double($0.count) / Double($1.count) }.sorted()
            return Row(
                subject: subject, threads: threads, median: sorted[sorted.count / 2], least: sorted[0],
                speedup: ratios[ratios.count / 2], ceiling: ceiling)
        }
    }

    /// Sessions of one thread each. First one of them makes a frame alone, then the others make one each side by side.
    private final class Crowd {
        private let pool: WorkerPool
        private let members: [Member]
        private var ratios: [Double] = []

        private final class Member {
            let variant: Variant
            let output: Picture
            var time = Nanoseconds.zero
            var error: EnhanceError?

            init(_ variant: Variant, output: Picture) {
                self.variant = variant
                self.output = output
            }

            func makeFrame(_ source: Picture, _ enhanced: Picture) {
                let start = MonotonicTime.now()
                do throws(EnhanceError) {
                    unsafe try variant.run(source.view, enhanced.view, into: output.mutableView)
                } catch {
                    self.error = error
                }
                time = .now() - start
            }
        }

        /// A frame of every member. A piece is a member.
        private struct SideBySide: PiecewiseWork {
            let members: [Member]
            let source: Picture
            let enhanced: Picture

            func perform(piece: Int, worker: Int) { members[piece].makeFrame(source, enhanced) }
        }

        /// - Parameter count: how many work at once. With one there is nothing to compare.
        init(
            _ subject: Subject, _ configuration: FrameInterpolationConfiguration, count: Int
        ) throws(EnhanceError) {
            pool = WorkerPool(threadCount: count)
            var members: [Member] = []
            for _ in 0..<(count > 1 ? count + 1 : 0) {
                members.append(
                    Member(
                        try Variant(subject, configuration, WorkerPool(threadCount: 1)),
                        output: Picture(size: configuration.size.scaled(by: configuration.scaleFactor))))
            }
            self.members = members
        }

        /// How many times as many frames all of them make together as one alone, median over the rounds.
        var ceiling: Double { members.isEmpty ? 1 : ratios.sorted()[ratios.count / 2] }

        func run(_ pictures: (Picture, Picture), isCounted: Bool) throws(EnhanceError) {
            guard let alone = members.last else { return }
            alone.makeFrame(pictures.0, pictures.1)
            pool.run(
                SideBySide(members: members, source: pictures.0, enhanced: pictures.1), pieces: members.count - 1)
            for member in members { if let error = member.error { throw error } }
            guard isCounted else { return }
            ratios.append(
                members.dropLast().reduce(0) { $0 + Double(alone.time.count) / Double($1.time.count) })
        }
    }
}
