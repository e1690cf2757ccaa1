import QRCodes
import Testing

@testable import Web

/// The page's HTTPS address, and its QR code.
@Suite(.timeLimit(.minutes(10))) struct QRCodeTests {
    /// `qrencode -l M -8 -m 0 -t ASCII https://relay.example/`, a character for each square. zbarimg has read it.
    private static let golden = """
        #######.####..#...#######
        #.....#....#..#.#.#.....#
        #.###.#.##.#.#.##.#.###.#
        #.###.#..#.#.##...#.###.#
        #.###.#..###.#....#.###.#
        #.....#.#.#.#.....#.....#
        #######.#.#.#.#.#.#######
        ..........###............
        #.#...##...##......#..#.#
        ..####.####.##.##.##.#.##
        #.#...#...##.#.#..##.##.#
        .####...###.#...##...#...
        ......#..#.....##.#.....#
        .#..#...#.#....##.##...##
        ###..##..#.#.#.##....##.#
        ....#..#.##...###..###...
        ########...##.#.#####..#.
        ........#...##..#...#...#
        #######.#.#.#...#.#.#...#
        #.....#..####.#.#...#...#
        #.###.#..#...########...#
        #.###.#...#..#.#.#..#.##.
        #.###.#.#..#...#.#.###.##
        #.....#...#..#.##..##....
        #######.#..###..#.#..#..#
        """

    /// The rows of an SVG's picture, by its one path.
    private static func rows(_ svg: String) throws -> [String] {
        let side = try #require(svg.firstMatch(of: /viewBox="0 0 (\d+) \d+"/).flatMap { Int($0.1) })
        #expect(
            svg.split(separator: "<path ").count == 2
                && svg.contains("<rect width=\"\(side)\" height=\"\(side)\" fill=\"#fff\"/>"))
        var rows = [[Character]](repeating: [Character](repeating: ".", count: side), count: side)
        for run in svg.matches(of: /M(\d+) (\d+)h(\d+)v1h-(\d+)z/) {
            let (column, row, length) = (try #require(Int(run.1)), try #require(Int(run.2)), try #require(Int(run.3)))
            #expect(run.3 == run.4)
            for place in column..<column + length { rows[row][place] = "#" }
        }
        return rows.map { String($0) }
    }

    private static func golden(quietZone: Int) -> [String] {
        let rows = golden.split(separator: "\n").map(String.init)
        let light = [String](repeating: String(repeating: ".", count: rows.count + 2 * quietZone), count: quietZone)
        let margin = String(repeating: ".", count: quietZone)
        return light + rows.map { margin + $0 + margin } + light
    }

    @Test func aCodeHasTheSquaresOfItsText() throws {
        let code = try #require(QRCode("https://relay.example/"))
        let rows = (0..<code.size).map { row in String((0..<code.size).map { code.isDark($0, row) ? "#" : "." as Character }) }
        #expect(rows == Self.golden(quietZone: 0))
        #expect(try Self.rows(code.svg) == Self.golden(quietZone: 4))
        #expect(QRCode("https://relay.example/#") != code)
    }

    @Test func onlyWhatFitsHasACode() {
        #expect(QRCode("") == nil)
        #expect(QRCode("a")?.size == 21)
        #expect(QRCode(String(repeating: "a", count: QRCode.mostBytes))?.size == 177)
        #expect(QRCode(String(repeating: "a", count: QRCode.mostBytes + 1)) == nil)
        #expect(QRCode("\u{0}") != nil)
    }

    @Test(arguments: [
        ("relay.example:8443", "https://relay.example:8443/"), ("relay.example", "https://relay.example/"),
        ("relay.example:443", "https://relay.example/"), ("[2001:db8::1]:8443", "https://[2001:db8::1]:8443/"),
        ("[2001:db8::1]", "https://[2001:db8::1]/"), ("192.0.2.1:8443", "https://192.0.2.1:8443/"),
        // Elsewhere these are other machines: the first public name stands for them.
        ("localhost:8443", "https://public.example:8443/"), ("127.0.0.1", "https://public.example/"),
        ("[::1]:8443", "https://public.example:8443/"),
    ])
    func thePageHasAnAddressForOthers(authority: String, expected: String) {
        var configuration = WebConfiguration()
        configuration.host = "0.0.0.0"
        configuration.names = ["localhost", "public.example", "relay.example"]
        var reach = StreamAddress.Reach(authority: authority, usesTLS: true, publishersNeedToken: true, viewersNeedToken: true)
        #expect(PageAnswers.address(reach, configuration) == expected)
        let own = expected.contains("public") ? nil : expected
        // Nobody else comes where the service listens.
        configuration.host = "127.0.0.1"
        #expect(PageAnswers.address(reach, configuration) == own)
        configuration.host = "0.0.0.0"
        configuration.names = ["localhost"]
        #expect(PageAnswers.address(reach, configuration) == own)
        reach.usesTLS = false
        #expect(PageAnswers.address(reach, configuration) == nil)
    }

    /// Behind a web server that has the certificate.
    private static let secure = bearer.merging(["Host": "relay.example", "X-Forwarded-Proto": "https"]) { $1 }

    @Test func theInterfaceGivesTheCodeOfItsAddress() async throws {
        try await serving(configure: { $0.names = ["relay.example"] }) { client async throws in
            #expect(
                try await client.get("/api/v1/session", headers: Self.secure).json["pageAddress"] as? String
                    == "https://relay.example/")
            let answer = try await client.get("/api/v1/qr", headers: Self.secure)
            #expect(answer.status == 200 && answer.headers["content-type"] == "image/svg+xml")
            #expect(answer.headers["cache-control"] == "private, max-age=300")
            #expect(try Self.rows(answer.text) == Self.golden(quietZone: 4))
            let tag = try #require(answer.headers["etag"])
            let again = try await client.get("/api/v1/qr", headers: Self.secure.merging(["If-None-Match": tag]) { $1 })
            #expect(again.status == 304)
            // With a stream it is another one.
            let stream = try await client.get("/api/v1/qr?stream=cam1", headers: Self.secure)
            #expect(stream.status == 200 && stream.text == QRCode("https://relay.example/#cam1")?.svg)
            #expect(try await client.get("/api/v1/qr?stream=none", headers: Self.secure).status == 404)
        }
    }

    @Test func withoutHTTPSThereIsNoCode() async throws {
        try await serving(configure: { $0.names = ["relay.example"] }) { client async throws in
            let plain = bearer.merging(["Host": "relay.example"]) { $1 }
            let answer = try await client.get("/api/v1/qr", headers: plain)
            #expect(answer.status == 404 && answer.headers["content-type"] == "application/problem+json")
            #expect(
                (answer.json["detail"] as? String)?.hasPrefix("the page has no HTTPS address that other machines reach") == true
            )
            #expect(try await client.get("/api/v1/session", headers: plain).json["pageAddress"] is String == false)
            // A name that is not the service's own gets nothing that contains it.
            let foreign = try await client.get("/api/v1/qr", headers: Self.secure.merging(["Host": "evil.example"]) { $1 })
            #expect(foreign.status == 421)
        }
        // By HTTPS, but only for this machine.
        try await serving { client async throws in
            #expect(try await client.get("/api/v1/qr", headers: ["X-Forwarded-Proto": "https"]).status == 404)
        }
    }
}
