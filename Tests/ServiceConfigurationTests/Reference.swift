import ServiceConfiguration
import Settings

/// The documentation of the configuration, made of the tables of its keys.
enum Reference {
    // MARK: - configs/burnish.yaml

    /// A configuration file that says what the service does without one, with every other key in a comment.
    static var yaml: String {
        var lines = [
            "# The configuration of burnishd, as it is without a file: nothing is reachable from another machine.",
            "#",
            "#   burnishd --config burnish.yaml --check-config    reads it, prints every fault and ends",
            "#   systemctl reload burnishd                        applies what changed to the running service",
            "#",
            "# A key in a comment has its default there, or an example where it has none. docs/use/configuration.md explains",
            "# the file. Times, rates and sizes have units: 80ms, 2.5M, 3840x2160.",
            "#",
            "# (restart): outside of the streams, a new value takes hold when the service is started again. In a stream it",
            "# restarts the stream, as new URLs and passphrases do. Everything else takes hold at a reload.",
        ]
        for section in ServiceKeys.sections {
            lines += ["", "# \(section.help)"]
            let isActive = section.name == "http"
            lines.append(isActive ? "\(section.name):" : "#\(section.name):")
            for key in ServiceKeys.keys(of: section.name) { lines += yaml(key, isActive: isActive) }
        }
        lines.append("")
        for key in ServiceKeys.keys(of: "") {
            lines += comment(text(key), indent: "")
            lines.append("#\(key.name): \(value(key))")
        }
        lines += [
            "", "# Settings for every stream that does not say otherwise: any of those from scale on below.",
            "#defaults:",
        ]
        lines += [
            "#  budget: 80ms", "", "# Calls of several people by a link stand below rooms: (docs/use/rooms.md).", "",
            "# The streams, by name. A name has letters, digits, dots, _ and -.", "streams:", "  live:",
        ]
        for key in StreamPlaceKeys.all { lines += yaml(key) }
        for key in StreamKeys.all {
            let mark = key.change == .live ? "" : " (restart)"
            lines += comment("\(plain(key.help)) Allowed: \(plain(key.allowedTexts)).\(mark)", indent: "    ")
            lines.append("    #\(key.name): \(key.defaultText)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func yaml(_ key: ServiceKey, isActive: Bool) -> [String] {
        // The embedded configuration gives its address and port.
        let isGiven = isActive && ["address", "port"].contains(key.name)
        let line = isActive ? (isGiven ? "  " : "  #") : "#  "
        return comment(text(key), indent: isActive ? "  " : "") + ["\(line)\(key.name): \(value(key))"]
    }

    private static func yaml(_ key: StreamPlaceKey) -> [String] {
        let lines = comment("\(key.help) Allowed: \(key.allowed).", indent: "    ")
        switch key.name {
        case "input": return lines + ["    input: srt://127.0.0.1:9000?mode=listener"]
        case "output": return lines + ["    output: srt://127.0.0.1:9001?mode=listener"]
        case "outputs": return lines + ["    #outputs: [\"\(key.example)\"]"]
        case "callers":
            return lines + ["    #callers:"]
                + StreamPlaceKeys.callers.flatMap { inner in
                    comment("\(inner.help) Allowed: \(inner.allowed).", indent: "    ")
                        + ["    #  \(inner.name): \(inner.example)"]
                }
        default: return lines + ["    #\(key.name): \(key.example)"]
        }
    }

    private static func text(_ key: ServiceKey) -> String {
        "\(key.help) Allowed: \(key.isList ? "a list; each entry is " : "")\(key.allowed)."
            + (key.change == .restart ? " (restart)" : "")
    }

    private static func value(_ key: ServiceKey) -> String {
        if key.isList { return "[\"\(key.example)\"]" }
        return key.defaultText.isEmpty ? key.example : key.defaultText
    }

    private static func comment(_ text: String, indent: String) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count > 100 { lines.append("") }
            lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + word
        }
        return lines.map { "\(indent)# \($0)" }
    }

    // MARK: - docs/use/configuration.md and settings.md

    /// The tables of the pages, by the names of the marks between which they stand.
    static var tables: [(name: String, text: String)] {
        ServiceKeys.sections.map { ($0.name, table(ServiceKeys.keys(of: $0.name))) }
            + [
                ("top", table(ServiceKeys.keys(of: ""))), ("places", places(StreamPlaceKeys.all)),
                ("callers", places(StreamPlaceKeys.callers)), ("rooms", rooms), ("settings", settings),
            ]
    }

    private static func table(_ keys: [ServiceKey]) -> String {
        rows(
            ["key", "meaning", "allowed", "default", "after a reload"],
            keys.map { key in
                [
                    code(key.name), key.help, (key.isList ? "a list; each entry is " : "") + key.allowed,
                    key.defaultText.isEmpty || key.isList ? "–" : code(key.defaultText),
                    key.change == .live ? "at once" : "restart",
                ]
            })
    }

    private static func places(_ keys: [StreamPlaceKey]) -> String {
        rows(
            ["key", "meaning", "allowed", "also in the API"],
            keys.map { key in
                [code(key.name), key.help, key.allowed, key.isForAPI ? "yes" : "no"]
            })
    }

    private static var rooms: String {
        rows(
            ["key", "meaning", "allowed", "default"],
            RoomKeys.all.map { key in
                [code(key.name), key.help, key.allowed, key.defaultText.isEmpty ? "–" : code(key.defaultText)]
            })
    }

    private static var settings: String {
        rows(
            ["key", "meaning", "allowed", "default", "a change"],
            StreamKeys.all.map { key in
                [
                    code(key.name), key.help, key.allowedTexts, code(key.defaultText),
                    key.change.rawValue,
                ]
            })
    }

    private static func rows(_ head: [String], _ rows: [[String]]) -> String {
        ([head, head.map { _ in "---" }] + rows)
            .map { "| " + $0.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |" }
            .joined(separator: "\n").replacing("| --- ", with: "|---").replacing("--- |", with: "---|")
    }

    private static func code(_ text: String) -> String { "`\(text)`" }
    private static func plain(_ text: String) -> String { text.replacing("`", with: "") }
}
