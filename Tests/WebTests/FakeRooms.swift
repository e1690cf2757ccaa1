import Endpoint
import Media
import RoomLinks
import ServiceConfiguration
import Settings

@testable import Control

/// Rooms of the service that is made up: `team` holds three.
extension FakeService {
    static let roomKey = "a key of the room, 32 bytes and more".replacing(" ", with: "-")
    static let firstPass = "pass-of-somebody-0"
    private static let seats = 3

    func rooms() async -> [RoomStatus] {
        state.withLock { state in
            [RoomStatus(name: "team", seats: Self.seats, guests: Self.shown(state.rooms))]
                + state.madeRooms.all.map {
                    RoomStatus(name: $0.definition.name, seats: $0.definition.guests, guests: [], secondsLeft: 60)
                }
        }
    }

    func makeRoom(_ new: NewRoom) async throws(ServiceFault) -> RoomStatus {
        let team = RoomDefinition(name: "team", key: Secret(Self.roomKey))
        let made = state.withLock { state in
            Result { () throws(ServiceFault) -> MadeRooms.Room in
                try state.madeRooms.make(
                    new, key: Secret(Self.roomKey), values: StreamValues(), configured: [team], at: .now())
            }
        }
        let room = try made.get().definition
        return RoomStatus(name: room.name, seats: room.guests, guests: [], secondsLeft: Double(new.seconds))
    }

    func endRoom(_ name: String) async throws(ServiceFault) {
        if state.withLock({ $0.madeRooms.end(name) }) { return }
        throw name == "team" ? ServiceFault(.refused, "it is configured") : ServiceFault(.notFound, "there is no such room")
    }

    func roomKey(_ name: String) async -> Secret? {
        name == "team" || state.withLock { $0.madeRooms.room(name) != nil } ? Secret(Self.roomKey) : nil
    }

    func enter(_ link: RoomLink, as name: String) async throws(ServiceFault) -> RoomEntry {
        let entered = state.withLock { state in
            Result { () throws(ServiceFault) -> RoomRegistry.Guest? in
                let pass = "pass-of-somebody-\(state.rooms.count(of: "team"))"
                return try state.rooms.enter(link, name: name, pass: pass, seats: Self.seats, at: .now(), isFree: { _ in true })
            }
        }
        guard let guest = try entered.get() else { throw ServiceFault(.noRoom, "the room is full") }
        return RoomEntry(guest: Self.shown(guest), pass: guest.pass)
    }

    func guests(of room: String, pass: String) async throws(ServiceFault) -> (seat: Int, guests: [RoomGuest]) {
        let (guest, guests) = state.withLock { ($0.rooms.guest(pass: pass, of: room), Self.shown($0.rooms)) }
        guard let guest else { throw ServiceFault(.unauthorised, "you are not in the room") }
        return (guest.seat, guests)
    }

    func leave(_ seat: Int, of room: String, pass: String) async throws(ServiceFault) {
        guard let guest = state.withLock({ $0.rooms.guest(pass: pass, of: room) }) else {
            throw ServiceFault(.unauthorised, "you are not in the room")
        }
        guard guest.seat == seat || guest.isHost else { throw ServiceFault(.refused, "only the host removes others") }
        guard state.withLock({ $0.rooms.leave(seat, of: room, refusing: guest.seat != seat) }) != nil else {
            throw ServiceFault(.notFound, "nobody has this seat")
        }
    }

    private static func shown(_ rooms: RoomRegistry) -> [RoomGuest] { rooms.guests(of: "team").map(shown) }

    private static func shown(_ guest: RoomRegistry.Guest) -> RoomGuest {
        RoomGuest(
            seat: guest.seat, name: guest.name, isHost: guest.isHost, stream: guest.publishes ? "team.\(guest.seat)" : nil)
    }
}
