/// A setting that cannot be used: which one, and what to do about it.
public struct SettingFault: Error, Hashable, Sendable {
    /// The setting's name in configuration files; command-line options add `--`.
    public var key: String
    /// One sentence that says what is allowed, and what was given.
    public var text: String

    public init(_ key: String, _ text: String) {
        self.key = key
        self.text = text
    }
}
