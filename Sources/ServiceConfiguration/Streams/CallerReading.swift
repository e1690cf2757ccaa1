import Endpoint
import Settings

extension StreamReading {
    /// Reads `callers`.
    mutating func callers(_ entry: ConfigurationNode.Entry?, base: CallerRules?) -> CallerRules? {
        guard let entry else { return base }
        let entries: [ConfigurationNode.Entry]
        switch entry.value.content {
        case .mapping(let mapping): entries = mapping
        case .null: entries = []
        case .scalar, .sequence:
            fault(entry.line, SettingFault("callers", "is a section with publish and request, not \(entry.value.kind)"))
            return nil
        }
        var rules = CallerRules()
        for entry in entries {
            let named = ConfigurationNode.Entry(key: "callers.\(entry.key)", line: entry.line, value: entry.value)
            switch entry.key {
            case "publish": rules.publish = names(named)
            case "request": rules.request = names(named)
            default:
                let unknown = SettingFault.unknown(entry.key, among: StreamPlaceKeys.callers.map(\.name))
                fault(entry.line, SettingFault("callers.\(unknown.key)", unknown.text))
            }
        }
        return rules
    }

    /// Gives the legs the names that their callers have to send.
    mutating func apply(_ rules: CallerRules?, _ line: Int, _ input: inout StreamLeg?, _ outputs: inout [StreamLeg]) {
        guard let rules else { return }
        apply(rules.publish, "publish", line, &input)
        // Of several outputs, the names are for those that are called.
        let called = outputs.indices.filter { outputs[$0].isListener }
        for index in called.isEmpty ? Array(outputs.indices) : called {
            var output: StreamLeg? = outputs[index]
            apply(rules.request, "request", line, &output)
            if let output { outputs[index] = output }
        }
    }

    private mutating func apply(_ names: [String], _ key: String, _ line: Int, _ leg: inout StreamLeg?) {
        guard let name = names.first, let url = leg?.url else { return }
        let owner = key == "publish" ? "an input" : "an output"
        guard case .srt(let endpoint) = url, endpoint.mode == .listener else {
            fault(line, SettingFault("callers.\(key)", "goes with \(owner) that is an SRT listener (mode=listener)"))
            return
        }
        guard endpoint.streamID == nil else {
            fault(line, SettingFault("callers.\(key)", "is given as streamid= in the URL, too: give one of them"))
            return
        }
        leg?.streamID = Secret(name)
    }

    private mutating func names(_ entry: ConfigurationNode.Entry) -> [String] {
        let items: [ConfigurationNode] = if case .sequence(let nodes) = entry.value.content { nodes } else { [entry.value] }
        guard items.count == 1 else {
            fault(entry.line, SettingFault(entry.key, "has \(items.count) names; exactly one is supported so far"))
            return []
        }
        let one = ConfigurationNode.Entry(key: entry.key, line: entry.line, value: items[0])
        guard let text = text(of: one, default: nil) else { return [] }
        let controls = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard (1...512).contains(text.utf8.count), !controls, !text.hasPrefix("#!:") else {
            fault(entry.line, SettingFault(entry.key, "is a name of 1 to 512 bytes that does not begin with #!:"))
            return []
        }
        return [text]
    }
}
