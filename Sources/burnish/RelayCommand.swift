import ArgumentParser
import Codec
import Foundation
import Media
import Relay
import Schedule
import Transport

struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay", abstract: "Relays one stream in the foreground: upscales it, interpolates it and sends it on.",
        discussion: """
            URLs: srt://host:port?mode=listener|caller|rendezvous&latency=MS&streamid=…&passphrase=…&pbkeylen=… \
            (latency in milliseconds; an input also accepts ingest=early|tsbpd|auto), rtp://host:port for MPEG-TS over RTP \
            (an input accepts latency=MS: how long it waits for packets that arrive out of order), udp://host:port for \
            plain MPEG-TS, a path, or - for standard input or output.

            Prints a status line each second and a report at the end. SIGINT or SIGTERM ends it cleanly.
            """)

    @Option(help: "Where the stream comes from.") var input: String
    @Option(help: "Where it goes to.") var output: String
    @Option(help: "How many times wider and higher: 1 or 2.") var scale = 2
    @Option(help: "Frames out for each frame in: 1 (the default) or 2.") var interpolate: Int?
    @Option(help: "Send at this constant rate, whatever the input's rate is: 60, 29.97, 30000/1001 …")
    var fps: FrameRateArgument?
    @Option(help: "With --fps: how long to repeat the last frame when the source stops, before a grey picture (default: 5s).")
    var hold: TimeArgument?
    @Option(help: "1 interpolates between two frames. 0 extrapolates from the past and does not delay the input's frames.")
    var lookahead = 1
    @Option(help: "The best super-resolution tier that may be used. auto is the best there is.")
    var tier = TierArgument(.neuralM)
    @Option(help: "How much to sharpen the enlarged pictures: 0 (not at all) to 1.") var sharpness = 0.0
    @Option(
        help: """
            The latency that enhancing may add: a frame must be sent within this time after the end of SRT's or RTP's \
            latency window, or after its arrival where there is no window.
            """)
    var budget = TimeArgument(.milliseconds(80))
    @Option(
        help: """
            1 to 10: how many times slower the machine may suddenly become without a late frame of the input. Above 1 there \
            are fewer enhanced tiles and synthesised frames, unless the budget is large.
            """)
    var caution = 1.0
    @Option(help: "When to send a finished frame: eager is at once; paced is evenly, for receivers without a latency window.")
    var pacing = RelayConfiguration.Pacing.eager
    @Option(help: "Threads that enhance a frame together.") var threads = 2
    @Option(help: "The output video's bit rate, e.g. 4M. The default follows from size and rate.")
    var bitrate: BitRateArgument?
    @Option(help: "Threads that decode a picture together. Useful where the sender codes pictures in slices.")
    var decodeThreads = RelayConfiguration.defaultDecodeThreads
    @Option(help: "Threads that encode a picture together, one slice each.")
    var encodeThreads = RelayConfiguration.defaultEncodeThreads
    @Option(help: "libx264's preset.") var preset = VideoEncoderConfiguration.Preset.superfast
    @Option(help: "The largest picture size to enlarge to.") var maxSize = SizeArgument(PictureSize(width: 3840, height: 2160))
    @Option(help: "End after this time.") var duration: TimeArgument?
    @Option(help: "Write the final report to this file, as JSON.") var report: String?
    @Option(help: "Write a record of every frame to this file, for burnish replay.") var trace: String?
    @Flag(help: "Print the final report as JSON (to standard error where standard output is the stream).") var json = false
    @Flag(help: "Do not print a status line each second.") var quiet = false

    func validate() throws {
        guard (1...2).contains(scale) else { throw ValidationError("--scale is 1 or 2, not \(scale)") }
        if let interpolate, !(1...2).contains(interpolate) {
            throw ValidationError("--interpolate is 1 or 2, not \(interpolate)")
        }
        guard fps == nil || interpolate == nil else {
            throw ValidationError("--fps sets the output's rate and --interpolate makes it follow the input's: give one")
        }
        if let rate = fps?.value {
            guard (1...240).contains(rate.value), max(rate.numerator, rate.denominator) <= SlotGrid.largestTerm else {
                throw ValidationError("--fps is 1 to 240 frames a second, as 60, 29.97 or 30000/1001, not \(rate)")
            }
        }
        if let hold {
            guard fps != nil else { throw ValidationError("--hold goes with --fps: only a constant rate is kept up") }
            guard hold.value >= .zero else { throw ValidationError("--hold is a time, not a negative one") }
        }
        guard (0...1).contains(lookahead) else { throw ValidationError("--lookahead is 0 or 1, not \(lookahead)") }
        guard lookahead == 1 || interpolate == 2 || fps != nil else {
            throw ValidationError("--lookahead 0 goes with --interpolate 2 or --fps: without them nothing is extrapolated")
        }
        guard (1...16).contains(threads) else { throw ValidationError("--threads is 1 to 16, not \(threads)") }
        guard (1...16).contains(encodeThreads) else {
            throw ValidationError("--encode-threads is 1 to 16, not \(encodeThreads)")
        }
        guard (1...16).contains(decodeThreads) else {
            throw ValidationError("--decode-threads is 1 to 16, not \(decodeThreads)")
        }
        guard (0...1).contains(sharpness) else { throw ValidationError("--sharpness is 0 to 1, not \(sharpness)") }
        guard Planner.Weights.cautions.contains(caution) else {
            throw ValidationError("--caution is 1 to 10, not \(caution)")
        }
        guard budget.value > .zero else { throw ValidationError("--budget is a time longer than 0ms") }
    }

    func run() throws {
        let configuration = try Failure.checked { () throws(TransportError) in try self.configuration() }
        var files = NamedFiles()
        try files.read(configuration.input.path, "--input")
        try files.write(configuration.output.path, "--output")
        try files.write(trace, "--trace")
        try files.write(report, "--report")
        let file = try report.map { try ReportFile(path: $0) }
        let relay = try Failure.checked { () throws(TransportError) in try Relay(configuration) }
        file?.clear()
        EndSignals.onArrival { relay.stop() }
        let final: RelayReport
        do throws(RelayFailure) {
            final = try relay.run { observe($0, of: relay) }
        } catch {
            // Report what was done until then. The last line says why the relay has ended.
            if let report = error.report { try? show(report, in: file) }
            throw Failure.exit(error.reason)
        }
        try show(final, in: file)
    }

    /// Prints the report before it writes the file, so that people see it even when the disk is full.
    private func show(_ final: RelayReport, in file: ReportFile?) throws {
        let text = try final.json()
        // Standard output may be the stream itself.
        if json, output != "-" { print(text) } else { StandardError.line(json ? text : final.text) }
        try file?.write(text + "\n")
    }

    private func observe(_ observation: Observation, of relay: Relay) {
        switch observation {
        case .event(let event): StandardError.line("\(event)")
        case .second(let status):
            if !quiet { StandardError.line(status.line) }
            if let duration, status.seconds >= duration.value.seconds { relay.stop() }
        }
    }

    private func configuration() throws(TransportError) -> RelayConfiguration {
        var configuration = RelayConfiguration(input: try StreamURL(input), output: try StreamURL(output))
        configuration.scale = scale
        if let interpolate { configuration.interpolate = interpolate }
        configuration.fps = fps?.value
        if let hold { configuration.hold = hold.value }
        configuration.lookahead = lookahead
        configuration.tier = tier.value
        configuration.sharpness = sharpness
        configuration.budget = budget.value
        configuration.caution = caution
        configuration.pacing = pacing
        configuration.tracePath = trace
        configuration.threads = threads
        configuration.decodeThreads = decodeThreads
        configuration.encodeThreads = encodeThreads
        configuration.bitRate = bitrate?.value
        configuration.preset = preset
        configuration.largestOutput = maxSize.value
        return configuration
    }
}

extension RelayConfiguration.Pacing: ExpressibleByArgument {}
extension VideoEncoderConfiguration.Preset: ExpressibleByArgument {}

/// The best tier that may be used; `auto` is the best there is.
struct TierArgument: ExpressibleByArgument {
    var value: Tier

    init(_ value: Tier) { self.value = value }

    init?(argument: String) {
        guard let tier = argument == "auto" ? .neuralM : Tier(name: argument) else { return nil }
        value = tier
    }

    var defaultValueDescription: String { "auto" }
    static var allValueStrings: [String] { ["auto"] + Tier.allCases.map(\.name) }
}
