import Endpoint
import Media
import RoomLinks
import ServiceConfiguration
import Settings
import Telemetry
import WorkerProtocol

// Rooms: each guest who sends is a stream, which the others watch.
extension Supervisor {
    public func rooms() -> [RoomStatus] {
        configuration.rooms.map { RoomStatus(name: $0.name, seats: $0.guests, guests: guests(of: $0)) }
            + madeRooms.all.map { shown($0, at: .now()) }
    }

    public func makeRoom(_ new: NewRoom) throws(ServiceFault) -> RoomStatus {
        guard !isEnding else { throw ServiceFault(.unavailable, "the service ends") }
        let now = MonotonicTime.now()
        var random = SystemRandomNumberGenerator()
        let key = (0..<2).map { _ in CallRegistry.id(random.next(), random.next()) }.joined()
        let room = try madeRooms.make(
            new, key: Secret(key), values: configuration.defaults, configured: configuration.rooms, at: now)
        return shown(room, at: now)
    }

    public func endRoom(_ name: String) throws(ServiceFault) {
        guard madeRooms.end(name) else {
            guard definition(ofRoom: name) != nil else { throw ServiceFault(.notFound, "there is no room of this name") }
            throw ServiceFault(.refused, "the room stands in the configuration: take it out there, and reload")
        }
        for guest in roomGuests.guests(of: name) { leave(guest.seat, of: name, "the room is ended") }
    }

    private func shown(_ room: MadeRooms.Room, at now: MonotonicTime) -> RoomStatus {
        RoomStatus(
            name: room.definition.name, seats: room.definition.guests, guests: guests(of: room.definition),
            secondsLeft: max(.zero, room.end - now).seconds)
    }

    private func definition(ofRoom name: String) -> RoomDefinition? {
        configuration.rooms.first { $0.name == name } ?? madeRooms.room(name)?.definition
    }

    public func roomKey(_ name: String) -> Secret? { definition(ofRoom: name)?.key }

    public func enter(_ link: RoomLink, as name: String) throws(ServiceFault) -> RoomEntry {
        guard !isEnding else { throw ServiceFault(.unavailable, "the service ends") }
        let room = try findRoom(link.room)
        if link.publishes, supervised.count >= configuration.limits.streams {
            throw ServiceFault(.noRoom, "there are \(supervised.count) streams already, as many as limits.streams allows")
        }
        var random = SystemRandomNumberGenerator()
        let pass = CallRegistry.id(random.next(), random.next())
        let taken = Set(supervised.keys)
        guard
            let guest = try roomGuests.enter(
                link, name: name, pass: pass, seats: room.guests, at: .now(), isFree: { !taken.contains(room.stream($0)) })
        else { throw ServiceFault(.noRoom, "the room is full: it holds \(room.guests)") }
        if guest.publishes, let fault = addStream(of: guest, room) {
            roomGuests.leave(guest.seat, of: room.name)
            throw fault
        }
        record(
            .guest, stream: guest.publishes ? room.stream(guest.seat) : nil,
            "a guest enters room \(room.name), seat \(guest.seat)")
        return RoomEntry(guest: shown(guest, room), pass: pass)
    }

    private func addStream(of guest: RoomRegistry.Guest, _ room: RoomDefinition) -> ServiceFault? {
        do throws(TransportError) {
            let definition = try room.definition(guest.seat)
            if let fault = add(definition, configured: nil) { return fault }
        } catch {
            return ServiceFault(.unavailable, error.message)
        }
        supervised[room.stream(guest.seat)]?.seat = Seat(room: room.name, number: guest.seat)
        regroup()
        return nil
    }

    public func guests(of name: String, pass: String) throws(ServiceFault) -> (seat: Int, guests: [RoomGuest]) {
        let room = try findRoom(name)
        let guest = try findGuest(pass, room)
        roomGuests.hear(guest.seat, of: name, at: .now())
        return (guest.seat, guests(of: room))
    }

    public func leave(_ seat: Int, of name: String, pass: String) throws(ServiceFault) {
        let room = try findRoom(name)
        let guest = try findGuest(pass, room)
        guard guest.seat == seat || guest.isHost else { throw ServiceFault(.refused, "only the host removes others") }
        guard roomGuests.guest(seat, of: name) != nil else { throw ServiceFault(.notFound, "nobody has this seat") }
        leave(
            seat, of: name, refusing: guest.seat != seat, guest.seat == seat ? "the guest leaves" : "the host removes the guest"
        )
    }

    /// - Parameter refusing: nobody else comes in by the guest's link.
    private func leave(_ seat: Int, of room: String, refusing: Bool = false, _ reason: String) {
        guard roomGuests.leave(seat, of: room, refusing: refusing) != nil else { return }
        let stream = supervised.values.first { $0.seat == Seat(room: room, number: seat) }
        record(.guest, stream: stream?.name, "\(reason): room \(room), seat \(seat)")
        for call in calls.endAll(of: Seat(room: room, number: seat)) {
            if let worker = workers[call.worker] { send(.hangUp(id: call.number), to: worker) }
        }
        if let stream { remove(stream, "its guest has left") }
        enhanceNext()
    }

    /// Lets a guest's pictures pass where the machine cannot carry more.
    /// - Returns: false where they pass already.
    func pass(_ stream: SupervisedStream, because figures: String, at now: MonotonicTime) -> Bool {
        guard stream.definition.values.settings.mode != .bypass else { return false }
        stream.passesSince = now
        var definition = stream.definition
        definition.values.settings.mode = .bypass
        record(
            .refused, stream: stream.name, "pictures pass as they come: the machine cannot carry more: \(figures)",
            isUsual: true)
        redefine(stream, definition)
        return true
    }

    /// When somebody leaves, whoever has waited longest for the machine is tried again.
    private func enhanceNext() {
        let waiting = supervised.values.compactMap { stream in stream.passesSince.map { (since: $0, stream: stream) } }
        guard let next = waiting.min(by: { ($0.since, $0.stream.name) < ($1.since, $1.stream.name) })?.stream,
            let seat = next.seat,
            let room = definition(ofRoom: seat.room)
        else { return }
        next.passesSince = nil
        admission.forget(next.name)
        var definition = next.definition
        definition.values.settings.mode = room.values.settings.mode
        redefine(next, definition)
    }

    /// Guests of whom nothing is heard have left, and so have those of rooms that are over. One whose
    /// stream somebody has removed goes with it.
    func tidyRooms(at now: MonotonicTime) {
        madeRooms.tidy(configured: configuration.rooms, at: now)
        for (room, seat) in roomGuests.silent(at: now) {
            // A page in the background asks rarely, and its call goes on.
            let stream = supervised.values.first { $0.seat == Seat(room: room, number: seat) }
            if stream?.isInputConnected == true { continue }
            leave(seat, of: room, "nothing is heard of the guest")
        }
        for name in roomGuests.occupied {
            let room = definition(ofRoom: name)
            for guest in roomGuests.guests(of: name) {
                guard let room, guest.seat <= room.guests else {
                    leave(guest.seat, of: name, "the room, or the seat, is not there any more")
                    continue
                }
                if guest.publishes, supervised[room.stream(guest.seat)] == nil {
                    leave(guest.seat, of: name, "the guest's stream was removed")
                }
            }
        }
    }

    // MARK: Calls of guests

    /// A guest publishes to their own stream alone, and watches all others.
    func passes(of seat: Seat, _ side: CallSide) -> [Secret] {
        let guests = roomGuests.guests(of: seat.room)
        return (side == .play ? guests : guests.filter { $0.seat == seat.number }).map { Secret($0.pass) }
    }

    /// The guest who offers a call to a room's stream.
    func seat(of offer: PeerOffer, _ stream: SupervisedStream) -> Seat? {
        guard let room = stream.seat?.room, let pass = offer.token, let guest = roomGuests.guest(pass: pass, of: room) else {
            return nil
        }
        return Seat(room: room, number: guest.seat)
    }

    // MARK: What is seen from outside

    private func findRoom(_ name: String) throws(ServiceFault) -> RoomDefinition {
        guard let room = definition(ofRoom: name) else {
            throw ServiceFault(.notFound, "there is no room of this name")
        }
        return room
    }

    private func findGuest(_ pass: String, _ room: RoomDefinition) throws(ServiceFault) -> RoomRegistry.Guest {
        guard let guest = roomGuests.guest(pass: pass, of: room.name) else {
            throw ServiceFault(.unauthorised, "you are not in the room: enter it by its link")
        }
        return guest
    }

    private func guests(of room: RoomDefinition) -> [RoomGuest] {
        roomGuests.guests(of: room.name).map { shown($0, room) }
    }

    private func shown(_ guest: RoomRegistry.Guest, _ room: RoomDefinition) -> RoomGuest {
        var shown = RoomGuest(
            seat: guest.seat, name: guest.name, isHost: guest.isHost,
            stream: guest.publishes ? room.stream(guest.seat) : nil)
        if let stream = shown.stream.flatMap({ supervised[$0] }), stream.flow.isFlowing {
            shown.pictures = stream.map.reader.snapshot().gauges.rung == nil ? .asSent : .enhanced
        }
        return shown
    }
}

/// A seat of a room.
struct Seat: Hashable, Sendable {
    var room: String
    var number: Int
}
