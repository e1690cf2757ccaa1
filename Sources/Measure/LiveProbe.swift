import Bitstream
import Codec
import Container
import Endpoint
import Media
import Packets
import Transport

/// Receives a stream, decodes every picture at once, and reads its time code.
///
/// Confined to one thread; ``Transport/Source/interrupt()`` ends its waiting.
@safe public final class LiveProbe {
    private let source: Source
    private var decoder: VideoDecoder
    private var codec = VideoCodec.h264
    private var demuxer = TransportStreamDemuxer()
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    /// Presentation times of the units inside the decoder, by number.
    private var times = [MediaTime?](repeating: nil, count: 64)
    private var units: Int64 = 0
    private var failure: CodecError?
    /// Why the input ended early.
    public private(set) var inputFailure: TransportError?
    private var events: (LegEvent) -> Void
    private var each: (ProbedPicture) -> Void
    public private(set) var statistics: ProbeStatistics
    private var firstPicture: MonotonicTime?

    /// - Parameters:
    ///   - event: called with connections and losses.
    ///   - each: called with every picture, for a listing.
    public init(
        _ source: Source, statistics: ProbeStatistics, event: @escaping (LegEvent) -> Void = { _ in },
        each: @escaping (ProbedPicture) -> Void = { _ in }
    ) throws(CodecError) {
        self.source = source
        self.statistics = statistics
        events = event
        self.each = each
        decoder = try VideoDecoder()
    }

    deinit { unsafe buffer.deallocate() }

    /// What the stream is, for a message when no pictures came.
    public var diagnosis: StreamDiagnosis { demuxer.diagnosis }

    /// How often `stopped` is asked while nothing comes: a user who ends the probe does not notice the wait.
    private static let stopInterval = Nanoseconds.milliseconds(50)

    /// Receives until `limit` has passed since the first picture, the input ends, no picture has come for `pictureTimeout`,
    /// or `stopped` says so.
    public func run(limit: Nanoseconds?, pictureTimeout: Nanoseconds, stopped: () -> Bool) throws(CodecError) -> ProbeReport {
        var lastSign = MonotonicTime.now()
        var pictures = 0
        var isEnded = false
        while !isEnded, !stopped() {
            let now = MonotonicTime.now()
            if let limit, let firstPicture, now - firstPicture >= limit { break }
            if statistics.received + statistics.inWarmUp > pictures {
                pictures = statistics.received + statistics.inWarmUp
                lastSign = now
            }
            if now - lastSign >= pictureTimeout { break }
            var wake = now + Self.stopInterval
            if let timer = demuxer.nextTimer { wake = min(wake, timer) }
            let received = unsafe source.receive(into: buffer, until: wake)
            switch received {
            case .message(let message):
                statistics.recordBytes(message.byteCount)
                unsafe demuxer.push(
                    UnsafeRawBufferPointer(rebasing: buffer[..<message.byteCount]), arrival: message.arrival,
                    sourceTime: message.sourceTime, handler: handle)
            case .idle: demuxer.timeout(.now(), handler: handle)
            case .event(let event):
                if case .gap = event { demuxer.recordLoss() }
                events(event)
            case .end, .failed:
                if case .failed(let error) = received { inputFailure = error }
                demuxer.finish(handler: handle)
                decoder.drain()
                countPictures()
                isEnded = true
            }
            if let failure { throw failure }
        }
        return statistics.report(until: isEnded ? nil : .now())
    }

    private func handle(_ event: ContainerEvent) {
        guard case .unit(let unit) = event else { return }
        guard unit.isMainVideo else {
            if let time = unit.presentation,
                let code = unsafe AudioTrack.timeCode(in: unit.bytes, near: .now())
            {
                statistics.recordAudio(time, captured: code.captured)
            }
            return
        }
        times[Int(units % 64)] = unit.presentation
        do {
            if let codec = unit.codec, codec != self.codec {
                var configuration = VideoDecoder.Configuration()
                configuration.codec = codec
                decoder = try VideoDecoder(configuration)
                self.codec = codec
            }
            unsafe try decoder.decode(unit.bytes, id: units, flags: unit.isDamaged ? .isDamaged : [])
            units += 1
            countPictures()
        } catch {
            failure = error
        }
    }

    private func countPictures() {
        do {
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                let seen = unsafe ProbedPicture(luma: picture.view.y, arrived: .now())
                if firstPicture == nil { firstPicture = .now() }
                statistics.recordPicture(
                    seen.reading, size: picture.size, arrived: seen.arrived, timestamp: times[Int(picture.id % 64)])
                each(seen)
            }
        } catch {
            failure = error
        }
    }
}
