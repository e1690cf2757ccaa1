import Control
import Endpoint
import Foundation
import HTTPTypes
import Hummingbird
import RoomLinks
import ServiceConfiguration
import WorkerProtocol

/// Rooms: people enter by a signed link, and see each other's streams.
enum RoomAnswers {
    static let shortestLink: Int64 = 60
    static let longestLink: Int64 = 366 * 86_400

    /// All rooms, for operators.
    @Sendable static func rooms(_ request: RouteRequest, _ site: Site) async -> Response {
        .json(["rooms": .list(await site.service.rooms().map(json))])
    }

    @Sendable static func room(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let name = request["room"] ?? ""
        guard let room = await site.service.rooms().first(where: { $0.name == name }) else { throw noRoom }
        return .json(json(room))
    }

    @Sendable static func make(_ request: RouteRequest, _ site: Site) async throws -> Response {
        var new = NewRoom(name: "")
        if case .text(let name)? = request.body?["name"] { new.name = name }
        if case .integer(let guests)? = request.body?["guests"] { new.guests = Int(guests) }
        if case .integer(let seconds)? = request.body?["seconds"] { new.seconds = Int(seconds) }
        if case .text(let like)? = request.body?["like"] { new.like = like }
        let room = try await site.service.makeRoom(new)
        return .json(
            json(room), status: .created, headers: [.location: "/api/v1/rooms/\(PercentCoding.encode(room.name))"])
    }

    @Sendable static func end(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.endRoom(request["room"] ?? "")
        return Response(status: .noContent)
    }

    @Sendable static func makeLink(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let room = request["room"] ?? ""
        guard let key = await site.service.roomKey(room) else { throw noRoom }
        var link = RoomLink(room: room, expires: Date().timeIntervalSince1970 + 86_400)
        if case .text(let name)? = request.body?["name"] {
            guard name.utf8.count <= RoomLink.longestName else {
                throw Problem(.invalid, key: "name", "name has at most \(RoomLink.longestName) bytes")
            }
            link.name = name
        }
        if case .bool(let publishes)? = request.body?["publish"] { link.publishes = publishes }
        if case .bool(let isHost)? = request.body?["host"] { link.isHost = isHost }
        if case .integer(let seconds)? = request.body?["seconds"] {
            link.expires = Date().timeIntervalSince1970 + Double(seconds)
        }
        let token = link.token(key: key.text)
        return .json(
            ["path": .text("\(page(room))#\(token)"), "token": .text(token), "expires": .number(link.expires)], status: .created
        )
    }

    /// Lets somebody in: the body's link is what the page found behind the `#`, which browsers keep to themselves.
    @Sendable static func enter(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let room = request["room"] ?? ""
        guard let key = await site.service.roomKey(room) else { throw noRoom }
        guard let token = bearer(request) else { throw needed("send the room's link as a bearer token") }
        let link: RoomLink
        do throws(RoomLink.Fault) {
            link = try RoomLink(token: token, key: key.text, room: room, now: Date().timeIntervalSince1970)
        } catch {
            throw needed(error.description)
        }
        var name = ""
        if case .text(let given)? = request.body?["name"] { name = given }
        let entry = try await site.service.enter(link, as: name)
        return .json(
            ["pass": .text(entry.pass), "guest": json(entry.guest)], status: .created,
            headers: [.location: "/api/v1/rooms/\(PercentCoding.encode(room))/guests/\(entry.guest.seat)"])
    }

    @Sendable static func guests(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let (seat, guests) = try await site.service.guests(of: request["room"] ?? "", pass: try pass(request))
        return .json(["seat": .count(seat), "guests": .list(guests.map(json))])
    }

    @Sendable static func leave(_ request: RouteRequest, _ site: Site) async throws -> Response {
        try await site.service.leave(request.integer("seat", or: 0), of: request["room"] ?? "", pass: try pass(request))
        return Response(status: .noContent)
    }

    private static func pass(_ request: RouteRequest) throws(Problem) -> String {
        guard let pass = bearer(request) else { throw needed("send what you got at the entrance as a bearer token") }
        return pass
    }

    /// The text of the Authorization header's bearer token.
    static func bearer(_ request: RouteRequest) -> String? {
        let words = (request.request.headers[.authorization] ?? "").split(separator: " ", omittingEmptySubsequences: true)
        return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    }

    private static func needed(_ text: String) -> Problem {
        Problem(.tokenNeeded, text, headers: [.wwwAuthenticate: "Bearer realm=\"burnish-room\""])
    }

    private static let noRoom = Problem(.notFound, "there is no room of this name")

    private static func page(_ room: String) -> String { "/room/\(PercentCoding.encode(room))" }

    private static func json(_ room: RoomStatus) -> JSON {
        [
            "name": .text(room.name), "seats": .count(room.seats), "page": .text(page(room.name)),
            "secondsLeft": .optional(room.secondsLeft) { .number($0) }, "guests": .list(room.guests.map(json)),
        ]
    }

    private static func json(_ guest: RoomGuest) -> JSON {
        [
            "seat": .count(guest.seat), "name": .text(guest.name), "host": .bool(guest.isHost),
            "publish": .optional(guest.stream) { .text("\(CallAnswers.path(.publish))/\($0)") },
            "watch": .optional(guest.stream) { .text("\(CallAnswers.path(.play))/\($0)") },
            "pictures": .text(guest.pictures.rawValue),
        ]
    }

    static let schemas: [String: Schema] = [
        "Guest": .object(
            "Somebody in a room. `publish` and `watch` are the paths for WHIP and WHEP; null for one who only watches. The guest's own "
                + "pass opens `publish`, and every guest's pass opens `watch`.",
            [
                "seat": .integer(1...Int64(RoomDefinition.mostGuests)), "name": .text(), "host": .bool,
                "publish": .nullable(.text()), "watch": .nullable(.text()),
                "pictures": .choice(RoomGuest.Pictures.allCases.map(\.rawValue)),
            ]),
        "Room": .object(
            "A room, and the path of its page. `secondsLeft` is null for one of the configuration.",
            [
                "name": .text(), "seats": .integer(1...Int64(RoomDefinition.mostGuests)), "page": .text(),
                "secondsLeft": .nullable(.number()), "guests": .list(.named("Guest")),
            ]),
        "NewRoom": .object(
            "`seconds` is how long it is there: a day, unless it says otherwise. `like` is a room of the configuration, whose settings it "
                + "has.",
            ["name": .text(most: RoomDefinition.longestName)],
            optional: [
                "guests": .integer(1...Int64(RoomDefinition.mostGuests)), "seconds": .integer(shortestLink...longestLink),
                "like": .text(most: RoomDefinition.longestName),
            ]),
        "NewLink": .object(
            "`seconds` is how long it lets people in: a day, unless it says otherwise.", [:],
            optional: [
                "name": .text(most: RoomLink.longestName), "publish": .bool, "host": .bool,
                "seconds": .integer(shortestLink...longestLink),
            ]),
    ]
}
