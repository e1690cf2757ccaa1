import Endpoint
import Settings

/// Makes a configuration of a file's nodes. Collects every fault instead of ending at the first.
struct ConfigurationReader {
    private let environment: ConfigurationEnvironment
    private var configuration = ServiceConfiguration()
    private var faults: [ConfigurationFault] = []
    /// Where the keys stand that were given, by their paths.
    private var lines: [String: Int] = [:]

    private let needsStreams: Bool

    /// - Parameter needsStreams: it is a fault not to say which streams there are.
    init(environment: ConfigurationEnvironment, needsStreams: Bool = false) {
        self.environment = environment
        self.needsStreams = needsStreams
    }

    mutating func read(_ root: ConfigurationNode) throws(ConfigurationFaults) -> ServiceConfiguration {
        guard case .mapping(let entries) = root.content else {
            let text = "is \(root.kind); a configuration consists of keys such as http: and streams:"
            throw ConfigurationFaults(faults: [ConfigurationFault(line: root.line, key: "", text)])
        }
        let topKeys = ServiceKeys.keys(of: "")
        let sections = ServiceKeys.sections.map(\.name)
        for entry in entries {
            switch entry.key {
            case "defaults", "streams", "rooms": continue
            case let name where sections.contains(name): readSection(entry)
            case let name where topKeys.contains { $0.name == name }: readKeys([entry], of: "")
            default:
                let known = sections + topKeys.map(\.name) + ["defaults", "streams", "rooms"]
                fault(entry.line, "", .unknown(entry.key, among: known))
            }
        }
        // Streams need the defaults, wherever those stand.
        if let entry = entries.first(where: { $0.key == "defaults" }) { readDefaults(entry) }
        let streams = entries.first { $0.key == "streams" }
        if let streams { readStreams(streams) }
        if let rooms = entries.first(where: { $0.key == "rooms" }) { readRooms(rooms) }
        if needsStreams, streams.map({ if case .null = $0.value.content { true } else { false } }) ?? true {
            let what =
                entries.isEmpty ? "the file is empty, or all of it is comments" : streams == nil ? "is missing" : "is empty"
            let remedy = "name the streams below it, or write streams: {} where there are to be none"
            fault(streams?.line ?? 1, "", SettingFault("streams", "\(what): \(remedy)"))
        }
        finish()
        guard faults.isEmpty else {
            throw ConfigurationFaults(faults: faults.enumerated().sorted { ($0.1.line, $0.0) < ($1.1.line, $1.0) }.map(\.1))
        }
        return configuration
    }

    private mutating func fault(_ line: Int, _ section: String, _ fault: SettingFault) {
        let key = section.isEmpty ? fault.key : "\(section).\(fault.key)"
        faults.append(ConfigurationFault(line: line, key: key, fault.plain.text))
    }

    // MARK: - Sections

    private mutating func readSection(_ section: ConfigurationNode.Entry) {
        guard let entries = entries(of: section, "") else { return }
        readKeys(entries, of: section.key)
    }

    /// The keys of a section; nil, with a fault, if it is none.
    private mutating func entries(of section: ConfigurationNode.Entry, _ path: String) -> [ConfigurationNode.Entry]? {
        switch section.value.content {
        case .mapping(let entries): return entries
        case .null: return []
        case .scalar, .sequence:
            fault(section.line, path, SettingFault(section.key, "is a section with keys of its own, not \(section.value.kind)"))
            return nil
        }
    }

    private mutating func readKeys(_ entries: [ConfigurationNode.Entry], of section: String) {
        let keys = ServiceKeys.keys(of: section)
        for entry in entries {
            guard let key = keys.first(where: { $0.name == entry.key }) else {
                fault(entry.line, section, .unknown(entry.key, among: keys.map(\.name)))
                continue
            }
            lines[key.path] = entry.line
            switch key.reading {
            case .text(let read):
                guard let text = text(of: entry, section, key) else { continue }
                if !read(text, environment, &configuration) {
                    fault(entry.line, section, SettingFault(key.name, "is \(key.allowed), not \(text.excerpt)"))
                }
            case .list(let read):
                let items: [ConfigurationNode] =
                    if case .sequence(let nodes) = entry.value.content { nodes } else { [entry.value] }
                for item in items {
                    let one = ConfigurationNode.Entry(key: entry.key, line: max(item.line, entry.line), value: item)
                    guard let text = text(of: one, section, key) else { continue }
                    if !read(text, environment, &configuration) {
                        fault(
                            one.line, section,
                            SettingFault(key.name, "is a list; each entry is \(key.allowed), not \(text.excerpt)"))
                    }
                }
            case .secret: continue
            }
        }
        if section == "http" {
            if let token = secret("token", entries) { configuration.http.token = token }
            if let secret = secret("turn-secret", entries) { configuration.http.turnSecret = secret }
        }
    }

    private mutating func text(of entry: ConfigurationNode.Entry, _ section: String, _ key: ServiceKey) -> String? {
        switch entry.value.content {
        case .scalar(let text): return text
        case .null:
            let remedy =
                key.defaultText.isEmpty ? "give one, or leave the line out" : "leave the line out for \(key.defaultText)"
            fault(entry.line, section, SettingFault(key.name, "has no value: \(remedy)"))
        case .sequence, .mapping:
            fault(entry.line, section, SettingFault(key.name, "is \(key.allowed), not \(entry.value.kind)"))
        }
        return nil
    }

    /// A secret of `http:`, which stands in one of three places.
    private mutating func secret(_ name: String, _ entries: [ConfigurationNode.Entry]) -> Secret? {
        let reading = SecretReading(key: name, sizes: 16...256, environment: environment)
        let given = SecretReading.suffixes.compactMap { suffix in entries.first { $0.key == name + suffix } }
        for entry in given.dropFirst() {
            fault(entry.line, "http", SettingFault(entry.key, "is given beside \(given[0].key): give one of them"))
        }
        guard let entry = given.first, let key = ServiceKeys.keys(of: "http").first(where: { $0.name == entry.key }),
            let text = text(of: entry, "http", key)
        else { return nil }
        do throws(SettingFault) {
            return try reading.token(key: entry.key, text: text)
        } catch {
            fault(entry.line, "http", error)
            return nil
        }
    }

    // MARK: - Streams

    private mutating func readDefaults(_ section: ConfigurationNode.Entry) {
        guard let entries = entries(of: section, "") else { return }
        let keys = StreamKeys.all.map(\.name)
        for entry in entries where !keys.contains(entry.key) {
            if StreamPlaceKeys.names.contains(entry.key) {
                fault(entry.line, "defaults", SettingFault(entry.key, "has no default: give it in each stream"))
            } else {
                fault(entry.line, "defaults", .unknown(entry.key, among: keys))
            }
        }
        var values = StreamValues()
        for entry in entries {
            guard let key = StreamKeys.named(entry.key) else { continue }
            switch entry.value.content {
            case .scalar(let text):
                do throws(SettingFault) { try key.read(text, &values) } catch { fault(entry.line, "defaults", error) }
            case .null, .sequence, .mapping:
                fault(entry.line, "defaults", SettingFault(key.name, "is \(key.allowedTexts), not \(entry.value.kind)"))
            }
        }
        for file in values.files where !file.path.hasPrefix("/") {
            let line = entries.first { $0.key == file.key }?.line ?? section.line
            fault(line, "defaults", SettingFault(file.key, "is \(file.path.excerpt); right here is an absolute path"))
        }
        // What has no effect beside other defaults may have one beside a stream's own settings.
        for fault in values.faults(given: []) {
            self.fault(entries.first { $0.key == fault.key }?.line ?? section.line, "defaults", fault)
        }
        configuration.defaults = values
    }

    private mutating func readStreams(_ section: ConfigurationNode.Entry) {
        guard let streams = entries(of: section, "") else { return }
        var conflicts = PortConflicts()
        for stream in streams {
            guard StreamDefinition.isName(stream.key) else {
                let text =
                    "is no name for a stream: it has 1 to 64 letters, digits, dots, _ and -, and begins with one of the first two"
                fault(stream.line, "streams", SettingFault(stream.key.excerpt, text))
                continue
            }
            guard let entries = entries(of: stream, "streams") else { continue }
            var reading = StreamReading(
                name: stream.key, defaults: configuration.defaults, environment: environment, origin: .file)
            let definition = reading.read(entries, base: nil, line: stream.line)
            for (line, fault) in reading.faults { self.fault(line, "streams.\(stream.key)", fault) }
            guard let definition else { continue }
            configuration.streams.append(definition)
            func line(_ keys: String...) -> Int { entries.first { keys.contains($0.key) }?.line ?? stream.line }
            let found = conflicts.add(definition, inputLine: line("input"), outputLine: line("output", "outputs"))
            for (line, fault) in found { self.fault(line, "streams.\(stream.key)", fault) }
        }
        if streams.count > configuration.limits.streams {
            let text = "has \(streams.count) streams; limits.streams allows \(configuration.limits.streams)"
            fault(section.line, "", SettingFault("streams", text))
        }
    }

    private mutating func readRooms(_ section: ConfigurationNode.Entry) {
        guard let rooms = entries(of: section, "") else { return }
        var conflicts = PortConflicts()
        for stream in configuration.streams { _ = conflicts.add(stream, inputLine: 0, outputLine: 0) }
        let names = Set(configuration.streams.map(\.name))
        for room in rooms {
            guard StreamDefinition.isName(room.key), room.key.utf8.count <= RoomDefinition.longestName else {
                let text =
                    "is no name for a room: it has 1 to \(RoomDefinition.longestName) letters, digits, dots, _ and -, and begins with "
                    + "one of the first two"
                fault(room.line, "rooms", SettingFault(room.key.excerpt, text))
                continue
            }
            guard let entries = entries(of: room, "rooms") else { continue }
            var reading = RoomReading(name: room.key, defaults: configuration.defaults, environment: environment)
            let definition = reading.read(entries, line: room.line)
            for (line, fault) in reading.faults { self.fault(line, "rooms.\(room.key)", fault) }
            guard let definition else { continue }
            configuration.rooms.append(definition)
            for seat in 1...definition.guests {
                guard let stream = try? definition.definition(seat) else { continue }
                if names.contains(stream.name) {
                    let text =
                        "has a guest's stream \(stream.name), and a stream of the configuration has that name: rename one"
                    fault(room.line, "rooms", SettingFault(room.key, text))
                }
                guard let found = conflicts.add(stream, inputLine: room.line, outputLine: room.line).first else { continue }
                fault(room.line, "rooms.\(room.key)", SettingFault("port", found.fault.text))
                break
            }
        }
    }

    // MARK: - What spans several keys

    private mutating func finish() {
        let http = configuration.http
        let lines = lines
        func line(_ keys: String...) -> Int { keys.lazy.compactMap { lines["http.\($0)"] }.first ?? 1 }
        if (http.certificateFile == nil) != (http.keyFile == nil) {
            let (given, missing) = http.keyFile == nil ? ("tls-certificate", "tls-key") : ("tls-key", "tls-certificate")
            fault(line(given), "http", SettingFault(given, "needs \(missing) beside it"))
        }
        for (key, path) in [("tls-certificate", http.certificateFile), ("tls-key", http.keyFile)] {
            guard let path else { continue }
            do throws(ConfigurationEnvironment.ReadFailure) {
                _ = try environment.read(path, 1024 * 1024)
            } catch {
                fault(line(key), "http", SettingFault(key, "\(path.excerpt) \(error.text)"))
            }
        }
        if !http.isLoopback, http.certificateFile == nil, !http.allowsPlainHTTP {
            let place = "is reachable from other machines (\(http.address)) without TLS"
            let remedy = "give tls-certificate and tls-key, or say dangerously-allow-plain-http: true"
            fault(line("address"), "http", SettingFault("address", "\(place): \(remedy)"))
        }
        if let server = http.iceServers.first(where: { $0.hasPrefix("turn") }),
            http.turnSecret == nil, !SecretReading.suffixes.contains(where: { lines["http.turn-secret" + $0] != nil })
        {
            let remedy = "give turn-secret-file"
            fault(
                line("ice-servers"), "http", SettingFault("ice-servers", "has \(server.excerpt) without its secret: \(remedy)"))
        }
        let isTokenGiven = http.token != nil || SecretReading.suffixes.contains { lines["http.token" + $0] != nil }
        if !isTokenGiven, !http.allowsNoToken {
            let remedy = "give token-file, or say dangerously-allow-no-token: true"
            if !http.isLoopback {
                let place = "is reachable from other machines (\(http.address)) without a token"
                fault(line("address"), "http", SettingFault("address", "\(place): \(remedy)"))
            } else if let host = http.allowedHosts.first(where: { !LocalAddress.isLoopback($0) }) {
                // A proxy on this machine answers under that name.
                let place = "has \(host.excerpt), which other machines reach, without a token"
                fault(line("allowed-hosts"), "http", SettingFault("allowed-hosts", "\(place): \(remedy)"))
            }
        }
        if configuration.stateDirectory == nil, let folder = environment.variables["STATE_DIRECTORY"] {
            // systemd separates several with colons.
            configuration.stateDirectory = folder.split(separator: ":").first.map { environment.absolute(String($0)) }
        }
    }
}
