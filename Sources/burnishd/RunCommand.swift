import ArgumentParser
import Control
import Foundation
import Logging
import Media
import ServiceConfiguration
import ServiceLifecycle
import Telemetry
import UnixSignals
import Web

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Runs the service in the foreground. This is what burnishd does without a command.")

    @Option(help: "The configuration file. SIGHUP and burnishd reload read it again.")
    var config: String?

    @Flag(help: "Check the configuration, report each fault as file:line: key: what to do, and end. Exit code 0 or 78.")
    var checkConfig = false

    @Option(help: "The log's format, text or json; before that of the configuration.")
    var logFormat: ServiceConfiguration.Log.Format?

    @Option(
        help:
            "Where crash reports and the API's streams are kept. Without it: what the configuration says, else STATE_DIRECTORY, else nowhere."
    )
    var stateDirectory: String?

    @Option(
        help: """
            Where burnishd reload, burnish top and burnish records find the service. Without it: RUNTIME_DIRECTORY, /run/burnish \
            for root, else burnish below XDG_RUNTIME_DIR.
            """)
    var runtimeDirectory: String?

    func run() async throws {
        // Until the service traps it, the signal to read the configuration again must not end the program.
        signal(SIGHUP, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        let environment = ProcessInfo.processInfo.environment
        let loaded: ServiceConfiguration
        do throws(ConfigurationFaults) {
            loaded = try Self.load(config)
        } catch {
            for line in error.lines(in: config ?? "the default configuration") { ServiceLog.writeToStandardError(line + "\n") }
            throw ServiceFailure.badConfiguration
        }
        if checkConfig { return }

        let format = logFormat ?? loaded.log.format
        let isJournal = ServiceLog.isJournal(environment)
        let threshold = LogThreshold(Self.level(loaded))
        let kind: ServiceLog.Format = format == .json ? .json : isJournal ? .journal : .text
        let writer = LogWriter(STDERR_FILENO, lostLine: ServiceLog.lostLine(kind))
        defer { writer.flush(timeout: .seconds(1)) }
        LoggingSystem.bootstrap { _ in ServiceLog(kind, threshold: threshold, write: { writer.write($0) }) }
        let logger = Logger(label: "burnishd")

        var runtime: RuntimeFolder?
        do throws(RuntimeFolder.Fault) {
            if let path = runtimeDirectory ?? TelemetryMap.Place.folder() { runtime = try RuntimeFolder(path) }
        } catch {
            // Asked for, it is a fault. Else the service runs without what needs it.
            if runtimeDirectory != nil || environment["RUNTIME_DIRECTORY"] != nil {
                throw ServiceFailure.exit(ServiceFailure.unavailable, error.description)
            }
            logger.warning("\(error): burnishd reload, burnish top and burnish records will not find this service")
        }
        guard let worker = WorkerProgram.path(environment) else {
            throw ServiceFailure.exit(
                ServiceFailure.unavailable, "the program burnish is neither beside burnishd nor in ../libexec/burnish")
        }
        try await serve(
            loaded, threshold, logger,
            Supervisor.Surroundings(
                worker: worker, environment: WorkerProgram.environment(environment),
                stateDirectory: stateDirectory ?? loaded.stateDirectory
                    ?? environment["STATE_DIRECTORY"].flatMap { $0.split(separator: ":").first.map(String.init) },
                runtime: runtime, load: { [config] () throws(ConfigurationFaults) in try Self.load(config) }))
    }

    private static func load(_ file: String?) throws(ConfigurationFaults) -> ServiceConfiguration {
        if let file { return try ServiceConfiguration.load(file: file) }
        return try ServiceConfiguration.embedded(environment: .process(file: nil))
    }

    private static func level(_ configuration: ServiceConfiguration) -> Logger.Level {
        Logger.Level(rawValue: configuration.log.level.rawValue) ?? .info
    }

    private func serve(
        _ configuration: ServiceConfiguration, _ threshold: LogThreshold, _ logger: Logger,
        _ surroundings: Supervisor.Surroundings
    ) async throws {
        let manager = ServiceManager(environment: ProcessInfo.processInfo.environment)
        let supervisor = Supervisor(configuration, surroundings, manager: manager, logger: logger)
        let web: WebService
        do throws(WebFault) {
            web = try Web.service(WebConfiguration(configuration), service: supervisor, logger: logger)
        } catch {
            throw ServiceFailure.exit(ServiceFailure.badConfiguration, "http: \(error)")
        }
        await supervisor.follow { configuration throws(ServiceFault) in
            do throws(WebFault) {
                try web.apply(WebConfiguration(configuration))
            } catch {
                throw ServiceFault(.invalid, "http: \(error)")
            }
            threshold.level = Self.level(configuration)
        }
        var group = ServiceGroupConfiguration(
            // They end in the opposite order: the streams first, so that no client of the page holds them up.
            services: [web, ReloadSignal(supervisor: supervisor), supervisor], gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger)
        // Longer than the streams take to send what has arrived; the unit's TimeoutStopSec= is longer still.
        group.maximumGracefulShutdownDuration = .seconds(8)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch let error as WebFault {
            throw ServiceFailure.exit(ServiceFailure.unavailable, "http: \(error)")
        }
    }
}

extension ServiceConfiguration.Log.Format: ExpressibleByArgument {}

/// Reads the configuration again at each SIGHUP.
struct ReloadSignal: Service {
    let supervisor: Supervisor

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            // The supervisor has logged a fault already.
            try? await supervisor.reload()
        }
    }
}

/// The program that is started as `burnish worker`.
enum WorkerProgram {
    /// - Returns: nil where there is none.
    static func path(_ environment: [String: String]) -> String? {
        if let given = environment["BURNISH_WORKER"], !given.isEmpty { return given }
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        let folder = URL(filePath: own).deletingLastPathComponent()
        let places = [folder.appending(path: "burnish"), folder.appending(path: "../libexec/burnish/burnish").standardized]
        return places.map { $0.path(percentEncoded: false) }.first { access($0, X_OK) == 0 }
    }

    /// Without what is meant for the service alone.
    static func environment(_ environment: [String: String]) -> [String: String] {
        let own = [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
            "CREDENTIALS_DIRECTORY",
            "JOURNAL_STREAM", "BURNISH_WORKER",
        ]
        // A worker's sandbox has no backtraces, and trying to write one would delay its replacement.
        return environment.filter { !own.contains($0.key) }.merging(["SWIFT_BACKTRACE": "enable=no"]) { given, _ in given }
    }
}
