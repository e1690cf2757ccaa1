import Endpoint
import Settings

/// The service's configuration, as its file says it. ``ServiceKeys`` describes its keys, and `StreamKeys` those of a stream.
public struct ServiceConfiguration: Hashable, Sendable {
    /// The page, the API and the metrics.
    public struct HTTP: Hashable, Sendable {
        /// An address of this machine, without brackets: `127.0.0.1`, `::1`, `0.0.0.0`.
        public var address = "127.0.0.1"
        /// 0 for any free port.
        public var port: UInt16 = 8080
        /// PEM files; either both or none. The certificates begin with the server's own.
        public var certificateFile: String?
        public var keyFile: String?
        /// What callers of the API have to know.
        public var token: Secret?
        /// Names that a request's Host may have, beside the address itself and `localhost`.
        public var allowedHosts: [String] = []
        /// Origins that a browser's page may have, beside the service's own: `https://status.example`.
        public var allowedOrigins: [String] = []
        public var allowsPlainHTTP = false
        public var allowsNoToken = false
        /// `stun:` and `turn:` URLs that WebRTC peers are told.
        public var iceServers: [String] = []
        /// What the servers of `turn:` share with the service. There is one where there are such servers.
        public var turnSecret: Secret?

        /// Whether only this machine can reach it.
        public var isLoopback: Bool { LocalAddress.isLoopback(address) }
        public var usesTLS: Bool { certificateFile != nil }
    }

    public struct Log: Hashable, Sendable {
        public enum Format: String, Sendable, CaseIterable { case text, json }
        /// The levels of swift-log.
        public enum Level: String, Sendable, CaseIterable { case trace, debug, info, notice, warning, error, critical }

        public var format = Format.text
        public var level = Level.info
    }

    /// What happens to a stream that the machine has no processors for.
    public enum Admission: String, Sendable, CaseIterable {
        /// It does not start.
        case refuse
        /// It starts on a lower rung: with cheaper tiers, without interpolation, or at its own size.
        case lower
    }

    /// What becomes of stills and clips that are to be made well while streams need the machine.
    public enum WhenBusy: String, Sendable, CaseIterable {
        /// They wait.
        case wait
        /// They are made at once by a smaller network, with what time is left over.
        case lower
    }

    public struct Limits: Hashable, Sendable {
        public var streams = 64
        /// Open connections to the page and the API.
        public var httpConnections = 128
        /// WebRTC calls of all streams together.
        public var calls = 256
        /// Callers a second that get as far as the passphrase, on each listening SRT port.
        public var srtCalls = 20
    }

    public var http = HTTP()
    public var log = Log()
    /// An absolute path; nil keeps no crash reports.
    public var stateDirectory: String?
    /// Absolute paths. The API may name files below them.
    public var folders: [String] = []
    /// Where stills and clips lie; nil: below the state directory.
    public var stills: String?
    public var whenBusy = WhenBusy.wait
    public var admission = Admission.refuse
    public var limits = Limits()
    /// What streams have that do not say otherwise.
    public var defaults = StreamValues()
    /// In the order of the file. No two have the same name.
    public var streams: [StreamDefinition] = []
    /// In the order of the file. No two have the same name.
    public var rooms: [RoomDefinition] = []

    public init() {}
}

extension ServiceConfiguration {
    /// What the service does without a configuration file: one stream and the page, all on the loopback address.
    public static let embeddedText = """
        # What burnishd does without --config. Nothing is reachable from another machine.
        http:
          address: 127.0.0.1
          port: 8080
        streams:
          live:
            input: srt://127.0.0.1:9000?mode=listener
            output: srt://127.0.0.1:9001?mode=listener

        """

    /// Reads a configuration.
    /// - Parameters:
    ///   - text: the file's text.
    ///   - environment: the files that it refers to.
    /// - Throws: every fault, in the order of the lines.
    public init(_ text: String, environment: ConfigurationEnvironment) throws(ConfigurationFaults) {
        try self.init(text, environment: environment, needsStreams: false)
    }

    /// - Parameter needsStreams: a text that does not say which streams there are is a fault. A file that is empty, or was cut off
    ///   before its streams, must not take all streams away.
    init(_ text: String, environment: ConfigurationEnvironment, needsStreams: Bool) throws(ConfigurationFaults) {
        self.init()
        var reader = ConfigurationReader(environment: environment, needsStreams: needsStreams)
        self = try reader.read(try YAMLDocument.read(text).get())
    }

    /// Reads a configuration file of at most 256 KiB.
    public static func load(file: String) throws(ConfigurationFaults) -> ServiceConfiguration {
        let environment = ConfigurationEnvironment.process(file: file)
        let bytes: [UInt8]
        do throws(ConfigurationEnvironment.ReadFailure) {
            bytes = try environment.read(file, YAMLDocument.largestText)
        } catch {
            throw ConfigurationFaults(
                faults: [ConfigurationFault(line: 1, key: "", "\(error.text): give a configuration file, as burnish.yaml")])
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            // The line of the first byte that is no UTF-8.
            let repaired = String(decoding: bytes, as: UTF8.self).unicodeScalars.prefix { $0 != "\u{FFFD}" }
            let line = 1 + repaired.count { $0 == "\n" }
            throw ConfigurationFaults(faults: [ConfigurationFault(line: line, key: "", "is no UTF-8 text: save it as UTF-8")])
        }
        return try ServiceConfiguration(text, environment: environment, needsStreams: true)
    }

    /// The configuration of ``embeddedText``.
    public static func embedded(environment: ConfigurationEnvironment) throws(ConfigurationFaults) -> ServiceConfiguration {
        try ServiceConfiguration(embeddedText, environment: environment)
    }
}
