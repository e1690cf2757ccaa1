/// Somebody in a room.
public struct RoomGuest: Hashable, Sendable {
    /// What becomes of the guest's pictures.
    public enum Pictures: String, Sendable, CaseIterable {
        /// None come.
        case none
        case enhanced
        /// They go out as they came.
        case asSent
    }

    /// From 1 on. Free again when the guest has left.
    public var seat: Int
    public var name: String
    public var isHost: Bool
    /// The stream of what the guest sends; nil for one who only watches.
    public var stream: String?
    public var pictures = Pictures.none

    public init(seat: Int, name: String, isHost: Bool, stream: String?) {
        self.seat = seat
        self.name = name
        self.isHost = isHost
        self.stream = stream
    }
}

/// What a guest gets at the entrance.
public struct RoomEntry: Sendable {
    public var guest: RoomGuest
    /// What the guest shows from then on: 32 hexadecimal digits that nobody can guess. It ends when the guest leaves.
    public var pass: String

    public init(guest: RoomGuest, pass: String) {
        self.guest = guest
        self.pass = pass
    }
}

/// A room as operators see it.
public struct RoomStatus: Hashable, Sendable {
    public var name: String
    /// How many it holds.
    public var seats: Int
    public var guests: [RoomGuest]

    public init(name: String, seats: Int, guests: [RoomGuest]) {
        self.name = name
        self.seats = seats
        self.guests = guests
    }
}
