import Settings
import Yams

/// Reads one YAML document into nodes that know their lines.
///
/// A file that is made to do harm costs no more than a good one: the text, the depth and the number of nodes after the
/// expansion of aliases are limited. Yams compares the keys of a mapping, and that takes exponential time when a key is a
/// collection of aliases of collections of aliases. So Yams gets to see no alias: each `*` becomes a character that means
/// nothing in YAML, and aliases are resolved here.
struct YAMLDocument {
    static let largestText = 256 * 1024
    static let mostNodes = 20_000
    static let deepest = 16

    /// Stands for `*`: the first character that Unicode reserves for private use.
    private static let mark: Character = "\u{E000}"

    private var anchors: [String: ConfigurationNode] = [:]
    private var nodes = 0
    /// What follows is not read any more.
    private var isTooLarge = false
    private var faults: [ConfigurationFault] = []

    /// Reads `text`. An empty document is an empty mapping.
    static func read(_ text: String) -> Result<ConfigurationNode, ConfigurationFaults> {
        guard text.utf8.count <= largestText else {
            return .failure(at: 1, "has \(text.utf8.count) bytes; \(largestText) are the most")
        }
        guard !text.unicodeScalars.contains("\u{E000}") else {
            let before = text.unicodeScalars.prefix { $0 != "\u{E000}" }
            return .failure(at: 1 + before.count { $0 == "\n" }, "has a character that stands for nothing (U+E000): remove it")
        }
        do {
            // The parser keeps the anchors' names, so it has to live until the nodes are read.
            let parser = try Parser(
                yaml: text.replacing("*", with: String(mark)), resolver: .basic, constructor: .default, encoding: .utf8)
            guard let root = try parser.singleRoot() else { return .success(ConfigurationNode(line: 1, content: .mapping([]))) }
            var document = YAMLDocument()
            let node = withExtendedLifetime(parser) { document.convert(root, depth: 0) }
            guard document.faults.isEmpty else { return .failure(ConfigurationFaults(faults: document.faults)) }
            if case .null = node.content { return .success(ConfigurationNode(line: 1, content: .mapping([]))) }
            return .success(node)
        } catch let error as YamlError {
            return .failure(ConfigurationFaults(faults: faults(of: error, in: text)))
        } catch {
            return .failure(at: 1, "cannot be read as YAML")
        }
    }

    private mutating func convert(_ node: Node, depth: Int) -> ConfigurationNode {
        let line = node.mark?.line ?? 1
        guard !isTooLarge else { return ConfigurationNode(line: line, content: .null) }
        nodes += 1
        guard depth <= Self.deepest else {
            isTooLarge = true
            fault(line, "more than \(Self.deepest) sections stand in each other here")
            return ConfigurationNode(line: line, content: .null)
        }
        guard nodes <= Self.mostNodes else {
            isTooLarge = true
            fault(line, "the file has more than \(Self.mostNodes) values, those of aliases included")
            return ConfigurationNode(line: line, content: .null)
        }
        if node.hasForeignTag { fault(line, "tags (!name) have no meaning here: remove it") }
        var result: ConfigurationNode
        switch node {
        case .scalar(let scalar):
            result = ConfigurationNode(line: line, content: content(of: scalar, line: line))
            if scalar.style == .plain, scalar.string.first == Self.mark { return alias(scalar, line: line) }
        case .sequence(let sequence):
            result = ConfigurationNode(line: line, content: .sequence(sequence.map { convert($0, depth: depth + 1) }))
        case .mapping(let mapping):
            result = ConfigurationNode(line: line, content: .mapping(entries(of: mapping, depth: depth)))
        case .alias:
            result = ConfigurationNode(line: line, content: .null)
        }
        if let anchor = node.anchor { anchors[anchor.rawValue] = result }
        return result
    }

    private func content(of scalar: Node.Scalar, line: Int) -> ConfigurationNode.Content {
        if scalar.style == .plain, ["", "~", "null"].contains(scalar.string) { return .null }
        return .scalar(scalar.string.replacing(String(Self.mark), with: "*"))
    }

    private mutating func alias(_ scalar: Node.Scalar, line: Int) -> ConfigurationNode {
        let name = String(scalar.string.dropFirst())
        guard let node = anchors[name] else {
            fault(line, "there is no &\(name.excerpt) above this *\(name.excerpt); quote a text that begins with *")
            return ConfigurationNode(line: line, content: .null)
        }
        nodes += node.count
        return node
    }

    private mutating func entries(of mapping: Node.Mapping, depth: Int) -> [ConfigurationNode.Entry] {
        var entries: [ConfigurationNode.Entry] = []
        var known: [String: Int] = [:]
        var merged: [ConfigurationNode] = []
        for (key, value) in mapping {
            let line = key.mark?.line ?? 1
            guard case .scalar(let scalar) = key, scalar.style != .plain || scalar.string.first != Self.mark else {
                fault(line, "a key is a plain text")
                continue
            }
            let node = convert(value, depth: depth + 1)
            let name = scalar.string.replacing(String(Self.mark), with: "*")
            if name == "<<", scalar.style == .plain {
                merged += sections(merging: node, line: line)
            } else if let first = known.updateValue(line, forKey: name) {
                faults.append(ConfigurationFault(line: line, key: name.excerpt, "is already given in line \(first): keep one"))
            } else {
                entries.append(ConfigurationNode.Entry(key: name, line: line, value: node))
            }
        }
        // A section's own keys come before those that it merges, and earlier sections before later ones.
        for case .mapping(let others) in merged.map(\.content) {
            for entry in others where known.updateValue(entry.line, forKey: entry.key) == nil { entries.append(entry) }
        }
        return entries
    }

    private mutating func sections(merging node: ConfigurationNode, line: Int) -> [ConfigurationNode] {
        let sections = if case .sequence(let list) = node.content { list } else { [node] }
        for section in sections {
            guard case .mapping = section.content else {
                fault(line, "<< merges a section, as in <<: *name, not \(section.kind)")
                return []
            }
        }
        return sections
    }

    private mutating func fault(_ line: Int, _ text: String) {
        faults.append(ConfigurationFault(line: line, key: "", text))
    }

    /// What Yams says, with the place that it means.
    private static func faults(of error: YamlError, in text: String) -> [ConfigurationFault] {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            let last = 1 + text.utf8.count { $0 == UInt8(ascii: "\n") }
            return [ConfigurationFault(line: min(max(mark.line, 1), last), key: "", "is no YAML: \(problem)")]
        case .reader(let problem, let offset, _, _):
            let before = text.unicodeScalars.prefix(max(offset ?? 0, 0))
            return [ConfigurationFault(line: 1 + before.count { $0 == "\n" }, key: "", "is no YAML: \(problem)")]
        case .duplicatedKeysInMapping(let duplicates, let context):
            return duplicates.map {
                let name = $0.replacing(String(mark), with: "*")
                let (first, second) = (max(context.mark.line, 1), lineOfSecond(name, after: context.mark, in: text))
                return ConfigurationFault(
                    line: second ?? first, key: name.excerpt,
                    second == nil ? "is given more than once here: keep one" : "is already given in line \(first): keep one")
            }
        default:
            return [ConfigurationFault(line: 1, key: "", "is no YAML")]
        }
    }

    /// Yams tells where a key stands first.
    private static func lineOfSecond(_ key: String, after first: Mark, in text: String) -> Int? {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return lines.indices.dropFirst(first.line).first { index in
            lines[index].prefix(first.column - 1).allSatisfy(\.isWhitespace)
                && lines[index].dropFirst(first.column - 1).hasPrefix(key + ":")
        }.map { $0 + 1 }
    }
}

extension ConfigurationNode {
    /// How many nodes there are, itself included.
    fileprivate var count: Int {
        switch content {
        case .scalar, .null: 1
        case .sequence(let nodes): nodes.reduce(1) { $0 + $1.count }
        case .mapping(let entries): entries.reduce(1) { $0 + $1.value.count }
        }
    }
}

extension Node {
    /// Whether somebody wrote a tag, other than the one that a quoted text has.
    fileprivate var hasForeignTag: Bool {
        let usual: [Tag.Name] = [.implicit, .str, .seq, .map]
        return !usual.contains { $0.rawValue == tag.rawValue }
    }
}

extension Result where Success == ConfigurationNode, Failure == ConfigurationFaults {
    fileprivate static func failure(at line: Int, _ text: String) -> Self {
        .failure(ConfigurationFaults(faults: [ConfigurationFault(line: line, key: "", text)]))
    }
}
