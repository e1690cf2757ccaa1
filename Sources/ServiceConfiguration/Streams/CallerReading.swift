import Settings

extension StreamReading {
    /// Reads `callers`.
    mutating func callers(
        _ entry: ConfigurationNode.Entry?, base: StreamDefinition?, input: StreamLeg?, outputs: [StreamLeg]
    ) -> CallerRules? {
        guard let entry else { return base?.callers }
        let entries: [ConfigurationNode.Entry]
        switch entry.value.content {
        case .mapping(let mapping): entries = mapping
        case .null: entries = []
        case .scalar, .sequence:
            fault(
                entry.line, SettingFault("callers", "is a section with resource, publish and request, not \(entry.value.kind)"))
            return nil
        }
        var rules = CallerRules(resource: name)
        for entry in entries {
            let named = ConfigurationNode.Entry(key: "callers.\(entry.key)", line: entry.line, value: entry.value)
            switch entry.key {
            case "resource":
                guard let text = text(of: named, default: name) else { continue }
                if (1...256).contains(text.utf8.count), !text.contains(","), !text.utf8.contains(0) {
                    rules.resource = text
                } else {
                    fault(entry.line, SettingFault(named.key, "is a text of 1 to 256 bytes without commas"))
                }
            case "publish": rules.publish = identities(named)
            case "request": rules.request = identities(named)
            default:
                let unknown = SettingFault.unknown(entry.key, among: StreamPlaceKeys.callers.map(\.name))
                fault(entry.line, SettingFault("callers.\(unknown.key)", unknown.text))
            }
        }
        guard let input, let output = outputs.first else { return rules }
        if !input.isListener, !output.isListener {
            fault(entry.line, SettingFault("callers", "goes with an SRT listener (mode=listener), and this stream has none"))
        } else if !input.isListener, !rules.publish.isEmpty {
            fault(entry.line, SettingFault("callers.publish", "goes with an input that is an SRT listener"))
        } else if !output.isListener, !rules.request.isEmpty {
            fault(entry.line, SettingFault("callers.request", "goes with an output that is an SRT listener"))
        }
        return rules
    }

    private mutating func identities(_ entry: ConfigurationNode.Entry) -> [String] {
        let items: [ConfigurationNode] = if case .sequence(let nodes) = entry.value.content { nodes } else { [entry.value] }
        var identities: [String] = []
        for item in items {
            let one = ConfigurationNode.Entry(key: entry.key, line: item.line, value: item)
            guard let text = text(of: one, default: nil) else { continue }
            if (1...512).contains(text.utf8.count), !text.utf8.contains(0) {
                identities.append(text)
            } else {
                fault(item.line, SettingFault(entry.key, "is a list of texts of 1 to 512 bytes; one has \(text.utf8.count)"))
            }
        }
        return identities
    }
}
