import Endpoint
import Settings

/// Reads one room of the configuration file.
struct RoomReading {
    let name: String
    /// What its streams have where nothing is given: the values of `defaults:`.
    let defaults: StreamValues
    let environment: ConfigurationEnvironment
    /// Faults, and the line of each.
    private(set) var faults: [(line: Int, fault: SettingFault)] = []

    init(name: String, defaults: StreamValues, environment: ConfigurationEnvironment) {
        self.name = name
        self.defaults = defaults
        self.environment = environment
    }

    /// - Parameters:
    ///   - entries: no key twice.
    ///   - line: where the room stands.
    /// - Returns: nil where there is no key to sign links with. Then, and for every other fault, ``faults`` is not empty.
    mutating func read(_ entries: [ConfigurationNode.Entry], line: Int) -> RoomDefinition? {
        let known = RoomKeys.names + StreamKeys.all.map(\.name)
        for entry in entries where !known.contains(entry.key) { fault(entry.line, .unknown(entry.key, among: known)) }
        let byName = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0) })
        let key = key(byName, line: line)
        var values = StreamReading(name: name, defaults: defaults, environment: environment, origin: .file)
        var room = RoomDefinition(
            name: name, key: key ?? Secret(""), values: values.settings(byName, base: defaults, line: line))
        faults += values.faults
        if let seat = try? room.definition(1),
            let fault = StreamURL.fault(of: room.values.options.codec, in: seat.outputs.map(\.url))
        {
            self.fault(byName["codec"]?.line ?? line, SettingFault("codec", "does not go with rooms: \(fault.text)"))
        }
        if let text = text(of: byName["guests"]) {
            if let guests = Int(text), (1...RoomDefinition.mostGuests).contains(guests) {
                room.guests = guests
            } else {
                fault(byName["guests"]?.line ?? line, notAllowed("guests", text))
            }
        }
        if let port = port("port", byName, room, line: line) { room.port = port }
        room.tcp = port("tcp", byName, room, line: line)
        readAddresses(byName["address"], &room)
        return key == nil ? nil : room
    }

    private mutating func key(_ entries: [String: ConfigurationNode.Entry], line: Int) -> Secret? {
        let reading = SecretReading(key: "key", sizes: 32...256, environment: environment)
        let given = SecretReading.suffixes.compactMap { entries["key" + $0] }
        guard let entry = given.first else {
            fault(line, SettingFault("key-file", "is missing: give the file with the text that links are signed with"))
            return nil
        }
        for other in given.dropFirst() {
            fault(other.line, SettingFault(other.key, "is given beside \(entry.key): give one of them"))
        }
        guard let text = text(of: entry) else { return nil }
        do throws(SettingFault) {
            return try reading.token(key: entry.key, text: text)
        } catch {
            fault(entry.line, error)
            return nil
        }
    }

    /// The first of as many ports as the room has guests.
    private mutating func port(
        _ name: String, _ entries: [String: ConfigurationNode.Entry], _ room: RoomDefinition, line: Int
    ) -> UInt16? {
        guard let text = text(of: entries[name]) else { return nil }
        if let port = UInt16(text), port == 0 || Int(port) + room.guests - 1 <= Int(UInt16.max) { return port }
        fault(entries[name]?.line ?? line, notAllowed(name, text))
        return nil
    }

    private mutating func readAddresses(_ entry: ConfigurationNode.Entry?, _ room: inout RoomDefinition) {
        guard let entry else { return }
        let items: [ConfigurationNode] = if case .sequence(let nodes) = entry.value.content { nodes } else { [entry.value] }
        for item in items {
            guard case .scalar(let text) = item.content else { return fault(entry.line, notAllowed("address", item.kind)) }
            guard LocalAddress.isAddress(text), room.addresses.count < RoomDefinition.mostAddresses else {
                return fault(entry.line, notAllowed("address", text))
            }
            room.addresses.append(text)
        }
    }

    private func notAllowed(_ name: String, _ given: String) -> SettingFault {
        let allowed = RoomKeys.all.first { $0.name == name }?.allowed ?? ""
        return SettingFault(name, "is \(allowed), not \(given.excerpt)")
    }

    private mutating func text(of entry: ConfigurationNode.Entry?) -> String? {
        guard let entry else { return nil }
        if case .scalar(let text) = entry.value.content { return text }
        fault(entry.line, SettingFault(entry.key, "is one value, not \(entry.value.kind)"))
        return nil
    }

    private mutating func fault(_ line: Int, _ fault: SettingFault) { faults.append((line, fault)) }
}
