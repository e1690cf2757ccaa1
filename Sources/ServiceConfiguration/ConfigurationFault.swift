import Settings

/// Something in a configuration that cannot be used: where it stands, and what to do about it.
public struct ConfigurationFault: Error, Hashable, Sendable {
    /// Counts from 1.
    public var line: Int
    /// The key with the sections that hold it: `streams.studio.budget`. Empty for the file as a whole.
    public var key: String
    /// One sentence that follows the key.
    public var text: String

    public init(line: Int, key: String, _ text: String) {
        self.line = line
        self.key = key
        self.text = text
    }

    /// The line to print: `burnish.yaml:12: streams.studio.budget: is a time longer than 0ms, as 80ms, not 80`.
    public func text(in file: String) -> String { "\(file):\(line): " + (key.isEmpty ? text : "\(key): \(text)") }
}

/// Every fault of a configuration, in the order of its lines.
public struct ConfigurationFaults: Error, Hashable, Sendable {
    public var faults: [ConfigurationFault]

    /// A line for each.
    public func lines(in file: String) -> [String] { faults.map { $0.text(in: file) } }
}
