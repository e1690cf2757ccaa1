/// A setting that cannot be used: which one, and what to do about it.
public struct SettingFault: Error, Hashable, Sendable {
    /// The setting's name in configuration files; command-line options add `--`.
    public var key: String
    /// One sentence that says what is allowed, and what was given. It follows the key: "is 1 or 2, not 3". Other keys stand
    /// between backticks.
    public var text: String

    public init(_ key: String, _ text: String) {
        self.key = key
        self.text = text
    }

    /// The fault for readers of a file or of an answer, who know keys by their plain names.
    public var plain: SettingFault { SettingFault(key, text.replacing("`", with: "")) }

    /// The fault of a key that does not exist.
    /// - Parameter known: the keys that exist there. The one that looks most like `name` is suggested.
    public static func unknown(_ name: String, among known: [String]) -> SettingFault {
        let shown = name.excerpt
        guard let nearest = nearest(to: name, among: known) else {
            return SettingFault(shown, "is no key here; known are \(known.joined(separator: ", "))")
        }
        return SettingFault(shown, "is no key here; did you mean \(nearest)?")
    }

    /// The known name that `name` most likely misspells: at most a third of its letters are wrong.
    static func nearest(to name: String, among known: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let wanted = normal(name)
        return known.map { (name: $0, edits: edits(wanted, normal($0))) }
            .filter { $0.edits <= max(1, $0.name.utf8.count / 3) }
            .min { $0.edits < $1.edits }?.name
    }

    /// Names that differ in case or in their hyphens are the same to people.
    private static func normal(_ name: String) -> [UInt8] {
        name.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
    }

    /// Insertions, deletions, replacements and swaps of neighbours that make one name the other (optimal string alignment).
    private static func edits(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
                row.append(cost)
            }
            (before, last) = (last, row)
        }
        return last[b.count]
    }
}
