import Endpoint
import Media
import ServiceConfiguration
import Settings

/// The rooms that were made while the service runs. Each ends by itself. Pure: time and keys come from outside.
struct MadeRooms {
    struct Room {
        var definition: RoomDefinition
        var end: MonotonicTime
    }

    /// More are refused.
    static let most = 256

    private var rooms: [String: Room] = [:]

    /// By their names.
    var all: [Room] { rooms.values.sorted { $0.definition.name < $1.definition.name } }

    func room(_ name: String) -> Room? { rooms[name] }

    /// - Parameters:
    ///   - key: what its links are signed with.
    ///   - values: what its streams have where no other room is its model.
    ///   - configured: the rooms of the configuration.
    mutating func make(
        _ new: NewRoom, key: Secret, values: StreamValues, configured: [RoomDefinition], at now: MonotonicTime
    ) throws(ServiceFault) -> Room {
        guard StreamDefinition.isName(new.name), new.name.utf8.count <= RoomDefinition.longestName else {
            throw ServiceFault(
                .invalid, key: "name",
                "a room's name has 1 to \(RoomDefinition.longestName) letters, digits, dots, _ and -, and begins with one of the first two"
            )
        }
        guard rooms[new.name] == nil, !configured.contains(where: { $0.name == new.name }) else {
            throw ServiceFault(.exists, "there is a room of this name already")
        }
        guard rooms.count < Self.most else {
            throw ServiceFault(.noRoom, "\(Self.most) rooms were made already: end one, or wait until one ends")
        }
        var definition = RoomDefinition(name: new.name, key: key, values: values)
        if let like = new.like {
            guard let model = configured.first(where: { $0.name == like }) else {
                throw ServiceFault(.invalid, key: "like", "the configuration has no room of this name")
            }
            definition = model
            (definition.name, definition.key, definition.port) = (new.name, key, 0)
            definition.tcp = model.tcp.map { _ in 0 }
        }
        if let guests = new.guests { definition.guests = guests }
        let room = Room(definition: definition, end: now + .seconds(Double(new.seconds)))
        rooms[new.name] = room
        return room
    }

    /// - Returns: false where there is no such room.
    mutating func end(_ name: String) -> Bool { rooms.removeValue(forKey: name) != nil }

    /// Ends those whose time is over, and those whose name the configuration has now.
    mutating func tidy(configured: [RoomDefinition], at now: MonotonicTime) {
        rooms = rooms.filter { name, room in room.end > now && !configured.contains { $0.name == name } }
    }
}
