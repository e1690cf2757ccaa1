/// What a worker needs to know to run one stream. It holds secrets, so it is never logged.
public struct WorkerAssignment: Codable, Hashable, Sendable {
    /// The stream's name in the configuration.
    public var stream: String
    /// URLs as on the command line, with their passphrases. Hosts of outputs and of called inputs are names or addresses: the
    /// worker has the supervisor resolve them.
    public var input: String
    public var outputs: [String]
    /// Every setting that differs from its default, as text with units: the keys and values of the configuration file.
    public var settings: [String: String]
    /// How many callers a second get as far as the passphrase on a listening SRT port; nil is the default.
    public var callsPerSecond: Int?

    public init(stream: String, input: String, outputs: [String], settings: [String: String]) {
        self.stream = stream
        self.input = input
        self.outputs = outputs
        self.settings = settings
    }
}
