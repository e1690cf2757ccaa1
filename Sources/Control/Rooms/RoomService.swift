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
    /// How long it is still there; nil for one of the configuration.
    public var secondsLeft: Double?

    public init(name: String, seats: Int, guests: [RoomGuest], secondsLeft: Double? = nil) {
        self.name = name
        self.seats = seats
        self.guests = guests
        self.secondsLeft = secondsLeft
    }
}

/// A room that is to be made.
public struct NewRoom: Hashable, Sendable {
    public var name: String
    /// How many it holds; nil for as many as ``like`` does, or as rooms usually do.
    public var guests: Int?
    /// How long it is there.
    public var seconds: Int
    /// A room of the configuration, whose settings and addresses it has. Its ports are any free ones.
    public var like: String?

    public init(name: String, guests: Int? = nil, seconds: Int = 86_400, like: String? = nil) {
        self.name = name
        self.guests = guests
        self.seconds = seconds
        self.like = like
    }
}
