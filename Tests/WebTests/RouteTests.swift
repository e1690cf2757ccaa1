import Control
import Foundation
import RoomLinks
import HTTPTypes
import Media
import Telemetry
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(10))) struct RouteTests {
    /// A request for each route with the status that it should get.
    static let requests: [(route: String, method: String, path: String, body: String?, status: Int)] = [
        ("live", "GET", "/livez", nil, 200), ("ready", "GET", "/readyz", nil, 200),
        ("ready", "GET", "/readyz?verbose", nil, 200),
        ("metrics", "GET", "/metrics", nil, 200), ("getHealth", "GET", "/api/v1/health", nil, 200),
        ("listStreams", "GET", "/api/v1/streams", nil, 200), ("getStream", "GET", "/api/v1/streams/cam1", nil, 200),
        ("getStream", "GET", "/api/v1/streams/none", nil, 404), ("getStream", "GET", "/api/v1/streams/c%61m1", nil, 200),
        ("listCallers", "GET", "/api/v1/streams/cam1/callers", nil, 200),
        ("getStatistics", "GET", "/api/v1/streams/cam1/statistics", nil, 200),
        ("getStatistics", "GET", "/api/v1/streams/cam1/statistics?seconds=1.5", nil, 200),
        ("getStatistics", "GET", "/api/v1/streams/cam1/statistics?seconds=0", nil, 400),
        ("getStatistics", "GET", "/api/v1/streams/cam1/statistics?seconds=1&seconds=2", nil, 400),
        ("getHistory", "GET", "/api/v1/streams/cam1/history", nil, 200),
        ("getHistory", "GET", "/api/v1/streams/cam1/history?seconds=60", nil, 200),
        ("getHistory", "GET", "/api/v1/streams/cam1/history?seconds=3601", nil, 400),
        ("getHistory", "GET", "/api/v1/streams/none/history", nil, 404),
        ("getRecords", "GET", "/api/v1/streams/cam1/records?format=json&seconds=1", nil, 200),
        ("getRecords", "GET", "/api/v1/streams/cam1/records?format=xml", nil, 400),
        ("getTrace", "GET", "/api/v1/streams/cam1/trace?seconds=1", nil, 200),
        ("getTrace", "GET", "/api/v1/streams/none/trace", nil, 404),
        ("getRecords", "GET", "/api/v1/streams/cam1/records?colour=red", nil, 400),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?width=320", nil, 200),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?width=1", nil, 400),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/beside", nil, 404),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/before?at=-2s", nil, 200),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?frame=48&format=png&quality=fast", nil, 200),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?rtp=4294967295", nil, 200),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?rtp=4294967296", nil, 400),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?rtp=0", nil, 503),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?frame=-1", nil, 400),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?frame=4711", nil, 404),
        ("getPicture", "GET", "/api/v1/streams/none/picture/after?frame=48", nil, 404),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?at=10s", nil, 409),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?at=yesterday", nil, 422),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?at=--2s", nil, 422),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?at=-2s&frame=48", nil, 422),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?at=-2s&quality=best", nil, 409),
        ("getPicture", "GET", "/api/v1/streams/cam1/picture/after?format=png", nil, 422),
        ("getBestPicture", "GET", "/api/v1/streams/cam1/picture/best", nil, 200),
        ("getBestPicture", "GET", "/api/v1/streams/cam1/picture/best?seconds=600&side=before&format=png&width=320", nil, 200),
        ("getBestPicture", "GET", "/api/v1/streams/cam1/picture/best?seconds=1", nil, 404),
        ("getBestPicture", "GET", "/api/v1/streams/none/picture/best", nil, 404),
        ("getBestPicture", "GET", "/api/v1/streams/cam1/picture/best?seconds=0", nil, 400),
        ("getBestPicture", "GET", "/api/v1/streams/cam1/picture/best?side=beside", nil, 400),
        ("getBestPicture", "GET", "/api/v1/streams/cam1/picture/best?at=-2s", nil, 400),
        ("makeStill", "POST", "/api/v1/streams/cam1/stills", #"{"at":"-1.2s","side":"before"}"#, 202),
        ("makeStill", "POST", "/api/v1/streams/cam1/stills", #"{"frame":48,"format":"png"}"#, 202),
        ("makeStill", "POST", "/api/v1/streams/cam1/stills", #"{"rtp":4294967296}"#, 422),
        ("makeStill", "POST", "/api/v1/streams/cam1/stills", #"{"at":"-1.2s","frame":48}"#, 422),
        ("makeStill", "POST", "/api/v1/streams/cam1/stills", "{}", 422),
        ("makeStill", "POST", "/api/v1/streams/cam1/stills", #"{"at":"soon"}"#, 422),
        ("makeStill", "POST", "/api/v1/streams/cam1/stills", #"{"at":"-2s","quality":"best"}"#, 202),
        ("getStill", "GET", "/api/v1/streams/cam1/stills/7?wait=5s", nil, 200),
        ("getStill", "GET", "/api/v1/streams/cam1/stills/7?wait=61s", nil, 422),
        ("listDeferred", "GET", "/api/v1/streams/cam1/deferred", nil, 200),
        ("listDeferred", "GET", "/api/v1/streams/nobody/deferred", nil, 404),
        ("getReadiness", "GET", "/api/v1/streams/cam1/readiness", nil, 200),
        ("getStill", "GET", "/api/v1/streams/cam1/stills/7", nil, 200),
        ("getStill", "GET", "/api/v1/streams/cam1/stills/8", nil, 404),
        ("getStill", "GET", "/api/v1/streams/cam1/stills/..", nil, 404),
        ("makeClip", "POST", "/api/v1/streams/cam1/clips", #"{"from":"-20s","to":"5s","side":"after","quality":"sent"}"#, 202),
        ("makeClip", "POST", "/api/v1/streams/cam1/clips", #"{"from":"-20s","format":"ts"}"#, 202),
        ("makeClip", "POST", "/api/v1/streams/cam1/clips", #"{"from":"-20s","quality":"best"}"#, 202),
        ("makeClip", "POST", "/api/v1/streams/cam1/clips", #"{"from":"5s","to":"-20s"}"#, 409),
        ("makeClip", "POST", "/api/v1/streams/cam1/clips", #"{"from":"-20s","side":"before"}"#, 409),
        ("makeClip", "POST", "/api/v1/streams/cam1/clips", #"{"from":"-20"}"#, 422),
        ("makeClip", "POST", "/api/v1/streams/cam1/clips", #"{"from":"-20s","folder":"/etc"}"#, 422),
        ("getClip", "GET", "/api/v1/streams/cam1/clips/3", nil, 200),
        ("getClip", "GET", "/api/v1/streams/cam1/clips/4", nil, 404),
        ("getClipFile", "GET", "/api/v1/streams/cam1/clips/5/file", nil, 200),
        ("getClipFile", "GET", "/api/v1/streams/cam1/clips/3/file", nil, 404),
        ("getClipFile", "GET", "/api/v1/streams/cam1/clips/4/file", nil, 404),
        ("getClipFile", "GET", "/api/v1/streams/cam1/clips/6/file", nil, 409),
        (
            "changeStream", "PATCH", "/api/v1/streams/cam1",
            #"{"settings":{"overlay":"-2%+3%:size=8%:image=/srv/media/logo.png;+2%-2%:text=%H:%M:%S {stream} {latency}"}}"#, 200
        ),
        ("react", "POST", "/api/v1/streams/cam1/reactions", #"{"kind":"heart","x":0.5,"y":0.4,"seconds":3}"#, 202),
        ("react", "POST", "/api/v1/streams/cam1/reactions", #"{"kind":"thumbs-up","x":1}"#, 202),
        ("react", "POST", "/api/v1/streams/cam1/reactions", #"{"kind":"rain"}"#, 409),
        ("react", "POST", "/api/v1/streams/cam1/reactions", #"{"kind":"snow"}"#, 422),
        ("react", "POST", "/api/v1/streams/cam1/reactions", #"{"kind":"heart","seconds":60}"#, 422),
        ("react", "POST", "/api/v1/streams/none/reactions", #"{"kind":"heart"}"#, 404),
        ("listReactions", "GET", "/api/v1/streams/cam1/reactions", nil, 200),
        ("listReactions", "GET", "/api/v1/streams/none/reactions", nil, 404),
        (
            "addStream", "POST", "/api/v1/streams",
            #"{"name":"new","input":"srt://:1","output":"srt://:2","settings":{"sharpness":0.5}}"#, 201
        ),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"cam1","input":"srt://:1","output":"srt://:2"}"#, 409),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"fan","input":"srt://:1","outputs":["srt://:2","udp://h:3"]}"#, 201),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"fan2","input":"srt://:1","outputs":[]}"#, 422),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"fan2","input":"srt://:1","outputs":[7]}"#, 422),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"a/b","input":"srt://:1","output":"srt://:2"}"#, 422),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"../x","input":"srt://:1","output":"srt://:2"}"#, 422),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"..","input":"srt://:1","output":"srt://:2"}"#, 422),
        ("getStream", "GET", "/api/v1/streams/%2E%2E%2Fx", nil, 404), ("getStream", "GET", "/api/v1/streams/..%2Fx", nil, 404),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"new2","input":"srt://:1","output":7}"#, 422),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"new2","input":"file:///etc/passwd","output":"srt://:2"}"#, 422),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"new2","input":"srt://:1","output":"srt://:2","colour":1}"#, 422),
        ("addStream", "POST", "/api/v1/streams", #"{"name":"#, 400), ("addStream", "POST", "/api/v1/streams", "[]", 422),
        ("changeStream", "PATCH", "/api/v1/streams/cam1", #"{"settings":{"sharpness":0.25,"tier":null}}"#, 200),
        ("changeStream", "PATCH", "/api/v1/streams/cam1?restart=true", #"{"settings":{"scale":1}}"#, 200),
        ("changeStream", "PATCH", "/api/v1/streams/cam1", #"{"settings":{"sharpness":7}}"#, 422),
        ("changeStream", "PATCH", "/api/v1/streams/cam1", #"{"settings":{"sharpness":{}}}"#, 422),
        ("changeStream", "PATCH", "/api/v1/streams/cam1", #"{"sharpness":0}"#, 422),
        ("changeStream", "PATCH", "/api/v1/streams/cam1", #"{"settings":{"colour":0}}"#, 422),
        ("changeStream", "PATCH", "/api/v1/streams/cam1", #"{"settings":{"budget":"1 fortnight"}}"#, 422),
        ("changeStream", "PATCH", "/api/v1/streams/cam1", #"{"settings":{"tier":"best"}}"#, 422),
        ("listSettings", "GET", "/api/v1/settings", nil, 200),
        ("restartStream", "POST", "/api/v1/streams/cam1/restart", nil, 204),
        ("stopStream", "POST", "/api/v1/streams/fan/stop", nil, 200),
        ("stopStream", "POST", "/api/v1/streams/none/stop", nil, 404),
        ("kickCaller", "DELETE", "/api/v1/streams/cam1/callers/7", nil, 204),
        ("kickCaller", "DELETE", "/api/v1/streams/cam1/callers/8", nil, 404),
        ("kickCaller", "DELETE", "/api/v1/streams/cam1/callers/seven", nil, 404),
        ("removeStream", "DELETE", "/api/v1/streams/cam2", nil, 204), ("reload", "POST", "/api/v1/reload", nil, 204),
        ("logIn", "POST", "/login", #"{"token":"\#(testToken)"}"#, 204), ("logIn", "POST", "/login", #"{"token":"x"}"#, 401),
        ("logOut", "POST", "/logout", nil, 204), ("getSession", "GET", "/api/v1/session", nil, 200),
        ("offerWhip", "POST", "/whip/studio", CallTests.offer, 201), ("offerWhip", "POST", "/whip/none", CallTests.offer, 404),
        ("offerWhip", "POST", "/whip/studio", "v=0", 400), ("offerWhep", "POST", "/whep/studio", CallTests.offer, 201),
        ("trickleWhip", "PATCH", "/whip/studio/\(String(repeating: "0", count: 32))", "a=end-of-candidates", 428),
        ("trickleWhep", "PATCH", "/whep/studio/0", "a=end-of-candidates", 404),
        ("tellFreezes", "PUT", "/whep/studio/\(String(repeating: "0", count: 31))1/freezes", #"{"freezes":3}"#, 204),
        ("tellFreezes", "PUT", "/whep/studio/0/freezes", #"{"freezes":3}"#, 404),
        ("tellFreezes", "PUT", "/whep/studio/0/freezes", #"{"freezes":-1}"#, 422),
        ("tellFreezes", "PUT", "/whep/studio/0/freezes", #"{"freezes":1e12}"#, 422),
        ("tellFreezes", "PUT", "/whep/none/0/freezes", #"{"freezes":3}"#, 404),
        ("chooseLayer", "PUT", "/whep/studio/\(String(repeating: "0", count: 31))1/layer", #"{"layer":"sent"}"#, 204),
        ("chooseLayer", "PUT", "/whep/studio/\(String(repeating: "0", count: 31))1/layer", #"{"layer":"auto"}"#, 204),
        ("chooseLayer", "PUT", "/whep/studio/0/layer", #"{"layer":"sent"}"#, 404),
        ("chooseLayer", "PUT", "/whep/studio/0/layer", #"{"layer":"best"}"#, 422),
        ("chooseLayer", "PUT", "/whep/studio/0/layer", "{}", 422),
        ("chooseLayer", "PUT", "/whep/none/0/layer", #"{"layer":"sent"}"#, 404),
        ("hangUpWhip", "DELETE", "/whip/studio/\(String(repeating: "0", count: 32))", nil, 200),
        ("hangUpWhep", "DELETE", "/whep/studio/0", nil, 404),
        ("listRooms", "GET", "/api/v1/rooms", nil, 200),
        ("makeRoom", "POST", "/api/v1/rooms", #"{"name":"new","guests":2,"seconds":60,"like":"team"}"#, 201),
        ("makeRoom", "POST", "/api/v1/rooms", #"{"name":"new"}"#, 409),
        ("makeRoom", "POST", "/api/v1/rooms", #"{"name":"team"}"#, 409),
        ("makeRoom", "POST", "/api/v1/rooms", #"{"name":"<script>"}"#, 422),
        ("makeRoom", "POST", "/api/v1/rooms", #"{"name":"other","like":"none"}"#, 422),
        ("makeRoom", "POST", "/api/v1/rooms", #"{"name":"other","guests":65}"#, 422),
        ("makeRoom", "POST", "/api/v1/rooms", #"{"name":"other","seconds":59}"#, 422),
        ("makeRoomLink", "POST", "/api/v1/rooms/new/links", "{}", 201),
        ("getRoom", "GET", "/api/v1/rooms/new", nil, 200), ("getRoom", "GET", "/api/v1/rooms/team", nil, 200),
        ("endRoom", "DELETE", "/api/v1/rooms/new", nil, 204), ("endRoom", "DELETE", "/api/v1/rooms/new", nil, 404),
        ("endRoom", "DELETE", "/api/v1/rooms/team", nil, 403), ("getRoom", "GET", "/api/v1/rooms/new", nil, 404),
        ("makeRoomLink", "POST", "/api/v1/rooms/team/links", #"{"name":"Ann","host":true,"seconds":60}"#, 201),
        ("makeRoomLink", "POST", "/api/v1/rooms/none/links", "{}", 404),
        ("makeRoomLink", "POST", "/api/v1/rooms/team/links", #"{"seconds":59}"#, 422),
        ("enterRoom", "POST", "/api/v1/rooms/team/guests", #"{"name":"Ann"}"#, 201),
        ("enterRoom", "POST", "/api/v1/rooms/none/guests", "{}", 404),
        ("enterRoom", "POST", "/api/v1/rooms/team/guests", "[]", 422),
        ("listGuests", "GET", "/api/v1/rooms/team/guests", nil, 200),
        ("leaveRoom", "DELETE", "/api/v1/rooms/team/guests/2", nil, 403),
        ("leaveRoom", "DELETE", "/api/v1/rooms/team/guests/x", nil, 404),
        ("leaveRoom", "DELETE", "/api/v1/rooms/team/guests/1", nil, 204),
        // Its success needs HTTPS (QRCodeTests).
        ("getQRCode", "GET", "/api/v1/qr", nil, 404), ("getQRCode", "GET", "/api/v1/qr?text=x", nil, 400),
        ("getOpenAPI", "GET", "/api/v1/openapi.json", nil, 200), ("page", "GET", "/", nil, 200),
    ]

    /// Every answer has a status, a media type and a form that the OpenAPI document knows.
    @Test func answersAreAsDocumented() async throws {
        try await serving { client async throws in
            let document = try JSONSerialization.jsonObject(with: Data(OpenAPI.document(Routes.all, Routes.schemas).bytes))
            let check = SchemaCheck(document: try #require(document as? [String: Any]))
            for request in Self.requests {
                let route = try #require(Routes.all.first { $0.id == request.route }, "\(request.route)")
                var headers = bearer
                if route.access == .guests {
                    let link = RoomLink(room: "team", expires: Date().timeIntervalSince1970 + 600)
                    let token = route.id == "enterRoom" ? link.token(key: FakeService.roomKey) : FakeService.firstPass
                    headers["Authorization"] = "Bearer \(token)"
                }
                headers["Content-Type"] = route.textType
                let answer = try await client.send(request.method, request.path, headers: headers, body: request.body)
                let name = "\(request.method) \(request.path) \(request.body ?? "")"
                #expect(answer.status == request.status, "\(name): \(answer.text)")
                let documented =
                    [route.success.status.code] + (route.nothing == nil ? [] : [204])
                    + OpenAPI.problems(of: route).map(\.status.code)
                #expect(documented.contains(answer.status), "\(name): \(answer.status) is not documented")
                guard let type = answer.headers["content-type"]?.prefix(while: { $0 != ";" }) else {
                    #expect(answer.body.isEmpty, "\(name) has a body without a type")
                    continue
                }
                let isProblem = answer.status >= 400 && type == "application/problem+json"
                let schema =
                    isProblem ? Problem.schema : route.success.content.first { $0.type == type }.flatMap(\.schema)
                #expect(isProblem || route.success.content.contains { $0.type == type }, "\(name): \(type)")
                guard let schema else { continue }
                let value = try JSONSerialization.jsonObject(with: Data(answer.body), options: .fragmentsAllowed)
                let form = try #require(
                    JSONSerialization.jsonObject(with: Data(schema.json.bytes)) as? [String: Any])
                #expect(check.faults(value, form) == [], "\(name)")
            }
        }
        let tested = Set(Self.requests.map(\.route))
        let left = Routes.all.map(\.id).filter { !tested.contains($0) && !$0.hasPrefix("page") && $0 != "followEvents" }
        #expect(left == [], "no request tests these routes")
    }

    @Test func theSchemaCheckSeesWhatIsWrong() {
        let schema = Schema.object("", ["a": .integer(0...9), "b": .nullable(.text())], optional: ["c": .list(.choice(["x"]))])
        let check = SchemaCheck(document: [:])
        func faults(_ text: String) -> Int {
            guard let value = try? JSONSerialization.jsonObject(with: Data(text.utf8)),
                let form = try? JSONSerialization.jsonObject(with: Data(schema.json.bytes)) as? [String: Any]
            else { return -1 }
            return check.faults(value, form).count
        }
        #expect(faults(#"{"a":1,"b":null}"#) == 0)
        #expect(faults(#"{"a":1,"b":"","c":["x"]}"#) == 0)
        for wrong in [
            #"{"a":1}"#, #"{"a":true,"b":null}"#, #"{"a":1.5,"b":null}"#, #"{"a":-1,"b":null}"#, #"{"a":1,"b":2}"#,
            #"{"a":1,"b":null,"c":["y"]}"#, #"{"a":1,"b":null,"d":0}"#, "[]",
        ] {
            #expect(faults(wrong) == 1, "\(wrong)")
        }
    }

    @Test func bodiesOfAnotherFormAreRefusedWithTheKey() {
        let form = Schema.object(
            "", ["name": .text(most: 3)],
            optional: [
                "n": .nullable(.either([.integer(1...2), .text(most: 2)])), "l": .list(.choice(["a"]), atLeast: 1),
                "m": .map(.bool),
            ])
        func key(_ text: String) -> String? {
            guard let json = JSON(Array(text.utf8)) else { return "no JSON" }
            return form.fault(in: json, named: [:]).map { $0.key ?? "whole" }
        }
        for good in [
            #"{"name":"abc"}"#, #"{"name":"","n":null,"l":["a"],"m":{"x":true}}"#, #"{"name":"","n":2}"#,
            #"{"name":"","n":"xy"}"#,
        ] {
            #expect(key(good) == nil, "\(good)")
        }
        for (bad, named) in [
            ("[]", "whole"), ("{}", "name"), (#"{"name":"abcd"}"#, "name"), (#"{"name":null}"#, "name"),
            (#"{"name":"","o":1}"#, "o"),
            (#"{"name":"","n":3}"#, "n"), (#"{"name":"","n":"xyz"}"#, "n"), (#"{"name":"","n":1.5}"#, "n"),
            (#"{"name":"","n":true}"#, "n"),
            (#"{"name":"","l":[]}"#, "l"), (#"{"name":"","l":["b"]}"#, "l"), (#"{"name":"","m":{"x":1}}"#, "x"),
        ] {
            #expect(key(bad) == named, "\(bad)")
        }
    }

    @Test func noTwoRoutesAreTheSame() {
        #expect(Set(Routes.all.map(\.id)).count == Routes.all.count)
        #expect(Set(Routes.all.map { "\($0.method) \($0.path)" }).count == Routes.all.count)
        for route in Routes.all {
            let names = route.parts.filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
            #expect(Set(names) == Set(route.parameters.filter { $0.place == .path }.map(\.name)), "\(route.id)")
        }
    }

    @Test func whatIsAddedReachesTheService() async throws {
        let service = FakeService(streams: [])
        try await serving(service) { client async throws in
            let answer = try await client.send(
                "POST", "/api/v1/streams", headers: bearer,
                body: #"{"name":"a.b","input":"srt://:1","output":"srt://:2","settings":{"scale":1,"tier":"base"}}"#)
            #expect(answer.status == 201)
            #expect(answer.headers["location"] == "/api/v1/streams/a.b")
            let stream = service.state.withLock { $0.streams["a.b"] }
            #expect(stream?.outputs == ["srt://:2"])
            #expect(stream?.settings == ["scale": "1", "tier": "base"])
            _ = try await client.send(
                "POST", "/api/v1/streams", headers: bearer,
                body: #"{"name":"fan","input":"srt://:1","outputs":["srt://:2","udp://h:3"]}"#)
            #expect(service.state.withLock { $0.streams["fan"]?.outputs } == ["srt://:2", "udp://h:3"])
            _ = try await client.send(
                "PATCH", "/api/v1/streams/a.b", headers: bearer, body: #"{"settings":{"scale":null,"sharpness":0.5}}"#)
            #expect(service.state.withLock { $0.streams["a.b"]?.settings } == ["sharpness": "0.5", "tier": "base"])
        }
    }

    @Test func otherMethodsAreRefusedWithThoseThatExist() async throws {
        try await serving { client async throws in
            let answer = try await client.send("PUT", "/api/v1/streams/cam1", headers: bearer)
            #expect(answer.status == 405)
            #expect(answer.headers["allow"] == "DELETE, GET, HEAD, PATCH")
            for method in ["TRACE", "OPTIONS", "CONNECT", "PROPFIND"] {
                #expect(try await client.send(method, "/livez").status == 405, "\(method)")
            }
            for path in ["/nothing", "/api/v1/streams/", "//", "/livez/", "/api/v1/streams/%zz", "/api/v1/streams/%ff"] {
                #expect(try await client.get(path).status == 404, "\(path)")
            }
        }
    }

    @Test func headGivesTheSameHeaderWithoutTheBody() async throws {
        try await serving { client async throws in
            for path in ["/livez", "/api/v1/streams", "/api/v1/events", "/api/v1/streams/cam1/picture/before"] {
                let head = try await client.send("HEAD", path)
                #expect(head.status == 200)
                if path == "/api/v1/events" {
                    #expect(head.headers["content-length"] == nil)
                    continue
                }
                let get = try await client.get(path)
                #expect(head.headers["content-type"] == get.headers["content-type"])
                if path != "/api/v1/streams" { #expect(head.headers["content-length"] == "\(get.body.count)") }
            }
        }
    }

    @Test func documentsAreNotSentTwice() async throws {
        try await serving { client async throws in
            for path in ["/", "/api/v1/openapi.json", "/page/burnish.js"] {
                let first = try await client.get(path)
                let tag = try #require(first.headers["etag"])
                #expect(try await client.get(path, headers: ["If-None-Match": "\"other\", W/\(tag)"]).status == 304)
                #expect(try await client.get(path, headers: ["If-None-Match": "\"other\""]).status == 200)
            }
        }
    }

    @Test func readinessFollowsTheChecks() async throws {
        let service = FakeService()
        try await serving(service) { client async throws in
            #expect(try await client.get("/readyz").text == "ready\n")
            service.state.withLock { $0.health.checks.append(.init("stream cam2", isGood: false, "no frame for 12 s")) }
            #expect(try await client.get("/livez").status == 200)
            #expect(try await client.get("/readyz").status == 503)
            let text = try await client.get("/readyz?verbose").text
            #expect(text == "[+]configuration: read\n[+]stream cam1: ok\n[-]stream cam2: no frame for 12 s\nnot ready\n")
        }
    }

    @Test func faultsOfTheServiceAreProblems() async throws {
        let service = FakeService()
        service.state.withLock { $0.reloadFault = ServiceFault(.invalid, key: "streams.cam1", "burnish.yaml:7: what to do") }
        try await serving(service) { client async throws in
            let answer = try await client.send("POST", "/api/v1/reload", headers: bearer)
            #expect(answer.status == 422)
            #expect(answer.headers["content-type"] == "application/problem+json")
            #expect(answer.json["detail"] as? String == "burnish.yaml:7: what to do")
            #expect(answer.json["key"] as? String == "streams.cam1")
            #expect(service.state.withLock { $0.reloads } == 0)
        }
    }

    @Test func aStreamThatHasWrittenNothingHasNoFigures() async throws {
        let service = FakeService()
        service.state.withLock { $0.streams["cam1"]?.state = .starting }
        try await serving(service) { client async throws in
            #expect(try await client.get("/api/v1/streams/cam1/statistics").text == "null")
            let metrics = try await client.get("/metrics").text
            #expect(!metrics.contains(#"burnish_frames_total{stream="cam1""#))
            #expect(metrics.contains(#"burnish_stream_state{stream="cam1",state="starting"} 1"#))
            #expect(metrics.contains(#"burnish_frames_total{stream="cam2""#))
        }
    }

    @Test func recordsAreTables() async throws {
        try await serving { client async throws in
            let answer = try await client.get("/api/v1/streams/cam1/records?seconds=1")
            #expect(answer.headers["content-type"] == "text/csv; charset=utf-8")
            let rows = answer.text.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
            #expect(rows.count == 61)
            #expect(rows.allSatisfy { $0.count == rows[0].count })
            #expect(rows[0].joined(separator: ",") == RecordTable.header)
        }
    }
}
