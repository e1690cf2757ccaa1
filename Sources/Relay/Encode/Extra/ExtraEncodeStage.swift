import Codec
import Enhance
import Media
import Telemetry

/// The thread of the one more encode of a call: makes originals smaller as they are when everything has been done to them, masks
/// included, and encodes them for viewers who can get no other pictures. It works only while there is such a viewer.
///
/// The main encode of a picture comes first. When this one is busy, the newest picture waits and takes the place of the one before, so
/// nothing ever waits for this thread.
///
/// Confined to the thread that calls ``run()``.
final class ExtraEncodeStage {
    private let extra: ExtraEncode
    private let output: any ExtraOutput
    private let configuration: RelayConfiguration
    private let settings: LiveSettings
    private let control: StreamControl
    private let counters: StreamCounters
    private let workers = WorkerPool(threadCount: 1)
    private var scaling: (resampler: PictureResampler, picture: Picture)?
    private var encoder: (any PictureEncoder)?
    /// What the encoder makes, and pictures a second.
    private var codec = ExtraEncoding.Codec.h264
    private var frameRate = Rational(30)
    private var rate = RateWatch()
    private var pace = ExtraPace()
    private var needsKeyframe = true
    /// The number of the newest picture's mask.
    private var maskNumber = 0
    private var newest = MediaTime(ticks: .min)
    private var failures = 0
    private var load = LoadMean()
    /// Of the next unit.
    private var number: Int64 = 0

    private static let idleInterval = Nanoseconds.milliseconds(500)
    /// So many pictures in a row that cannot be encoded are no passing shortage.
    private static let mostFailures = 10
    /// What the rate control may spend ahead, in seconds: a keyframe is not to hold a poor link up for much longer.
    private static let bufferTime = 0.15

    init(output: any ExtraOutput, channels: StreamChannels) {
        extra = channels.extra
        self.output = output
        configuration = channels.configuration
        settings = channels.settings
        control = channels.control
        counters = channels.books.counters
    }

    /// Runs until the queue of pictures is closed and empty.
    func run() {
        while true {
            // Whoever keeps nothing has nothing to look after.
            let next = extra.pictures.pop(until: hasMemory ? .now() + Self.idleInterval : nil)
            if let picture = consume next {
                let start = StageThread.ownProcessorTime
                encode(picture)
                let time = StageThread.ownProcessorTime - start
                counters.add(.extraTime, UInt64(max(0, time.count / 1_000)))
                load.add(time, at: .now())
                extra.load = load.cores
            } else if extra.pictures.isClosed, extra.pictures.count == 0 {
                return
            } else if extra.wanted == nil {
                rest()
            }
        }
    }

    private var hasMemory: Bool { encoder != nil || scaling != nil }

    /// Nobody needs it: no memory is kept for it.
    private func rest() {
        guard hasMemory else { return }
        (encoder, scaling, extra.rates) = (nil, nil, nil)
        (rate, pace, load) = (RateWatch(), ExtraPace(), LoadMean())
        extra.load = 0
    }

    private func encode(_ next: consuming ExtraPicture) {
        guard let wanted = extra.wanted, let encoding = extra.encoding(wanted), !extra.hasFailed(wanted) else { return }
        guard next.maskNumber >= settings.maskNumber else { return counters.add(.extraMasked) }
        guard next.presentation > newest else { return counters.add(.extraFailed) }
        let input = next.picture.picture.size
        let size = encoding.size(of: input)
        let range = encoding.rates(of: size)
        extra.rates = range
        rate.observe(next.interval)
        let originals = rate.rate?.value ?? 30
        let bits = min(max(extra.carried, range.lowerBound), range.upperBound)
        guard pace.takes(size, rate: originals, bits: bits) else { return counters.add(.extraThinned) }
        let frameRate = originals / Double(pace.divisor)
        var isDelivered = false
        do throws(CodecError) {
            try prepare(wanted, size, next.color.shaped(from: input, to: size), bits: bits, frameRate: frameRate)
            if next.maskNumber != maskNumber { needsKeyframe = true }
            if extra.claimKeyframe(at: next.presentation) { needsKeyframe = true }
            maskNumber = next.maskNumber
            newest = next.presentation
            let view = unsafe scaled(next.picture.picture, to: size, chromaLocation: next.color.chromaLocation)
            let (turn, mask) = (next.turn, next.maskNumber)
            number += 1
            unsafe try encoder!.encode(view, id: number, at: next.presentation, asKeyframe: needsKeyframe, carrying: nil) {
                unit in
                isDelivered = unsafe output.deliverExtra(unit, wanted, maskNumber: mask, turn: turn)
                counters.add(isDelivered ? .extraEncoded : .extraMasked)
            }
            failures = 0
        } catch {
            fail(wanted, error)
        }
        needsKeyframe = !isDelivered
    }

    /// Makes the encoder ready for pictures of this kind.
    private func prepare(
        _ codec: ExtraEncoding.Codec, _ size: PictureSize, _ color: ColorDescription, bits: Int, frameRate: Double
    ) throws(CodecError) {
        let rounded = Rational(Int64(max(1, frameRate.rounded())))
        let control = VideoEncoderConfiguration.RateControl.rate(bits, bufferFrames: max(3, frameRate * Self.bufferTime))
        if let encoder, self.codec == codec, encoder.configuration.size == size, encoder.configuration.color == color {
            if encoder.configuration.rateControl == control, self.frameRate == rounded { return }
            if encoder.change(control, at: rounded) {
                self.frameRate = rounded
                return
            }
        }
        encoder = nil
        var wanted = VideoEncoderConfiguration(size: size, frameRate: rounded)
        wanted.color = color
        wanted.rateControl = control
        wanted.preset = codec == .baseline ? .superfast : .veryfast
        wanted.isBaseline = codec == .baseline
        wanted.leastQuantiser = 18
        encoder = try configuration.makeExtraEncoder(wanted, codec)
        (self.codec, self.frameRate) = (codec, rounded)
        needsKeyframe = true
    }

    /// A picture in the size of the encode. Valid until the next call.
    private func scaled(_ picture: Picture, to size: PictureSize, chromaLocation: UInt8) -> PictureView {
        guard picture.size != size else { return unsafe picture.view }
        if scaling?.resampler.input != picture.size || scaling?.resampler.output != size {
            scaling = (PictureResampler(from: picture.size, to: size, workers: workers), Picture(size: size))
        }
        let (resampler, target) = scaling!
        unsafe resampler.resample(picture.view, into: target.mutableView, chromaLocation: chromaLocation)
        return unsafe target.view
    }

    private func fail(_ codec: ExtraEncoding.Codec, _ error: CodecError) {
        counters.add(.extraFailed)
        if failures == 0 { control.report(.message("the \(codec.name) encode for viewers: \(error)")) }
        failures += 1
        encoder = nil
        if failures >= Self.mostFailures || error.kind == .unsupportedCodec { extra.fail(codec) }
    }
}

/// How many cores some work keeps busy: the mean of about the last two seconds. A pure value.
struct LoadMean {
    private static let time = 2.0
    private(set) var cores = 0.0
    private var last: MonotonicTime?

    init() {}

    mutating func add(_ work: Nanoseconds, at now: MonotonicTime) {
        defer { last = now }
        guard let last, now > last else { return }
        let step = (now - last).seconds
        let weight = min(1, step / Self.time)
        cores += (work.seconds / step - cores) * weight
    }
}
