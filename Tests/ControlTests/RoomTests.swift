import Endpoint
import Media
import RoomLinks
import ServiceConfiguration
import Settings
import Testing
import WorkerProtocol

@testable import Control

/// Rooms: who is in them, and the streams of those who send.
@Suite(.timeLimit(.minutes(10))) struct RoomTests {
    private static let key = "0123456789abcdef0123456789abcdef"
    private static let more = "rooms:\n  team: {key: \(key), guests: 2, tier: base, interpolate: 1}\n"

    private static func link(_ id: String, _ change: (inout RoomLink) -> Void = { _ in }) -> RoomLink {
        var link = RoomLink(room: "team", expires: 2_000_000_000)
        link.id = id
        change(&link)
        return link
    }

    // MARK: Who is in a room

    private func enter(
        _ rooms: inout RoomRegistry, _ link: RoomLink, as name: String = "", at seconds: Double = 0, taken: Set<Int> = []
    ) throws(ServiceFault) -> Int? {
        try rooms.enter(
            link, name: name, pass: "pass \(link.id)", seats: 3, at: MonotonicTime(nanoseconds: Int64(seconds * 1e9)),
            isFree: { !taken.contains($0) })?.seat
    }

    @Test func seatsAreTakenInOrderAndGivenBack() throws {
        var rooms = RoomRegistry()
        #expect(try enter(&rooms, Self.link("a")) == 1)
        #expect(try enter(&rooms, Self.link("b"), taken: [2]) == 3)
        // Who only watches needs no stream.
        #expect(try enter(&rooms, Self.link("c") { $0.publishes = false }, taken: [2]) == 2)
        #expect(try enter(&rooms, Self.link("d")) == nil)
        rooms.leave(1, of: "team")
        #expect(try enter(&rooms, Self.link("d")) == 1)
        #expect(rooms.guests(of: "team").map(\.link) == ["d", "c", "b"] && rooms.count(of: "team") == 3)
        #expect(rooms.guest(pass: "pass c", of: "team")?.seat == 2 && rooms.guest(pass: "pass c", of: "other") == nil)
        #expect(rooms.guest(pass: "pass a", of: "team") == nil)
    }

    @Test func whoseLinkIsRefusedComesInWhenTheRoomHasBeenEmpty() throws {
        var rooms = RoomRegistry()
        _ = try enter(&rooms, Self.link("a"))
        _ = try enter(&rooms, Self.link("b"))
        rooms.leave(2, of: "team", refusing: true)
        #expect(throws: ServiceFault.self) { try enter(&rooms, Self.link("b")) }
        #expect(try enter(&rooms, Self.link("c")) == 2)
        rooms.leave(1, of: "team")
        rooms.leave(2, of: "team")
        #expect(try enter(&rooms, Self.link("b")) == 1)
    }

    @Test func whoSaysNothingIsFound() throws {
        var rooms = RoomRegistry()
        _ = try enter(&rooms, Self.link("a"))
        _ = try enter(&rooms, Self.link("b"))
        rooms.hear(1, of: "team", at: MonotonicTime(nanoseconds: 20_000_000_000))
        #expect(rooms.silent(at: MonotonicTime(nanoseconds: 29_999_999_999)).isEmpty)
        #expect(rooms.silent(at: MonotonicTime(nanoseconds: 30_000_000_000)).map(\.seat) == [2])
    }

    @Test(arguments: [
        ("", "Guest 1"), ("  Ann \n", "Ann"), ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("\u{202E}nnA", "nnA"),
        (String(repeating: "ä", count: 100), String(repeating: "ä", count: 32)), ("\u{0}\u{7}", "Guest 1"),
    ])
    func namesAreOneLine(given: String, shown: String) throws {
        var rooms = RoomRegistry()
        _ = try enter(&rooms, Self.link("a"), as: given)
        #expect(rooms.guest(1, of: "team")?.name == shown)
    }

    // MARK: Their streams

    @Test func eachGuestWhoSendsIsAStream() async throws {
        let bench = try SupervisorBench([], more: Self.more)
        let supervisor = bench.supervisor
        await supervisor.start()
        let ann = try await supervisor.enter(Self.link("a") { $0.isHost = true }, as: "Ann")
        #expect(ann.guest.stream == "team.1" && ann.pass.utf8.count == 32)
        let stream = try await supervisor.stream("team.1")
        #expect(stream.input == "whip:team.1" && stream.outputs == ["whep:team.1"] && stream.settings["tier"] == "base")
        #expect(stream.kept == nil)
        let bob = try await supervisor.enter(Self.link("b"), as: "Bob")
        let watcher = await fault { () throws(ServiceFault) in _ = try await supervisor.enter(Self.link("c"), as: "Eve") }
        #expect(watcher?.kind == .noRoom)
        let (seat, guests) = try await supervisor.guests(of: "team", pass: bob.pass)
        #expect(seat == 2 && guests.map(\.name) == ["Ann", "Bob"] && guests.map(\.stream) == ["team.1", "team.2"])
        // A guest sends to their own stream alone, and watches all.
        let own = await supervisor.callPlace("team.2", .publish)?.tokens?.map(\.text)
        let all = await supervisor.callPlace("team.2", .play)?.tokens?.map(\.text)
        #expect(own == [bob.pass] && Set(all ?? []) == [ann.pass, bob.pass])

        // Bob's call ends when the host removes him, and so do his stream and his pass.
        await bench.event(.started, of: "team.1")
        let offer = PeerOffer(description: "v=0\r\n", userFragment: "abcd", token: bob.pass)
        let call = try await supervisor.call("team.1", .play, offer)
        let refused = await fault { () throws(ServiceFault) in try await supervisor.leave(1, of: "team", pass: bob.pass) }
        #expect(refused?.kind == .refused)
        try await supervisor.leave(2, of: "team", pass: ann.pass)
        await bench.event(.removed, of: "team.2")
        #expect(await supervisor.call(call.id, of: "team.1", .play) == nil)
        let out = await fault { () throws(ServiceFault) in _ = try await supervisor.guests(of: "team", pass: bob.pass) }
        #expect(out?.kind == .unauthorised)
        let again = await fault { () throws(ServiceFault) in _ = try await supervisor.enter(Self.link("b"), as: "Bob") }
        #expect(again?.kind == .refused)
        let left = await supervisor.callPlace("team.1", .play)?.tokens?.map(\.text)
        #expect(left == [ann.pass])
        await supervisor.end()
    }

    /// A room that the configuration does not name any more, and a stream that the API removes, end the stay.
    @Test func guestsGoWithTheirRoomAndTheirStream() async throws {
        let bench = try SupervisorBench([], more: Self.more)
        let supervisor = bench.supervisor
        await supervisor.start()
        let ann = try await supervisor.enter(Self.link("a"), as: "Ann")
        let bob = try await supervisor.enter(Self.link("b"), as: "Bob")
        try await supervisor.remove("team.1")
        await bench.event(.guest) { $0.text.contains("seat 1") && $0.text.contains("removed") }
        let out = await fault { () throws(ServiceFault) in _ = try await supervisor.guests(of: "team", pass: ann.pass) }
        #expect(out?.kind == .unauthorised)
        // Another key is for those who come later.
        bench.write(text: "streams: {}\n" + Self.more.replacing(Self.key, with: Self.key + "x"))
        try await supervisor.reload()
        let key = await supervisor.roomKey("team")?.text
        #expect(key == Self.key + "x")
        #expect(try await supervisor.guests(of: "team", pass: bob.pass).guests.map(\.name) == ["Bob"])
        bench.write(text: "streams: {}\n")
        try await supervisor.reload()
        await bench.event(.removed, of: "team.2")
        #expect(await supervisor.rooms().isEmpty)
        await supervisor.end()
    }

    // MARK: Rooms that are made

    private func make(_ rooms: inout MadeRooms, _ new: NewRoom, at now: MonotonicTime) throws(ServiceFault) -> RoomDefinition {
        var team = RoomDefinition(name: "team", key: Secret(Self.key))
        (team.port, team.tcp, team.guests, team.addresses) = (8189, 8443, 3, ["192.0.2.1"])
        return try rooms.make(new, key: Secret("new key"), values: StreamValues(), configured: [team], at: now).definition
    }

    @Test func aMadeRoomEndsByItself() throws {
        var rooms = MadeRooms()
        let start = MonotonicTime(nanoseconds: 0)
        let plain = try make(&rooms, NewRoom(name: "b", seconds: 60), at: start)
        #expect(plain.guests == 8 && plain.key == Secret("new key") && plain.addresses.isEmpty && plain.tcp == nil)
        let like = try make(&rooms, NewRoom(name: "a", seconds: 61, like: "team"), at: start)
        #expect(like.key == Secret("new key") && like.guests == 3 && like.port == 0 && like.tcp == 0)
        #expect(like.name == "a" && like.addresses == ["192.0.2.1"])
        #expect(rooms.all.map(\.definition.name) == ["a", "b"])
        for (name, kind) in [("a", ServiceFault.Kind.exists), ("team", .exists), ("-", .invalid), ("a/b", .invalid)] {
            do throws(ServiceFault) {
                _ = try make(&rooms, NewRoom(name: name), at: start)
                Issue.record("\(name) was made")
            } catch {
                #expect(error.kind == kind)
            }
        }
        rooms.tidy(configured: [], at: start + .seconds(60))
        #expect(rooms.all.map(\.definition.name) == ["a"] && rooms.room("b") == nil)
        rooms.tidy(configured: [like], at: start + .seconds(60))
        #expect(rooms.all.isEmpty)
        for number in 0..<MadeRooms.most { _ = try make(&rooms, NewRoom(name: "r\(number)"), at: start) }
        #expect(throws: ServiceFault.self) { try make(&rooms, NewRoom(name: "one-more"), at: start) }
        #expect(rooms.end("r0") && !rooms.end("r0"))
        #expect(throws: Never.self) { try make(&rooms, NewRoom(name: "one-more"), at: start) }
    }

    @Test func guestsOfAMadeRoomGoWithIt() async throws {
        let bench = try SupervisorBench([], more: Self.more)
        let supervisor = bench.supervisor
        await supervisor.start()
        let made = try await supervisor.makeRoom(NewRoom(name: "new", seconds: 600, like: "team"))
        #expect(made.seats == 2 && made.secondsLeft == 600 && made.guests.isEmpty)
        let (key, other) = (await supervisor.roomKey("new"), await supervisor.roomKey("team"))
        #expect(key?.text.utf8.count == 64 && key != other)
        let ann = try await supervisor.enter(Self.link("a") { $0.room = "new" }, as: "Ann")
        #expect(ann.guest.stream == "new.1")
        #expect(try await supervisor.stream("new.1").settings["tier"] == "base")
        let names = await supervisor.rooms().map(\.name)
        #expect(names == ["team", "new"])
        try await supervisor.endRoom("new")
        await bench.event(.removed, of: "new.1")
        let out = await fault { () throws(ServiceFault) in _ = try await supervisor.guests(of: "new", pass: ann.pass) }
        #expect(out?.kind == .notFound)
        let configured = await fault { () throws(ServiceFault) in try await supervisor.endRoom("team") }
        #expect(configured?.kind == .refused)
        await supervisor.end()
    }

    private func fault(_ body: () async throws(ServiceFault) -> Void) async -> ServiceFault? {
        do throws(ServiceFault) {
            try await body()
            return nil
        } catch {
            return error
        }
    }
}
