import Endpoint
import Settings

/// Reads one stream from its keys, whether they come from the file or from the API.
struct StreamReading {
    /// Who gives the keys.
    enum Origin {
        case file
        /// Files are allowed below these folders only.
        case api(folders: [String])
    }

    let name: String
    /// What the stream has where nothing is given: the values of `defaults:`.
    let defaults: StreamValues
    let environment: ConfigurationEnvironment
    let origin: Origin
    /// Faults, and the line of each.
    private(set) var faults: [(line: Int, fault: SettingFault)] = []

    init(name: String, defaults: StreamValues, environment: ConfigurationEnvironment, origin: Origin) {
        self.name = name
        self.defaults = defaults
        self.environment = environment
        self.origin = origin
    }

    /// Reads a stream.
    /// - Parameters:
    ///   - entries: no key twice. From the API, a null returns to the default.
    ///   - base: what the stream was before; nil for a new one.
    ///   - line: where the stream stands.
    /// - Returns: nil if it has no usable input or output. Then, and for every other fault, ``faults`` is not empty.
    mutating func read(_ entries: [ConfigurationNode.Entry], base: StreamDefinition?, line: Int) -> StreamDefinition? {
        let byName = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0) })
        let known = StreamPlaceKeys.all.filter { isForFile || $0.isForAPI }.map(\.name) + StreamKeys.all.map(\.name)
        for entry in entries where !known.contains(entry.key) {
            if StreamPlaceKeys.names.contains(entry.key) {
                fault(entry.line, SettingFault(entry.key, "can only be given in the configuration file"))
            } else {
                fault(entry.line, .unknown(entry.key, among: known))
            }
        }
        let values = settings(byName, base: base?.values ?? defaults, line: line)
        var input = leg(byName["input"], "input", base: base?.input, line: line)
        var outputs = outputs(byName, base: base?.outputs, line: line)
        readPassphrases(byName, &input, &outputs)
        let tokens = callTokens(byName, base: base?.callTokens, input, outputs)
        let callers = callers(byName["callers"], base: base?.callers)
        apply(callers, byName["callers"]?.line ?? line, &input, &outputs)
        guard let input, !outputs.isEmpty else { return nil }
        if let text = Self.fault(ofDescriptionsIn: [input] + outputs) {
            fault(byName["outputs"]?.line ?? line, SettingFault("outputs", text))
        }
        if let fault = StreamURL.fault(of: values.options.codec, in: outputs.map(\.url)) {
            self.fault(byName["codec"]?.line ?? line, SettingFault("codec", "does not go with \(fault.place): \(fault.text)"))
        }
        var definition = StreamDefinition(name: name, input: input, outputs: outputs, values: values, callers: callers)
        definition.callTokens = tokens
        return definition
    }

    /// Reads the settings among `entries`.
    mutating func settings(
        _ entries: [String: ConfigurationNode.Entry], base: StreamValues, line: Int
    ) -> StreamValues {
        var values = base
        var given: Set<String> = []
        for key in StreamKeys.all {
            guard let entry = entries[key.name] else { continue }
            do throws(SettingFault) {
                if case .null = entry.value.content, !isForFile {
                    try key.read(key.write(defaults), &values)
                } else if let text = text(of: entry, default: key.write(defaults)) {
                    given.insert(key.name)
                    try key.read(text, &values)
                }
            } catch {
                fault(entry.line, error)
            }
        }
        let known = base.files.map(\.path) + StreamValues.usualFiles
        for file in values.files where !given.isDisjoint(with: StreamValues.fileKeys) && !known.contains(file.path) {
            if let text = faultOf(file: file.path) { fault(entries[file.key]?.line ?? line, SettingFault(file.key, text)) }
        }
        if given.contains("record"), let path = values.settings.record.pattern?.text,
            path != base.settings.record.pattern?.text,
            let text = folderFault(ofFile: path)
        {
            fault(entries["record"]?.line ?? line, SettingFault("record", text))
        }
        for fault in values.faults(given: given) { self.fault(entries[fault.key]?.line ?? line, fault) }
        return values
    }

    var isForFile: Bool { if case .file = origin { true } else { false } }

    private mutating func leg(
        _ entry: ConfigurationNode.Entry?, _ key: String, base: StreamLeg?, line: Int
    ) -> StreamLeg? {
        guard let entry else {
            if base == nil { fault(line, SettingFault(key, "is missing: give the URL of the stream's \(key)")) }
            return base
        }
        guard let text = text(of: entry, default: nil) else { return nil }
        var leg: StreamLeg
        let place = key == "input" ? StreamURL.Place.serviceInput : .serviceOutput
        do throws(TransportError) {
            leg = try StreamLeg(text, in: place)
        } catch {
            fault(entry.line, SettingFault(key, "\(error.place): \(error.message)"))
            return nil
        }
        switch leg.url {
        case .srt(let endpoint): if endpoint.passphrase == nil { leg.passphrase = base?.passphrase }
        case .call(let endpoint):
            guard (endpoint.side == .whip) == (key == "input") else {
                let text =
                    endpoint.side == .whip
                    ? "whip: is for inputs; viewers come to whep:" : "whep: is for outputs; publishers come to whip:"
                fault(entry.line, SettingFault(key, text))
                return nil
            }
        case .rtp, .udp: break
        case .sdp(let endpoint):
            do throws(SettingFault) {
                return try described(leg, endpoint, isInput: key == "input", base: base)
            } catch {
                fault(entry.line, SettingFault(key, error.text))
                return nil
            }
        case .standardStream:
            let text = "is - (standard input or output), which a service does not have: right here are \(place.kinds)"
            fault(entry.line, SettingFault(key, text))
            return nil
        case .file(let path):
            if let text = faultOf(path: path, place) {
                fault(entry.line, SettingFault(key, text))
                return nil
            }
        }
        return leg
    }

    private func faultOf(path: String, _ place: StreamURL.Place) -> String? {
        guard path.hasPrefix("/") else { return "is \(quoted(path)); right here are \(place.kinds)" }
        return folderFault(ofFile: path)
    }

    private func faultOf(file path: String) -> String? {
        path.hasPrefix("/") ? folderFault(ofFile: path) : "is \(quoted(path)); right here is an absolute path"
    }

    private func folderFault(ofFile path: String) -> String? {
        guard case .api(let folders) = origin else { return nil }
        guard !folders.isEmpty else { return "names a file, and the configuration allows none: it has no files.folders" }
        // Links are the supervisor's care: it opens the file.
        let isBelow = folders.contains { path.hasPrefix($0 == "/" ? "/" : $0 + "/") }
        return isBelow && environment.absolute(path) == path
            ? nil : "names a file that is not below one of the configuration's files.folders, or is not written out plainly"
    }

    private mutating func outputs(
        _ entries: [String: ConfigurationNode.Entry], base: [StreamLeg]?, line: Int
    ) -> [StreamLeg] {
        guard let list = entries["outputs"] else {
            if entries["output"] == nil, let base { return base }
            return leg(entries["output"], "output", base: base?.first, line: line).map { [$0] } ?? []
        }
        guard entries["output"] == nil else {
            fault(list.line, SettingFault("outputs", "is given beside output: give one of them"))
            return []
        }
        let items: [ConfigurationNode]
        switch list.value.content {
        case .sequence(let nodes): items = nodes
        // From the API, one URL a line.
        case .scalar(let text) where !isForFile:
            items = text.split(separator: "\n").map { ConfigurationNode(line: 0, content: .scalar(String($0))) }
        default: items = [list.value]
        }
        guard (1...StreamDefinition.mostOutputs).contains(items.count) else {
            let text = "has \(items.count) entries; it has 1 to \(StreamDefinition.mostOutputs)"
            fault(list.line, SettingFault("outputs", text))
            return []
        }
        return items.compactMap { item in
            // One that was there before keeps its passphrase.
            var former: StreamLeg?
            if case .scalar(let text) = item.content, let leg = try? StreamLeg(text) {
                former = base?.first { $0.url.description == leg.url.description }
            }
            let entry = ConfigurationNode.Entry(key: "outputs", line: item.line, value: item)
            return leg(entry, "outputs", base: former, line: list.line)
        }
    }

    /// Those for one leg are read last, and win.
    private mutating func readPassphrases(
        _ entries: [String: ConfigurationNode.Entry], _ input: inout StreamLeg?, _ outputs: inout [StreamLeg]
    ) {
        for prefix in StreamPlaceKeys.secretPrefixes {
            let reading = SecretReading(key: prefix + "passphrase", sizes: 10...79, environment: environment)
            guard let entry = onlyEntry(of: reading, entries) else { continue }
            var secret: Secret?
            if case .null = entry.value.content, !isForFile {
                secret = nil
            } else {
                guard let text = text(of: entry, default: nil) else { continue }
                do throws(SettingFault) {
                    secret = try reading.secret(key: entry.key, text: text)
                } catch {
                    fault(entry.line, error)
                    continue
                }
            }
            var legs: [StreamLeg?] = (prefix == "output-" ? [] : [input]) + (prefix == "input-" ? [] : outputs)
            var isUsed = false
            for index in legs.indices {
                guard case .srt(let endpoint) = legs[index]?.url else { continue }
                isUsed = true
                if endpoint.passphrase == nil {
                    legs[index]?.passphrase = secret
                } else if secret != nil, outputs.count == 1 {
                    // Several outputs may have some of their own.
                    fault(entry.line, SettingFault(entry.key, "is given in the URL, too: give one of them"))
                }
            }
            if prefix != "output-" { input = legs.removeFirst() }
            if prefix != "input-" { outputs = legs.compactMap { $0 } }
            if !isUsed, input != nil, !outputs.isEmpty, secret != nil {
                fault(entry.line, SettingFault(entry.key, "goes with an SRT leg: nothing else is encrypted"))
            }
        }
    }

    /// The one key that gives the secret. More than one is a fault.
    mutating func onlyEntry(
        of reading: SecretReading, _ entries: [String: ConfigurationNode.Entry]
    ) -> ConfigurationNode.Entry? {
        let given = SecretReading.suffixes.compactMap { entries[reading.key + $0] }
        for entry in given.dropFirst() {
            fault(entry.line, SettingFault(entry.key, "is given beside \(given[0].key): give one of them"))
        }
        return given.count == 1 ? given[0] : nil
    }

    mutating func fault(_ line: Int, _ fault: SettingFault) { faults.append((line, fault)) }

    /// The text of a value that has to be one.
    /// - Parameter default: what the key has when it is left out.
    mutating func text(of entry: ConfigurationNode.Entry, default: String?) -> String? {
        switch entry.value.content {
        case .scalar(let text): return text
        case .null:
            let remedy = `default`.map { "leave the line out for the default, \($0)" } ?? "give one, or leave the line out"
            fault(entry.line, SettingFault(entry.key, "has no value: \(remedy)"))
        case .sequence, .mapping:
            fault(entry.line, SettingFault(entry.key, "is one value, not \(entry.value.kind)"))
        }
        return nil
    }
}
