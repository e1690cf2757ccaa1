import Control
import Foundation
import RoomLinks
import Testing

@testable import Web

/// Rooms over HTTP. Who is in them is made up.
@Suite(.timeLimit(.minutes(10))) struct RoomTests {
    private static let guests = "/api/v1/rooms/team/guests"

    private static func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer \(token)"] }

    private static func link(
        _ name: String = "", isHost: Bool = false, key: String = FakeService.roomKey, room: String = "team"
    ) -> String {
        RoomLink(room: room, name: name, isHost: isHost, expires: Date().timeIntervalSince1970 + 600).token(key: key)
    }

    private func enter(_ client: WebClient, _ link: String, as name: String? = nil) async throws -> WebClient.Answer {
        let body = name.map { "{\"name\": \"\($0)\"}" } ?? "{}"
        return try await client.send("POST", Self.guests, headers: Self.bearer(link), body: body)
    }

    @Test func guestsComeSeeEachOtherAndLeave() async throws {
        try await serving { client async throws in
            let ann = try await enter(client, Self.link("Ann", isHost: true), as: "Mallory")
            #expect(ann.status == 201 && ann.headers["location"] == Self.guests + "/1")
            let pass = try #require(ann.json["pass"] as? String)
            let own = try #require(ann.json["guest"] as? [String: Any])
            // The link's name wins.
            #expect(
                own["name"] as? String == "Ann" && own["host"] as? Bool == true && own["publish"] as? String == "/whip/team.1")
            let bob = try await enter(client, Self.link(), as: "<script>")
            let bobsPass = try #require(bob.json["pass"] as? String)
            let list = try await client.get(Self.guests, headers: Self.bearer(bobsPass))
            let guests = try #require(list.json["guests"] as? [[String: Any]])
            #expect(list.json["seat"] as? Int == 2 && guests.map { $0["name"] as? String } == ["Ann", "<script>"])
            #expect(guests[0]["watch"] as? String == "/whep/team.1" && guests[0]["pictures"] as? String == "none")
            // Bob is no host. Ann is, and his link is of no use any more.
            #expect(try await client.send("DELETE", Self.guests + "/1", headers: Self.bearer(bobsPass)).status == 403)
            #expect(try await client.send("DELETE", Self.guests + "/2", headers: Self.bearer(pass)).status == 204)
            #expect(try await client.get(Self.guests, headers: Self.bearer(bobsPass)).status == 401)
            #expect(try await client.send("DELETE", Self.guests + "/3", headers: Self.bearer(pass)).status == 404)
            #expect(try await client.send("DELETE", Self.guests + "/1", headers: Self.bearer(pass)).status == 204)
        }
    }

    @Test func nobodyEntersWithoutTheRoomsLink() async throws {
        try await serving { client async throws in
            for token in [
                "none", Self.link(key: FakeService.roomKey + "x"), Self.link(room: "other"), testToken, "",
                "eyJhbGciOiJub25lIn0.eyJyb29tIjoidGVhbSIsImV4cCI6MjAwMDAwMDAwMH0.",
            ] {
                let answer = try await enter(client, token)
                #expect(answer.status == 401, "\(token)")
            }
            #expect(try await client.send("POST", Self.guests, body: "{}").status == 401)
            #expect(try await client.get(Self.guests).status == 401)
            let none = try await client.send("POST", "/api/v1/rooms/none/guests", headers: Self.bearer(Self.link()), body: "{}")
            #expect(none.status == 404)
            for place in 0..<4 {
                #expect(try await enter(client, Self.link("\(place)")).status == (place < 3 ? 201 : 503))
            }
        }
    }

    /// Whoever may change streams makes links, and a link that was made lets somebody in.
    @Test func linksAreMade() async throws {
        try await serving { client async throws in
            let path = "/api/v1/rooms/team/links"
            #expect(try await client.send("POST", path, body: "{}").status == 401)
            let made = try await client.send(
                "POST", path, headers: WebTests.bearer,
                body: #"{"name": "Zoë", "host": true, "publish": false, "seconds": 3600}"#)
            let token = try #require(made.json["token"] as? String)
            #expect(made.status == 201 && made.json["path"] as? String == "/room/team#\(token)")
            let entered = try await enter(client, token)
            let guest = try #require(entered.json["guest"] as? [String: Any])
            #expect(guest["name"] as? String == "Zoë" && guest["host"] as? Bool == true && guest["publish"] is NSNull)
            #expect(try await client.send("POST", path, headers: WebTests.bearer, body: #"{"seconds": 1}"#).status == 422)
            #expect(
                try await client.send("POST", "/api/v1/rooms/none/links", headers: WebTests.bearer, body: "{}").status == 404)
            let rooms = try await client.get("/api/v1/rooms", headers: WebTests.bearer)
            let room = try #require((rooms.json["rooms"] as? [[String: Any]])?.first)
            #expect(room["name"] as? String == "team" && room["seats"] as? Int == 3 && room["page"] as? String == "/room/team")
        }
    }

    @Test func thePageIsThere() async throws {
        try await serving { client async throws in
            let page = try await client.get("/room/team")
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(
                page.text.contains("/page/room.js")
                    && page.headers["content-security-policy"]?.contains("script-src 'self'") == true)
            for file in ["room.js", "room.css", "tiles.js", "webrtc.js"] {
                #expect(try await client.get("/page/\(file)").status == 200)
            }
        }
    }
}
