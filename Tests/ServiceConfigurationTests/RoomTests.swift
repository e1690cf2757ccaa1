import Endpoint
import Settings
import Testing

@testable import ServiceConfiguration

/// `rooms:` of the configuration.
@Suite struct RoomTests {
    private static let key = "0123456789abcdef0123456789abcdef"

    @Test func aRoomIsRead() throws {
        let text = """
            defaults: {budget: 120ms}
            rooms:
              team:
                key-file: team.key
                guests: 3
                port: 8189
                tcp: 8443
                address: [203.0.113.5, "2001:db8::1"]
                tier: base
              plain: {key: \(Self.key)}
            """
        let configuration = try ServiceConfiguration(text, environment: environment(["/etc/burnish/team.key": Self.key + "\n"]))
        let room = try #require(configuration.rooms.first)
        #expect(configuration.rooms.map(\.name) == ["team", "plain"] && configuration.streams.isEmpty)
        #expect(
            room.key == Secret(Self.key) && room.guests == 3 && room.port == 8189 && room.tcp == 8443
                && room.addresses.count == 2)
        let stream = try room.definition(3)
        #expect(
            stream.name == "team.3" && stream.values.allTexts["tier"] == "base" && stream.values.allTexts["budget"] == "120ms")
        let query = "?address=203.0.113.5&address=2001:db8::1&port=8191&tcp=8445"
        #expect(stream.input.textWithSecrets == "whip:team.3" + query)
        #expect(stream.outputs.map(\.textWithSecrets) == ["whep:team.3" + query])
        let plain = configuration.rooms[1]
        #expect(plain.guests == 8 && (try? plain.definition(8).input.description) == "whip:plain.8")
        #expect(!"\(configuration)".contains(Self.key))
    }

    @Test(arguments: [
        ("{}", "key-file: is missing"), ("{key: short}", "32 to 256"), ("{key: K, key-file: x}", "given beside key"),
        ("{key: K, guests: 0}", "guests: is 1 to 64"), ("{key: K, guests: 65}", "guests: is 1 to 64"),
        ("{key: K, guests: [1]}", "one value"), ("{key: K, port: 65530, guests: 8}", "port: is 0 to 65535"),
        ("{key: K, tcp: 65530, guests: 8}", "tcp: is 0 to 65535"), ("{key: K, tcp: 9000}", "listens on TCP port 9001"),
        ("{key: K, address: relay.example}", "address: is an IP address"),
        ("{key: K, address: [1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4, 1.1.1.5]}", "at most 4"),
        ("{key: K, input: 'whip:x'}", "is no key here"), ("{key: K, tiers: base}", "did you mean tier"),
        ("{key: K, tier: none}", "tier"), ("{key: K, codec: hevc}", "rooms: viewers of calls take H.264"),
        ("{key: K, port: 9000}", "listens on port 9001"), ("[1]", "is a section"),
    ])
    func whatIsWrongIsSaid(room: String, words: String) {
        let text = """
            rooms: {team: \(room.replacing("K,", with: Self.key + ",").replacing("K}", with: Self.key + "}"))}
            streams: {cam: {input: 'whip:cam?port=9001&tcp=9001', output: 'whep:cam'}}
            """
        let found = faults(text)
        #expect(found.count == 1 && found[0].contains(words), "\(found)")
    }

    @Test func namesAreTheirOwn() {
        #expect(faults("rooms: {-x: {key: \(Self.key)}}").first?.contains("no name for a room") == true)
        let long = String(repeating: "x", count: 49)
        #expect(faults("rooms: {\(long): {key: \(Self.key)}}").first?.contains("no name for a room") == true)
        let both = "rooms: {a: {key: \(Self.key)}}\nstreams: {a.2: {input: 'whip:b', output: 'whep:b'}}"
        #expect(faults(both).first?.contains("a.2") == true)
    }

    /// Each seat is compared with those alone that could be in its way: a thousand rooms took twenty seconds to read.
    @Test func aThousandRoomsAreRead() throws {
        let names = (0..<1000).map { "r\($0)" }
        let text = "rooms:\n" + names.map { "  \($0): {key: \(Self.key)}\n" }.joined()
        #expect(faults(text).isEmpty)
        var conflicts = PortConflicts()
        for name in names {
            var room = RoomDefinition(name: name, key: Secret(Self.key))
            room.tcp = 0
            for seat in 1...room.guests {
                #expect(conflicts.add(try room.definition(seat), inputLine: 1, outputLine: 1).isEmpty)
            }
        }
        #expect(conflicts.comparisons == 8000)
        var late = RoomDefinition(name: "r999", key: Secret(Self.key))
        late.guests = 1
        #expect(conflicts.add(try late.definition(1), inputLine: 1, outputLine: 1).count == 2)
    }
}
