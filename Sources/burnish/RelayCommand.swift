import ArgumentParser
import Codec
import Endpoint
import Foundation
import Media
import Relay
import Schedule
import Settings
import Telemetry
import Transport

struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay", abstract: "Relays one stream in the foreground: upscales it, interpolates it and sends it on.",
        discussion: """
            URLs: srt://host:port?mode=listener|caller|rendezvous&latency=MS&streamid=…&passphrase=…&pbkeylen=… \
            (latency in milliseconds; an input also accepts ingest=early|tsbpd|auto), rtp://host:port for MPEG-TS over RTP \
            (an input accepts latency=MS: how long it waits for packets that arrive out of order), udp://host:port for \
            plain MPEG-TS, a path, or - for standard input or output. A path that ends in .sdp is plain RTP as a session \
            description says; an output takes path.sdp?to=HOST:PORT to send there and write the description, an input \
            path.sdp?latency=MS&bitrate=2M.

            Prints a status line each second and a report at the end. SIGINT or SIGTERM ends it cleanly.
            """)

    @Option(help: "Where the stream comes from.") var input: String
    @Option(help: "Where it goes to. Give it several times for several outputs: all get the same.") var output: [String]
    @Option(help: .setting("scale", showsDefault: true)) var scale: StreamOptions.Scale?
    @Option(help: .setting("size")) var size: SizeArgument?
    @Option(help: .setting("deinterlace")) var deinterlace = StreamSettings.Deinterlacing.auto
    @Option(help: .setting("interpolate", showsDefault: true)) var interpolate: Int?
    @Option(help: .setting("fps")) var fps: FrameRateArgument?
    @Flag(help: "Go on when a live source stops: the last frame again, then a grey picture, and silence for sound.")
    var keepOutput = false
    @Option(help: .setting("hold", showsDefault: true)) var hold: TimeArgument?
    @Option(help: .setting("lookahead")) var lookahead = 1
    @Option(help: .setting("mode")) var mode = StreamSettings.Mode.enhance
    @Flag(help: "Never change the output's size: nothing is bypassed, and too much work costs frames.")
    var keepSize = false
    @Option(help: .setting("tier")) var tier = TierArgument(.neuralM)
    @Option(help: .setting("content")) var content = StreamSettings.Content.general
    @Option(help: .setting("sharpness")) var sharpness = StreamSettings().sharpness
    @Option(help: .setting("denoise", showsDefault: true)) var denoise: DenoiseArgument?
    @Option(help: .setting("budget")) var budget = TimeArgument(.milliseconds(80))
    @Option(help: .setting("caution")) var caution = 1.0
    @Option(help: .setting("pacing")) var pacing = StreamSettings.Pacing.eager
    @Option(help: .setting("threads")) var threads = 2
    @Option(help: .setting("bitrate")) var bitrate: BitRateArgument?
    @Option(help: .setting("bitrate-floor")) var bitrateFloor: BitRateArgument?
    @Option(help: .setting("decode-threads")) var decodeThreads = StreamOptions().decodeThreads
    @Option(help: .setting("encode-threads")) var encodeThreads = StreamOptions().encodeThreads
    @Option(help: .setting("preset")) var preset = EncoderPreset.superfast
    @Option(help: .setting("max-size")) var maxSize = SizeArgument(PictureSize(width: 3840, height: 2160))
    @Option(help: "End after this time.") var duration: TimeArgument?
    @Option(help: "Write the final report to this file, as JSON.") var report: String?
    @Option(help: "Write a record of every frame to this file, for burnish replay.") var trace: String?
    @Option(help: "Write what happens to this file while it happens, for burnish top and burnish records.") var telemetry:
        String?
    @Flag(help: "Print the final report as JSON (to standard error where standard output is the stream).") var json = false
    @Flag(help: "Do not print a status line each second.") var quiet = false

    func validate() throws {
        var given: Set<String> = []
        if scale != nil { given.insert("scale") }
        if interpolate != nil { given.insert("interpolate") }
        if hold != nil { given.insert("hold") }
        if lookahead != StreamOptions().lookahead { given.insert("lookahead") }
        if let fault = values.faults(given: given).first { throw ValidationError(fault.onCommandLine) }
    }

    private var values: StreamValues {
        var values = StreamValues()
        if let scale { values.options.scale = scale }
        values.options.size = size?.value
        values.options.fps = fps?.value
        values.options.keepOutput = keepOutput
        if let hold { values.options.hold = hold.value }
        values.options.lookahead = lookahead
        values.options.threads = threads
        values.options.decodeThreads = decodeThreads
        values.options.encodeThreads = encodeThreads
        values.options.preset = preset
        values.options.largestOutput = maxSize.value
        values.options.keepSize = keepSize
        values.settings.mode = mode
        values.settings.tier = tier.value
        values.settings.content = content
        values.settings.sharpness = sharpness
        if let denoise { values.settings.denoise = denoise.strength }
        values.settings.deinterlace = deinterlace
        if let interpolate { values.settings.interpolate = interpolate }
        values.settings.budget = budget.value
        values.settings.caution = caution
        values.settings.pacing = pacing
        values.settings.bitRate = bitrate?.value
        values.settings.bitRateFloor = bitrateFloor?.value
        return values
    }

    func run() throws {
        FreedMemory.keep()
        var configuration = try Failure.checked { () throws(TransportError) in try self.configuration() }
        var files = NamedFiles()
        try files.read(configuration.input.path, "--input")
        for output in configuration.outputs { try files.write(output.path, "--output") }
        try files.write(trace, "--trace")
        try files.write(report, "--report")
        try files.write(telemetry, "--telemetry")
        configuration.telemetry = try telemetry.map(Self.openMap)
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
        if json, !output.contains("-") { print(text) } else { StandardError.line(json ? text : final.text) }
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

    private static func openMap(_ path: String) throws -> TelemetryMap.Writer {
        do throws(TelemetryMapError) {
            let descriptor = try TelemetryMap.create(file: path)
            defer { close(descriptor) }
            return try TelemetryMap.Writer(descriptor)
        } catch {
            StandardError.line("burnish: --telemetry: \(error)")
            throw error.kind == .inaccessible ? Failure.unavailable : Failure.badUsage
        }
    }

    private func configuration() throws(TransportError) -> RelayConfiguration {
        let values = values
        var outputs: [StreamURL] = []
        for text in output { outputs.append(try StreamURL(text)) }
        var configuration = RelayConfiguration(
            input: try StreamURL(input), outputs: outputs, options: values.options, settings: values.settings)
        configuration.tracePath = trace
        configuration.fitsMachine = true
        return configuration
    }
}

extension StreamSettings.Pacing: ExpressibleByArgument {}
extension StreamSettings.Content: ExpressibleByArgument {}
extension StreamSettings.Mode: ExpressibleByArgument {}
extension StreamSettings.Deinterlacing: ExpressibleByArgument {}
extension StreamOptions.Scale: ExpressibleByArgument {}
extension EncoderPreset: ExpressibleByArgument {}

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
