import ArgumentParser
import Glibc
import Measure
import Media

struct TestSourceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "testsrc",
        abstract: "Sends a live test stream whose frames carry a machine-readable time code in their pixels.")

    @Option(help: "Where to send: srt://, udp://, a file, or - for standard output.")
    var output: String

    @Option(help: "Picture size.")
    var size = SizeArgument(PictureSize(width: 640, height: 360))

    @Option(help: "Frames a second.")
    var fps = FrameRateArgument(Rational(30))

    @Option(help: "How long to send.")
    var duration = TimeArgument(.seconds(10))

    @Flag(help: "Write uncompressed pictures (to standard output only), for another program to encode.")
    var raw = false

    @Option(help: "Samples of uncompressed pictures: yuv420p or gray.")
    var rawFormat: RawFormat = .yuv420p

    func validate() throws {
        guard min(size.value.width, size.value.height) >= TimeCodeLayout.smallestSide else {
            throw ValidationError("--size: at least \(TimeCodeLayout.smallestSide) samples on each side")
        }
        guard raw == (output == "-") else {
            throw ValidationError("--raw writes to standard output: use it with --output -, and only there")
        }
    }

    func run() throws {
        StopRequest.install()
        let frames = Int64((duration.value.seconds * fps.value.value).rounded())
        let sent = try RawTestSource.run(
            descriptor: STDOUT_FILENO, size: size.value, rate: fps.value, frames: frames, format: rawFormat,
            stopped: { StopRequest.isMade })
        if sent < frames { StandardError.line("testsrc: ended after \(sent) of \(frames) frames") }
    }
}

extension RawFormat: ExpressibleByArgument {}
