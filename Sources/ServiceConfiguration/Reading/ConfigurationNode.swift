/// A part of a configuration file, with aliases and merge keys resolved.
struct ConfigurationNode: Sendable {
    struct Entry: Sendable {
        var key: String
        /// Where the key stands.
        var line: Int
        var value: ConfigurationNode
    }

    enum Content: Sendable {
        case scalar(String)
        /// An empty value, `~` or `null`.
        case null
        case sequence([ConfigurationNode])
        /// No two entries have the same key.
        case mapping([Entry])
    }

    var line: Int
    var content: Content

    /// What it is, for faults.
    var kind: String {
        switch content {
        case .scalar: "a text"
        case .null: "nothing"
        case .sequence: "a list"
        case .mapping: "a section"
        }
    }
}
