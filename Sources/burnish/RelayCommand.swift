import ArgumentParser
import Codec
import Endpoint
import Foundation
import Media
import Relay
import Schedule
import Settings
import Telemetry

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
    @OptionGroup(title: "Settings of the stream") var settings: SettingOptions
    @Option(help: "End after this time.") var duration: TimeArgument?
    @Option(help: "Write the final report to this file, as JSON.") var report: String?
    @Option(help: "Write a record of every frame to this file, for burnish replay.") var trace: String?
    @Option(help: "Write what happens to this file while it happens, for burnish top and burnish records.") var telemetry:
        String?
    @Flag(help: "Print the final report as JSON (to standard error where standard output is the stream).") var json = false
    @Flag(help: "Do not print a status line each second.") var quiet = false

    func run() throws {
        FreedMemory.keep()
        var configuration = try Failure.checked { () throws(TransportError) in try self.configuration() }
        try StepOptions.readFiles(of: &configuration.settings.steps, stream: "relay")
        var files = NamedFiles()
        try files.read(configuration.input.path, "--input")
        for file in configuration.settings.steps.files { try files.read(file.path, "--\(file.key)") }
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
        let values: StreamValues
        do throws(SettingFault) { values = try settings.values() } catch { preconditionFailure("it was validated: \(error)") }
        var outputs: [StreamURL] = []
        for text in output { outputs.append(try StreamURL(text)) }
        if let fault = StreamURL.fault(of: values.options.codec, in: outputs) {
            throw TransportError(.badURL, place: fault.place, "\(fault.text.namingOptions)")
        }
        var configuration = RelayConfiguration(
            input: try StreamURL(input), outputs: outputs, options: values.options, settings: values.settings)
        configuration.tracePath = trace
        configuration.openRecording = RecordOptions.open
        configuration.fitsMachine = true
        return configuration
    }
}

/// The best tier that may be used; `auto` is the best of those that are usual.
struct TierArgument: ExpressibleByArgument {
    var value: Tier

    init(_ value: Tier) { self.value = value }

    init?(argument: String) {
        guard let tier = argument == "auto" ? .usual : Tier(name: argument) else { return nil }
        value = tier
    }

    var defaultValueDescription: String { "auto" }
    static var allValueStrings: [String] { ["auto"] + Tier.allCases.map(\.name) }
}
