import ArgumentParser
import Codec
import Endpoint
import Foundation
import Glibc
import Measure
import Media
import Transport

struct TestSourceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "testsrc",
        abstract: "Sends a live test stream whose frames carry a machine-readable time code in their pixels.")

    @Option(help: "Where to send: srt://, rtp://, udp://, a file, or - for standard output.")
    var output: String

    @Option(help: "Picture size.")
    var size = SizeArgument(PictureSize(width: 640, height: 360))

    @Option(help: "Frames a second.")
    var fps = FrameRateArgument(Rational(30))

    @Option(help: "How long to send.")
    var duration = TimeArgument(.seconds(10))

    @Option(help: "Send the pictures of this time at once at the start, and stay ahead by it (FFmpeg does, with -re).")
    var burst = TimeArgument(.zero)

    @Option(help: "The video's bit rate, in bits a second.")
    var bitrate = BitRateArgument(1_000_000)

    @Option(help: "Time from one keyframe to the next.")
    var keyframeInterval = TimeArgument(.seconds(1))

    @Option(help: "x264's preset: \(EncoderPreset.allCases.map(\.rawValue).joined(separator: ", ")).")
    var codecPreset = EncoderPreset.ultrafast

    @Option(help: "Audio track: beep (AAC, a beep each second, with time codes of its own) or none.")
    var audio = AudioArgument.none

    @Option(help: "Whether video PES headers state their length: on or off.")
    var pesLength = SwitchArgument.on

    @Flag(help: "Write uncompressed pictures to standard output, for another program to encode.")
    var raw = false

    @Option(help: "Samples of uncompressed pictures: yuv420p or gray.")
    var rawFormat = RawFormat.yuv420p

    @Flag(help: "Print a report as JSON at the end (to standard error where standard output is the stream).")
    var json = false

    func validate() throws {
        guard min(size.value.width, size.value.height) >= TimeCodeLayout.smallestSide else {
            throw ValidationError("--size: at least \(TimeCodeLayout.smallestSide) samples on each side")
        }
        guard !raw || output == "-" else { throw ValidationError("--raw writes to standard output: use --output -") }
        guard frames > 0 else { throw ValidationError("--duration: shorter than one frame") }
    }

    private var frames: Int64 { Int64((duration.value.seconds * fps.value.value).rounded()) }

    func run() throws {
        StopRequest.install()
        raw ? try sendRaw() : try sendLive()
    }

    private func sendRaw() throws {
        let sent: Int64
        do throws(RawVideoError) {
            sent = try RawTestSource.run(
                descriptor: STDOUT_FILENO, size: size.value, rate: fps.value, frames: frames, format: rawFormat,
                stopped: { StopRequest.isMade })
        } catch {
            throw Failure.exit(error)
        }
        if sent < frames { StandardError.line("burnish: ended after \(sent) of \(frames) frames") }
    }

    private func sendLive() throws {
        var configuration = TestSourceConfiguration()
        configuration.size = size.value
        configuration.rate = fps.value
        configuration.bitRate = bitrate.value
        configuration.keyframeInterval = max(1, Int((keyframeInterval.value.seconds * fps.value.value).rounded()))
        configuration.preset = codecPreset
        configuration.hasAudio = audio == .beep
        configuration.writesPESLengths = pesLength == .on
        configuration.burst = max(1, Int64((burst.value.seconds * fps.value.value).rounded()))
        configuration.frames = frames
        let sink: Sink
        do throws(TransportError) {
            sink = try Sink(try StreamURL.ofTransportStream(output))
            try sink.awaitConnection(until: .now() + .seconds(5)) { StopRequest.isMade }
        } catch {
            throw Failure.exit(error)
        }
        let source: LiveTestSource
        let report: TestSourceReport
        do throws(CodecError) {
            source = try LiveTestSource(configuration, to: sink)
            report = try source.run(stopped: { StopRequest.isMade }) { StandardError.line("burnish: \($0)") }
        } catch {
            StandardError.line("burnish: \(error)")
            throw error.kind == .unsupportedFormat ? Failure.badUsage : Failure.internalError
        }
        sink.flush(until: .now() + .seconds(1))
        if json {
            let text = try report.json()
            output == "-" ? FileHandle.standardError.write(Data((text + "\n").utf8)) : print(text)
        }
        if sink.isBroken { throw Failure.exit(brokenOutput: sink) }
    }
}

extension RawFormat: ExpressibleByArgument {}

/// What audio the test source sends.
enum AudioArgument: String, CaseIterable, ExpressibleByArgument { case none, beep }

enum SwitchArgument: String, CaseIterable, ExpressibleByArgument { case on, off }

extension EncoderPreset: ExpressibleByArgument {}
extension OutputCodec: ExpressibleByArgument {}
