import Media
import RoomLinks

/// Who is in which room. Pure: time, passes and free seats come from outside.
struct RoomRegistry {
    struct Guest: Hashable, Sendable {
        var seat: Int
        var name: String
        var isHost: Bool
        var publishes: Bool
        /// What the guest shows.
        var pass: String
        /// The link that the guest came by.
        var link: String
        /// When the guest was heard of last.
        var heard: MonotonicTime
    }

    private struct Room {
        var guests: [Int: Guest] = [:]
        /// Links whose guests the host has removed.
        var refused: Set<String> = []
    }

    /// Whoever says nothing for so long has left.
    static let silence = Nanoseconds.seconds(30)
    /// At this many links that a room refuses, it refuses all others, too, until it is empty.
    static let mostRefused = 1024
    static let longestName = 64

    private var rooms: [String: Room] = [:]

    /// Lets somebody in.
    /// - Parameters:
    ///   - name: what the guest wants to be called; the link's name wins.
    ///   - seats: how many the room holds.
    ///   - isFree: whether a seat's stream can be made.
    /// - Returns: nil where the room is full.
    /// - Throws: where the host has removed somebody who came by this link.
    mutating func enter(
        _ link: RoomLink, name: String, pass: String, seats: Int, at now: MonotonicTime, isFree: (Int) -> Bool
    ) throws(ServiceFault) -> Guest? {
        var room = rooms[link.room] ?? Room()
        guard !room.refused.contains(link.id), room.refused.count < Self.mostRefused else {
            throw ServiceFault(.refused, "the host has removed whoever came by this link: ask for another one")
        }
        guard seats > 0,
            let seat = (1...seats).first(where: { room.guests[$0] == nil && (!link.publishes || isFree($0)) })
        else { return nil }
        let shown = Self.shown(link.name.isEmpty ? name : link.name)
        let guest = Guest(
            seat: seat, name: shown.isEmpty ? "Guest \(seat)" : shown, isHost: link.isHost, publishes: link.publishes,
            pass: pass, link: link.id, heard: now)
        room.guests[seat] = guest
        rooms[link.room] = room
        return guest
    }

    /// A name without control characters and line breaks, and not too long.
    private static func shown(_ name: String) -> String {
        let scalars = name.unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
            default: true
            }
        }
        var text = String(String.UnicodeScalarView(scalars))
        while text.utf8.count > longestName { text.removeLast() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text.drop(while: \.isWhitespace))
    }

    /// In the order of their seats.
    func guests(of room: String) -> [Guest] { rooms[room]?.guests.values.sorted { $0.seat < $1.seat } ?? [] }

    func count(of room: String) -> Int { rooms[room]?.guests.count ?? 0 }

    func guest(_ seat: Int, of room: String) -> Guest? { rooms[room]?.guests[seat] }

    func guest(pass: String, of room: String) -> Guest? { rooms[room]?.guests.values.first { $0.pass == pass } }

    /// Notes that a guest is still there.
    mutating func hear(_ seat: Int, of room: String, at now: MonotonicTime) { rooms[room]?.guests[seat]?.heard = now }

    /// - Parameter refusing: nobody else comes in by the guest's link until the room is empty.
    @discardableResult mutating func leave(_ seat: Int, of room: String, refusing: Bool = false) -> Guest? {
        guard let guest = rooms[room]?.guests.removeValue(forKey: seat) else { return nil }
        if refusing { rooms[room]?.refused.insert(guest.link) }
        if rooms[room]?.guests.isEmpty == true { rooms[room] = nil }
        return guest
    }

    /// Those who have said nothing for too long.
    func silent(at now: MonotonicTime) -> [(room: String, seat: Int)] {
        rooms.flatMap { name, room in
            room.guests.values.filter { now - $0.heard >= Self.silence }.map { (name, $0.seat) }
        }
    }

    /// All rooms with somebody in them.
    var occupied: [String] { Array(rooms.keys) }
}
