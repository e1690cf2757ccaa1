import Control
import Media
import Testing
import WorkerProtocol

@testable import Web

/// WHIP and WHEP over HTTP. Who answers the offers is made up.
@Suite(.timeLimit(.minutes(10))) struct CallTests {
    static let offer = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=ice-ufrag:abcd\r\n"
    static let sdp = bearer.merging(["Content-Type": "application/sdp"]) { $1 }

    private static func fragment(tag: String?, _ token: [String: String] = bearer) -> [String: String] {
        var headers = token.merging(["Content-Type": "application/trickle-ice-sdpfrag"]) { $1 }
        headers["If-Match"] = tag
        return headers
    }

    /// As coturn checks it.
    @Test func peersGetALoginForTURN() async throws {
        let configure: (inout WebConfiguration) -> Void = {
            ($0.iceServers, $0.turnSecret) = (["turn:192.0.2.1:3478?transport=tcp"], "a-secret-of-the-server")
        }
        try await serving(configure: configure) { client async throws in
            let link = try #require(
                try await client.send("POST", "/whep/studio", headers: Self.sdp, body: Self.offer).headers["link"])
            let parts = link.split(separator: "\"", omittingEmptySubsequences: false)
            #expect(
                parts.count == 9 && parts[8].isEmpty && parts[0] == "<turn:192.0.2.1:3478?transport=tcp>; rel="
                    && parts[1] == "ice-server")
            #expect(parts[2] == "; username=" && parts[3].hasSuffix(":burnish"))
            #expect(parts[4] == "; credential=" && parts[5].count == 28 && parts[6] == "; credential-type=")
        }
    }

    @Test(arguments: CallSide.allCases) func aCallBeginsAndEnds(side: CallSide) async throws {
        let path = side == .publish ? "/whip/studio" : "/whep/studio"
        try await serving(configure: { $0.iceServers = ["turn:192.0.2.2:3478", "stun:192.0.2.1"] }) { client async throws in
            let answer = try await client.send("POST", path, headers: Self.sdp, body: Self.offer)
            #expect(answer.status == 201 && answer.text == "v=0\r\ns=\(side)\r\n")
            #expect(answer.headers["content-type"] == "application/sdp")
            #expect(answer.headers["accept-patch"] == "application/trickle-ice-sdpfrag")
            // The client keeps the last header of a name.
            #expect(answer.headers["link"] == "<stun:192.0.2.1>; rel=\"ice-server\"")
            let call = try #require(answer.headers["location"])
            let tag = try #require(answer.headers["etag"])
            #expect(call.hasPrefix(path + "/") && call.utf8.count == path.utf8.count + 33)

            let candidates =
                "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\nm=video 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n"
            let told = try await client.send("PATCH", call, headers: Self.fragment(tag: tag), body: candidates)
            #expect(told.status == 204)
            let end = "a=end-of-candidates\r\n"
            #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: tag), body: end).status == 204)
            #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: nil), body: end).status == 428)
            #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: "\"other\""), body: end).status == 412)
            // A restart needs both names.
            for (tag, body) in [("*", "a=ice-ufrag:efgh\r\n"), (tag, "a=ice-ufrag:efgh\r\n"), ("*", end)] {
                let restart = try await client.send("PATCH", call, headers: Self.fragment(tag: tag), body: body)
                #expect(restart.status == 422 && restart.text.contains("restart"))
            }
            // RFC 9725's own examples put the asterisk between quotes.
            var newest = tag
            for (number, wanted) in ["*", "\"*\"", nil].enumerated() {
                let body = "a=ice-ufrag:new\(number)\r\na=ice-pwd:0123456789012345678901\r\n"
                let restart = try await client.send("PATCH", call, headers: Self.fragment(tag: wanted ?? newest), body: body)
                #expect(restart.status == 200 && restart.headers["content-type"] == "application/trickle-ice-sdpfrag")
                #expect(restart.text == "a=ice-ufrag:ours\(number + 1)\r\na=ice-pwd:22\r\n")
                #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: newest), body: end).status == 412)
                newest = try #require(restart.headers["etag"])
                #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: newest), body: end).status == 204)
            }
            for names in ["a=ice-ufrag:b\r\na=ice-pwd:0123456789012345678901", "a=ice-ufrag:bcde\r\na=ice-pwd:short"] {
                #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: "*"), body: names).status == 400)
            }
            #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: tag), body: "a=mid:0\r\n").status == 400)

            #expect(try await client.get(call, headers: bearer).status == 405)
            #expect(
                try await client.send("DELETE", path + "/" + String(repeating: "1", count: 32), headers: bearer).status == 404)
            #expect(try await client.send("DELETE", call, headers: bearer).status == 200)
            #expect(try await client.send("DELETE", call, headers: bearer).status == 404)
            #expect(try await client.send("PATCH", call, headers: Self.fragment(tag: tag), body: end).status == 404)
        }
    }

    @Test(arguments: [
        ("malformed", 400), ("unacceptable", 406), ("exists", 409), ("noRoom", 503), ("unavailable", 503),
    ])
    func refusalsHaveTheirStatus(word: String, status: Int) async throws {
        try await serving { client async throws in
            let body = Self.offer + "a=refuse:\(word)\r\n"
            let answer = try await client.send("POST", "/whip/studio", headers: Self.sdp, body: body)
            #expect(answer.status == status && answer.headers["content-type"] == "application/problem+json")
            // Whoever publishes may be gone in a second.
            #expect(answer.headers["retry-after"] == (status == 503 || status == 409 ? "1" : nil))
        }
    }

    /// The place of somebody who publishes is taken over on request alone, and nobody takes over a viewer's.
    @Test func aPlaceIsTakenOverOnRequest() async throws {
        try await serving { client async throws in
            func answer(_ path: String) async throws -> (status: Int, name: String) {
                let answer = try await client.send("POST", path, headers: Self.sdp, body: Self.offer)
                return (answer.status, answer.text.split(separator: "\r\n").last.map(String.init) ?? "")
            }
            #expect(try await answer("/whip/studio") == (201, "s=publish"))
            #expect(try await answer("/whip/studio?takeover=false") == (201, "s=publish"))
            #expect(try await answer("/whip/studio?takeover=true") == (201, "s=publish, taken over"))
            for path in ["/whip/studio?takeover=1", "/whip/studio?takeover", "/whep/studio?takeover=true"] {
                #expect(try await answer(path).status == 400, "\(path)")
            }
        }
    }

    @Test func whatIsNoOfferIsRefused() async throws {
        try await serving { client async throws in
            func status(_ body: String, _ type: String = "application/sdp") async throws -> Int {
                let headers = bearer.merging(["Content-Type": type]) { $1 }
                return try await client.send("POST", "/whip/studio", headers: headers, body: body).status
            }
            #expect(try await status(Self.offer) == 201)
            #expect(try await status(Self.offer.replacing("\r\n", with: "\n")) == 201)
            #expect(try await status(Self.offer, "application/sdp; charset=utf-8") == 201)
            for type in ["application/json", "text/plain", "", "application/trickle-ice-sdpfrag"] {
                #expect(try await status(Self.offer, type) == 415, "\(type)")
            }
            for body in [
                "", "v=0", "hello", "{}", Self.offer.replacing("m=", with: "n="), Self.offer.replacing("ufrag", with: "x"),
                Self.offer.replacing("abcd", with: "ab"), Self.offer + "a=\u{0}\r\n",
                Self.offer + String(repeating: "a=x\r\n", count: 2001),
            ] {
                #expect(try await status(body) == 400, "\(body.prefix(60))")
            }
            let long = Self.offer + String(repeating: "a=fmtp:96 " + String(repeating: "x", count: 100) + "\r\n", count: 300)
            #expect(try await status(long) == 413)
            #expect(try await status(String(repeating: long, count: 3)) == 413)
        }
    }

    /// Who has no access learns nothing: not which streams there are, and not what is wrong with the offer.
    @Test func everyTokenOpensItsOwnDoor() async throws {
        try await serving(configure: { $0.names = ["relay.example"] }) { client async throws in
            func status(_ path: String, _ token: String?, _ method: String = "POST") async throws -> Int {
                var headers = ["Content-Type": "application/sdp"]
                if let token { headers["Authorization"] = "Bearer \(token)" }
                return try await client.send(method, path, headers: headers, body: Self.offer).status
            }
            let withoutAccess = [nil, "wrong", FakeService.publishToken + "x"]
            for path in ["/whip/studio", "/whep/studio", "/whip/locked", "/whep/locked", "/whip/none", "/whep/none"] {
                var texts: Set<String> = []
                for token in withoutAccess {
                    #expect(try await status(path, token) == 401, "\(path)")
                    #expect(try await status(path + "/" + String(repeating: "0", count: 32), token, "DELETE") == 401)
                    var headers = ["Content-Type": "text/plain"]
                    if let token { headers["Authorization"] = "Bearer \(token)" }
                    texts.insert(try await client.send("POST", path, headers: headers, body: "x").text)
                }
                #expect(texts.count == 1)
            }
            #expect(try await status("/whip/locked", FakeService.publishToken) == 201)
            #expect(try await status("/whep/locked", FakeService.playToken) == 201)
            #expect(try await status("/whip/locked", FakeService.playToken) == 401)
            #expect(try await status("/whep/locked", FakeService.publishToken) == 401)
            #expect(try await status("/whip/studio", FakeService.publishToken) == 401)
            for path in ["/whip/studio", "/whep/studio", "/whip/locked", "/whep/locked"] {
                #expect(try await status(path, testToken) == 201)
            }
            #expect(try await status("/whip/none", testToken) == 404)
        }
    }

    /// On loopback whoever is there may watch, as they may see the streams. A stream's own token counts all the same.
    @Test func onLoopbackWatchingIsOpen() async throws {
        try await serving { client async throws in
            let headers = ["Content-Type": "application/sdp"]
            #expect(try await client.send("POST", "/whep/studio", headers: headers, body: Self.offer).status == 201)
            #expect(try await client.send("POST", "/whip/studio", headers: headers, body: Self.offer).status == 401)
            #expect(try await client.send("POST", "/whep/locked", headers: headers, body: Self.offer).status == 401)
        }
    }

    /// A viewer tells of its own call, by the id that only it knows, and a publisher of none.
    @Test func aViewerTellsItsOwnFreezes() async throws {
        let service = FakeService()
        try await serving(service) { client async throws in
            let headers = ["Content-Type": "application/sdp"]
            let call = try #require(
                try await client.send("POST", "/whep/studio", headers: headers, body: Self.offer).headers["location"])
            let (id, place, told) = (String(call.suffix(32)), call + "/freezes", #"{"freezes":7}"#)
            #expect(try await client.send("PUT", place, body: #"{"freezes":2}"#).status == 204)
            #expect(service.state.withLock { $0.freezes } == [id: 2])
            #expect(try await client.send("PUT", place, body: #"{"freezes":5}"#).status == 204)
            let refused: [(path: String, body: String, status: Int)] = [
                (call, told, 405), ("/whep/studio/\(id.dropLast())9/freezes", told, 404),
                ("/whep/locked/\(id)/freezes", told, 401),
                ("/whip/studio/\(id)/freezes", told, 404), (place, #"{"freezes":"7"}"#, 422),
                (place, #"{"freezes":7,"loss":0}"#, 422), (place, "{}", 422), (place, "7", 422), (place + "?x", told, 400),
            ]
            for (path, body, status) in refused {
                #expect(try await client.send("PUT", path, body: body).status == status, "\(path) \(body)")
            }
            let foreign = ["Origin": "https://evil.example"]
            #expect(try await client.send("PUT", place, headers: foreign, body: told).status == 403)
            #expect(service.state.withLock { $0.freezes } == [id: 5])
            #expect(try await client.send("DELETE", call).status == 200)
            #expect(try await client.send("PUT", place, body: told).status == 404)
        }
    }

    @Test func aViewerChoosesTheLayerOfTheirOwnCall() async throws {
        let service = FakeService()
        try await serving(service) { client async throws in
            let headers = ["Content-Type": "application/sdp"]
            let call = try #require(
                try await client.send("POST", "/whep/studio", headers: headers, body: Self.offer).headers["location"])
            let id = String(call.suffix(32))
            for (word, layer) in [("sent", .sent), ("enhanced", .enhanced), ("sound", .sound), ("auto", nil)]
                as [(String, ViewerLayer?)]
            {
                #expect(try await client.send("PUT", call + "/layer", body: #"{"layer":"\#(word)"}"#).status == 204)
                #expect(service.state.withLock { $0.layers } == [id: layer])
            }
            for (path, status) in [("/whep/locked/\(id)/layer", 401), ("/whip/studio/\(id)/layer", 404)] {
                #expect(try await client.send("PUT", path, body: #"{"layer":"sent"}"#).status == status, "\(path)")
            }
            #expect(service.state.withLock { $0.layers } == [id: nil])
        }
    }

    @Test func otherSitesAskFirst() async throws {
        try await serving(configure: { $0.origins = ["https://studio.example"] }) { client async throws in
            let origin = ["Origin": "https://studio.example", "Sec-Fetch-Site": "cross-site"]
            for path in ["/whip/studio", "/whip/none"] {
                let asked = try await client.send("OPTIONS", path, headers: origin)
                #expect(asked.status == 204 && asked.headers["accept-post"] == "application/sdp")
                #expect(asked.headers["access-control-allow-origin"] == "https://studio.example")
                #expect(asked.headers["access-control-allow-methods"] == "POST")
                #expect(asked.headers["access-control-allow-headers"]?.contains("If-Match") == true)
            }
            let call = try await client.send("OPTIONS", "/whip/studio/0", headers: origin)
            #expect(call.headers["access-control-allow-methods"] == "DELETE, PATCH")
            #expect(call.headers["accept-patch"] == "application/trickle-ice-sdpfrag")
            let begun = try await client.send(
                "POST", "/whip/studio", headers: Self.sdp.merging(origin) { $1 }, body: Self.offer)
            #expect(begun.status == 201)
            #expect(begun.headers["access-control-expose-headers"]?.contains("Location") == true)
            let otherOrigin = ["Origin": "https://evil.example"]
            let refused = try await client.send("OPTIONS", "/whip/studio", headers: otherOrigin)
            #expect(refused.headers["access-control-allow-origin"] == nil)
            let sent = try await client.send(
                "POST", "/whip/studio", headers: Self.sdp.merging(otherOrigin) { $1 }, body: Self.offer)
            #expect(sent.status == 403)
        }
    }

    @Test func linesMayEndInSpaces() throws {
        let text = " \r\nv=0 \r\nm=video 9 UDP/TLS/RTP/SAVPF 96\t\r\na=ice-ufrag:abcd  \r\n \r\n"
        #expect(try SessionText.userFragment(of: text).get() == "abcd")
        #expect(try TrickleFragment("a=ice-ufrag:abcd \r\na=end-of-candidates \r\n\t").isEnd)
    }

    /// Nearly a fragment, or nearly an offer: read or refused, never a crash, and nothing of it in the answer.
    @Test func noTextCrashes() {
        let pieces = [
            "a=ice-ufrag:abcd", "a=ice-ufrag:", "a=ice-pwd:", "a=candidate:", "a=end-of-candidates", "m=video 9", "m=", "v=0",
            "=",
            "a", "\r\n", "\n", "\r", "\u{0}", "\u{301}", "🎥", "\u{2028}", " ", "\t", String(repeating: "x", count: 2000),
        ]
        var random = SplitMix64(seed: 7)
        for _ in 0..<5000 {
            var text = (0..<Int(random.next() % 14)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
            if random.next() % 3 == 0 { text = "v=0\r\n" + text }
            if case .failure(let problem) = SessionText.userFragment(of: text) { #expect(!problem.text.contains("xx")) }
            do throws(Problem) {
                let fragment = try TrickleFragment(text)
                #expect(fragment.candidates > 0 || fragment.isEnd || fragment.userFragment != nil)
            } catch {
                #expect(error.kind == .badRequest && !error.text.contains("\n") && !error.text.contains("xx"))
            }
        }
    }
}
