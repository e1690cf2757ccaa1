import Codec
import Container
import Media
import Packets
import Transport

/// What the test source sends.
public struct TestSourceConfiguration: Sendable {
    public var size = PictureSize(width: 640, height: 360)
    public var rate = Rational(30)
    /// Bits a second of the video.
    public var bitRate = 1_000_000
    /// Pictures from one keyframe to the next.
    public var keyframeInterval = 30
    public var preset = EncoderPreset.ultrafast
    /// Whether PES headers have the length of video units. Without it, a receiver learns a unit's end from stuffing or from
    /// the next unit, as with FFmpeg's muxer.
    public var writesPESLengths = true
    /// Whether the stream has an audio track: a beep on every second.
    public var hasAudio = false
    /// How many pictures to send at once at the start. The source then stays ahead of the time that its pictures show.
    public var burst: Int64 = 1
    /// How many pictures to send.
    public var frames: Int64 = 300

    public init() {}
}

/// What the test source did.
public struct TestSourceReport: Hashable, Sendable, Encodable {
    /// Pictures painted and encoded.
    public var frames: Int64 = 0
    public var keyframes: Int64 = 0
    /// Pictures that were ready only after the next one was due.
    public var late: Int64 = 0
    public var messages: Int64 = 0
    public var bytes: Int64 = 0
    /// Messages that were not sent because no receiver was connected.
    public var messagesUnconnected: Int64 = 0
    /// Messages that were not sent because the protocol's buffer was full.
    public var messagesRefused: Int64 = 0
    /// How long painting, encoding and sending took, from the moment the picture was due, in milliseconds.
    public var work = Distribution([Int64]())

    public init() {}

    private enum CodingKeys: String, CodingKey {
        case frames, keyframes, late, messages, bytes
        case messagesUnconnected = "messages_unconnected"
        case messagesRefused = "messages_refused"
        case work = "work_ms"
    }
}

/// Sends the test pattern live: paints, encodes, multiplexes and sends each picture at its time on the ``FrameGrid``.
///
/// Presentation times are the capture times on the sender's wall clock. So a source that is started again continues as
/// though it had never stopped.
///
/// Confined to one thread.
public final class LiveTestSource {
    private let configuration: TestSourceConfiguration
    private let encoder: VideoEncoder
    private let muxer: TransportStreamMuxer
    private let sink: Sink
    private var lengths: PESLengthEraser
    private var report = TestSourceReport()
    private var work: [Int64] = []

    public init(_ configuration: TestSourceConfiguration, to sink: Sink) throws(CodecError) {
        var encoding = VideoEncoderConfiguration(size: configuration.size, frameRate: configuration.rate)
        encoding.preset = configuration.preset
        // A keyframe may take a third of a second's worth of bits.
        encoding.rateControl = .rate(configuration.bitRate, bufferFrames: max(2, configuration.rate.value / 3))
        encoding.keyframeInterval = configuration.keyframeInterval
        encoder = try VideoEncoder(encoding)
        var layout = TransportStreamLayout()
        if configuration.hasAudio { layout.passedStreams = [.aac] }
        do throws(ContainerError) { muxer = try TransportStreamMuxer(layout) } catch { throw CodecError(error) }
        lengths = PESLengthEraser(pid: layout.videoPID)
        self.configuration = configuration
        self.sink = sink
    }

    /// Sends until all pictures are out, nothing can ever go out again, or `stopped` says so.
    /// - Parameter event: called with connections and their ends.
    public func run(stopped: () -> Bool, event: (LegEvent) -> Void) throws(CodecError) -> TestSourceReport {
        let grid = FrameGrid(rate: configuration.rate)
        let pattern = TestPattern(size: configuration.size, framesPerSecond: configuration.rate.value)
        let picture = Picture(size: configuration.size)
        work.reserveCapacity(Int(min(configuration.frames, 1_000_000)))
        let clocks = ClockPair.now()
        let first = grid.firstFrame(from: clocks.wall)
        let audio = configuration.hasAudio ? try AudioTrack(from: grid.captureTime(of: first)) : nil
        for index in 0..<configuration.frames {
            let captured = grid.captureTime(of: first + index)
            let due = clocks.monotonic(grid.captureTime(of: first + max(0, index - configuration.burst + 1)))
            due.sleep()
            if stopped() { break }
            var isNewReceiver = false
            while let next = sink.nextEvent() {
                if case .connected = next { isNewReceiver = true }
                event(next)
            }
            if isNewReceiver { muxer.restart() }
            let code = TimeCode(captured: captured, number: UInt16(truncatingIfNeeded: first + index))
            unsafe pattern.paint(picture.mutableView, code: code, index: Int(index))
            try send(picture, index: index, captured: captured, asKeyframe: isNewReceiver)
            if let audio { try send(audio, until: captured) }
            let took = MonotonicTime.now() - due
            if work.count < work.capacity { work.append(took.count) }
            if took.seconds > 1 / configuration.rate.value { report.late += 1 }
            report.frames += 1
            // The caller asks the sink why.
            if sink.isBroken { break }
        }
        report.work = Distribution(work, scale: 1e-6)
        return report
    }

    private func send(_ picture: Picture, index: Int64, captured: WallTime, asKeyframe: Bool) throws(CodecError) {
        let time = MediaTime(captured)
        unsafe try encoder.encode(picture.view, id: index, at: time, asKeyframe: asKeyframe) { unit in
            if unsafe unit.isKeyframe { report.keyframes += 1 }
            unsafe muxer.writeVideo(
                unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                isKeyframe: unit.isKeyframe
            ) { message in
                if configuration.writesPESLengths {
                    unsafe emit(message)
                } else {
                    unsafe lengths.erase(in: message) { unsafe emit($0) }
                }
            }
        }
    }

    private func send(_ audio: AudioTrack, until captured: WallTime) throws(CodecError) {
        unsafe try audio.advance(to: captured) { frame, time in
            unsafe muxer.writePassed(stream: 0, frame, presentationTime: MediaTime(time)) { unsafe emit($0) }
        }
    }

    private func emit(_ message: UnsafeRawBufferPointer) {
        switch unsafe sink.send(message) {
        case .sent:
            report.messages += 1
            report.bytes += Int64(message.count)
        case .wouldBlock: report.messagesRefused += 1
        case .notConnected: report.messagesUnconnected += 1
        }
    }
}

extension MediaTime {
    /// A capture time as a presentation time: the wall clock in 90 kHz ticks. The field on the wire has its low 33 bits.
    init(_ time: WallTime) { self.init(ticks: time.microseconds / 100 * 9 + time.microseconds % 100 * 9 / 100) }
}

extension CodecError {
    /// A stream that the multiplex cannot hold is handled like a picture that the encoder cannot code.
    init(_ error: ContainerError) {
        self.init(
            .unsupportedFormat, operation: "TransportStreamMuxer.init", message: error.message, place: error.place,
            advice: error.advice)
    }
}
