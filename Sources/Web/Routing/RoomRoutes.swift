import HTTPTypes
import Hummingbird
import RoomLinks
import ServiceConfiguration

extension Routes {
    private static let room = Route.Parameter(
        name: "room", place: .path, about: "The room's name.", schema: .text(most: RoomDefinition.longestName))

    /// Calls of several people.
    static let rooms: [Route] = [
        Route(
            method: .get, path: "/api/v1/rooms", id: "listRooms", summary: "The rooms, with who is in them.", access: .views,
            success: .json(.object("", ["rooms": .list(.named("Room"))]), "The rooms."), answer: RoomAnswers.rooms),
        Route(
            method: .post, path: "/api/v1/rooms", id: "makeRoom",
            summary: "Makes a room, which ends after some time, and when the service does.", access: .changes,
            body: .named("NewRoom"),
            success: .json(.named("Room"), "The room.", status: .created, headers: ["Location": "The room's path."]),
            problems: [.exists, .noRoom, .unavailable], answer: RoomAnswers.make),
        Route(
            method: .get, path: "/api/v1/rooms/{room}", id: "getRoom", summary: "A room, with who is in it.", access: .views,
            parameters: [room], success: .json(.named("Room"), "The room."), answer: RoomAnswers.room),
        Route(
            method: .delete, path: "/api/v1/rooms/{room}", id: "endRoom",
            summary: "Ends a room that was made by the API. Its guests leave.", access: .changes, parameters: [room],
            success: .init(status: .noContent, about: "It is over."), problems: [.refused], answer: RoomAnswers.end),
        Route(
            method: .post, path: "/api/v1/rooms/{room}/links", id: "makeRoomLink",
            summary: "Makes a link that lets people into a room.",
            access: .changes, parameters: [room], body: .named("NewLink"),
            success: .json(
                .object(
                    "`path` is that of the page, with the link's token.",
                    ["path": .text(), "token": .text(), "expires": .number()]),
                "The link.", status: .created),
            answer: RoomAnswers.makeLink),
        Route(
            method: .post, path: "/api/v1/rooms/{room}/guests", id: "enterRoom",
            summary: "Enters a room, by a link's token as bearer. Whoever is not heard of for 30 s has left.", access: .guests,
            parameters: [room], body: .object("", [:], optional: ["name": .text(most: RoomLink.longestName)]),
            success: .json(
                .object("`pass` is the bearer token from then on.", ["pass": .text(), "guest": .named("Guest")]), "The guest.",
                status: .created, headers: ["Location": "The guest's path."]),
            problems: [.tokenNeeded, .refused, .noRoom, .unavailable], answer: RoomAnswers.enter),
        Route(
            method: .get, path: "/api/v1/rooms/{room}/guests", id: "listGuests",
            summary: "Who is in a room, for one of its guests, who is heard of by this. `seat` is their own.", access: .guests,
            parameters: [room],
            success: .json(
                .object("", ["seat": .integer(1...Int64(RoomDefinition.mostGuests)), "guests": .list(.named("Guest"))]),
                "The guests."),
            problems: [.tokenNeeded], answer: RoomAnswers.guests),
        Route(
            method: .delete, path: "/api/v1/rooms/{room}/guests/{seat}", id: "leaveRoom",
            summary: "Leaves a room. A host removes another; that one's link lets nobody in until the room is empty.",
            access: .guests,
            parameters: [
                room,
                .init(
                    name: "seat", place: .path, about: "The guest's seat.",
                    schema: .integer(1...Int64(RoomDefinition.mostGuests))),
            ],
            success: .init(status: .noContent, about: "The guest has left."), problems: [.tokenNeeded, .refused],
            answer: RoomAnswers.leave),
        Route(
            method: .get, path: "/room/{room}", id: "pageRoom", summary: "A room's page. The link's token stands behind the #.",
            access: .open, parameters: [room],
            success: .init(about: "The page.", content: [("text/html", nil)]), answer: DocumentAnswers.page(Page.room)),
    ]
}
