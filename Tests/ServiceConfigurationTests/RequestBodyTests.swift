import Endpoint
import Settings
import Testing

@testable import ServiceConfiguration

@Suite struct RequestBodyTests {
    private func texts(_ json: String) throws -> [String: String?] { try RequestBody.texts(json: Array(json.utf8)) }
    private func fault(_ body: () throws -> Void) -> String? {
        let fault = #expect(throws: SettingFault.self) { try body() }
        return fault.map { "\($0.key): \($0.text)" }
    }

    @Test func jsonBecomesTexts() throws {
        #expect(
            try texts(#"{"scale": 2, "sharpness": 0.25, "fps": 29.97, "budget": "80ms", "tier": null, "x": true, "y": -1}"#)
                == ["scale": "2", "sharpness": "0.25", "fps": "29.97", "budget": "80ms", "tier": nil, "x": "true", "y": "-1"])
        #expect(try texts("{}").isEmpty)
    }

    @Test func bodiesThatAreNone() {
        for json in ["", "[]", "1", "{", #"{"a": }"#, "\u{0}", String(repeating: "[", count: 60_000)] {
            #expect(fault { _ = try texts(json) }?.contains("is no JSON object") == true, "\(json.prefix(20))")
        }
        #expect(fault { _ = try texts(#"{"a": [1]}"#) } == "a: is one text or number, not a list or an object")
        #expect(fault { _ = try texts(#"{"a": {}}"#) } == "a: is one text or number, not a list or an object")
        let long = String(repeating: "x", count: 5000)
        #expect(fault { _ = try texts("{\"a\": \"\(long)\"}") } == "a: has 5000 bytes; 4096 are the most")
        #expect(fault { _ = try texts(String(repeating: " ", count: 70_000)) }?.contains("70000 bytes") == true)
        let many = (0..<65).map { "\"k\($0)\": 1" }.joined(separator: ",")
        #expect(fault { _ = try texts("{\(many)}") }?.contains("65 keys") == true)
    }

    private func configuration(_ text: String = "") throws -> ServiceConfiguration {
        try ServiceConfiguration(text, environment: environment())
    }

    @Test func aStreamIsMade() throws {
        let configuration = try configuration("defaults: {budget: 120ms}\n")
        let stream = try configuration.stream(
            "new", ["input": "srt://:9000", "output": "srt://h:1", "passphrase": "a long secret", "tier": "base"], beside: [])
        #expect(stream.name == "new" && stream.values.texts == ["budget": "120ms", "tier": "base"])
        #expect(stream.input.passphrase == Secret("a long secret"))
        #expect(
            fault { _ = try configuration.stream("other", ["input": "udp://:9000", "output": "udp://h:1"], beside: [stream]) }
                == "input: listens on port 9000, which the input of new has: give another port")
        #expect(fault { _ = try configuration.stream("a/b", [:], beside: []) }?.hasPrefix("a/b: is no name") == true)
        #expect(fault { _ = try configuration.stream("a", [:], beside: []) }?.hasPrefix("input: is missing") == true)
    }

    @Test func callersOfTheAPIReadNoFiles() throws {
        let configuration = try configuration("files: {folders: /srv/media}\n")
        func input(_ text: String, _ more: [String: String] = [:]) throws -> StreamDefinition {
            try configuration.stream(
                "a", ["input": text, "output": "udp://h:1"].merging(more) { $1 }, beside: [])
        }
        #expect(try input("/srv/media/clip.ts").input.description == "/srv/media/clip.ts")
        for path in ["/etc/passwd", "/srv/media/../../etc/passwd", "/srv/mediaplayer/x", "/srv/media", "file:///etc/passwd"] {
            #expect(fault { _ = try input(path) }?.contains("not below one of") == true, "\(path)")
        }
        for key in ["passphrase-file", "input-passphrase-credential", "callers"] {
            #expect(
                fault { _ = try input("udp://:1", [key: "x"]) } == "\(key): can only be given in the configuration file")
        }
        #expect(
            fault {
                _ = try ServiceConfiguration().stream("a", ["input": "/srv/x", "output": "udp://h:1"], beside: [])
            }?.contains("has no files.folders") == true)
    }

    @Test func callersOfTheAPINameTablesBelowTheFolders() throws {
        let configuration = try configuration("files: {folders: /srv/media}\ndefaults: {lut: /etc/burnish/house.cube}\n")
        let places = ["input": "udp://:1", "output": "udp://h:1"]
        func table(_ path: String?) throws -> String? {
            try configuration.stream("a", places.merging(path.map { ["lut": $0] } ?? [:]) { $1 }, beside: []).values.files
                .first?.path
        }
        // The configuration's own may lie anywhere.
        #expect(try table(nil) == "/etc/burnish/house.cube")
        #expect(try table("/srv/media/film.cube") == "/srv/media/film.cube")
        #expect(try table("off") == nil)
        for path in [
            "/etc/film.cube", "/srv/media/../film.cube", "/srv/media//film.cube", "/srv/media/../\u{301}/film.cube",
            "/srv/media/../\u{301}film.cube",
        ] {
            #expect(fault { _ = try table(path) }?.contains("not below one of") == true, "\(path)")
        }
        #expect(fault { _ = try table("film.cube") } == "lut: is 'film.cube'; right here is an absolute path")
        #expect(fault { _ = try table("/srv/media/film.png") }?.hasPrefix("lut: is the path of a .cube file, or off") == true)
    }

    @Test func anOverlaysFilesLieBelowTheFolders() throws {
        let configuration = try configuration("files: {folders: /srv/media}\n")
        func files(_ overlay: String, font: String? = nil) throws -> [String] {
            var texts = ["input": "udp://:1", "output": "udp://h:1", "overlay": overlay]
            texts["overlay-font"] = font
            return try configuration.stream("a", texts, beside: []).values.files.map(\.path)
        }
        #expect(try files("+0%+0%:image=/srv/media/a.png;+0%+0%:text=a") == ["/srv/media/a.png"] + StreamValues.usualFiles)
        #expect(
            fault { _ = try files("+0%+0%:image=/etc/a.png") }?.hasPrefix("overlay: names a file that is not below") == true)
        #expect(fault { _ = try files("+0%+0%:text=a", font: "/etc/a.ttf") }?.hasPrefix("overlay-font: names a file") == true)
    }

    @Test func severalOutputsAreMadeAndChanged() throws {
        let configuration = try configuration()
        let urls = "srt://:9001?mode=listener\nudp://h:2"
        let old = try configuration.stream(
            "a", ["input": "srt://:9000", "outputs": urls, "passphrase": "a long secret"], beside: [])
        #expect(old.outputs.map(\.description) == ["srt://:9001?mode=listener", "udp://h:2"])
        // Another setting leaves all of them as they are.
        let faster = try configuration.stream(old, changedBy: ["budget": "50ms"], beside: [old])
        #expect(faster.outputs == old.outputs && !old.difference(to: faster).needsRestart)
        // One that stays keeps its passphrase.
        let more = try configuration.stream(old, changedBy: ["outputs": "udp://h:3\nsrt://:9001?mode=listener"], beside: [old])
        #expect(more.outputs.map(\.passphrase) == [nil, Secret("a long secret")])
        #expect(old.difference(to: more).restart == ["output"])
        #expect(
            fault { _ = try configuration.stream(old, changedBy: ["outputs": urls, "output": "udp://h:4"], beside: [old]) }
                == "outputs: is given beside output: give one of them")
        #expect(
            fault { _ = try configuration.stream(old, changedBy: ["outputs": ""], beside: [old]) }
                == "outputs: has 0 entries; it has 1 to 12")
    }

    @Test func aStreamIsChanged() throws {
        let configuration = try configuration("defaults: {budget: 120ms}\n")
        let old = try configuration.stream(
            "a", ["input": "srt://:9000", "output": "srt://h:1", "passphrase": "a long secret", "budget": "50ms"], beside: [])
        let new = try configuration.stream(old, changedBy: ["budget": nil, "tier": "base"], beside: [old])
        #expect(new.values.texts == ["budget": "120ms", "tier": "base"])
        #expect(old.difference(to: new).restart.isEmpty)
        let moved = try configuration.stream(old, changedBy: ["input": "srt://:9001"], beside: [old])
        #expect(moved.input.passphrase == Secret("a long secret") && old.difference(to: moved).restart == ["input"])
        let open = try configuration.stream(old, changedBy: ["passphrase": nil], beside: [old])
        #expect(open.input.passphrase == nil && open.outputs[0].passphrase == nil)
        #expect(
            fault { _ = try configuration.stream(old, changedBy: ["input": nil], beside: []) }?.contains("no value") == true)
        #expect(
            fault { _ = try configuration.stream(old, changedBy: ["hold": "1s", "keep-output": "false"], beside: []) }
                == "hold: goes with fps or keep-output: without them nothing is repeated")
    }
}
