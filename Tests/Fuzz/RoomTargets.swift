import RoomLinks

/// The input is a room's link, behind one byte that says when it is read; a second room's key never opens it.
func fuzzRoomLink(_ input: UnsafeRawBufferPointer) {
    guard let first = input.first, let token = String(validating: input.dropFirst(), as: UTF8.self) else { return }
    let now = Double(first) * 10_000_000
    do throws(RoomLink.Fault) {
        let link = try RoomLink(token: token, key: roomKey, room: "team", now: now)
        precondition(
            link.expires > now && link.room == "team" && !link.id.isEmpty, "a link that lets nobody in lets somebody in")
        precondition(link.name.utf8.count <= RoomLink.longestName, "a long name")
        let other = try? RoomLink(token: token, key: roomKey + "x", room: "team", now: now)
        precondition(other == nil, "another key opens it")
    } catch {
        precondition(!error.description.isEmpty && !error.description.contains("\n"), "a fault of no line, or of several")
    }
    // Whatever the bytes: what is made of them is read again.
    var name = String(decoding: input.prefix(100), as: UTF8.self)
    while name.utf8.count > RoomLink.longestName { name.removeLast() }
    let made = RoomLink(room: "team", name: name, isHost: first & 1 == 1, expires: now + 1)
    let read = try? RoomLink(token: made.token(key: roomKey), key: roomKey, room: "team", now: now)
    precondition(read?.name == name && read?.isHost == made.isHost, "a link is read as another")
}

private let roomKey = "0123456789abcdef0123456789abcdef"
