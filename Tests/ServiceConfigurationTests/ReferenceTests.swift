import Foundation
import Settings
import Testing

@testable import ServiceConfiguration

/// The shipped configuration and the pages about it say what the tables of keys say.
///
/// `BURNISH_WRITE_REFERENCE=1 swift test --filter ReferenceTests` writes them anew.
@Suite(.serialized) struct ReferenceTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let yamlFile = root.appending(path: "configs/burnish.yaml")
    private static let pages = ["configuration", "settings", "rooms"].map { root.appending(path: "docs/use/\($0).md") }
    private static let writes = ProcessInfo.processInfo.environment["BURNISH_WRITE_REFERENCE"] != nil

    @Test func theShippedFileFollowsTheTables() throws {
        if Self.writes { try Reference.yaml.write(to: Self.yamlFile, atomically: true, encoding: .utf8) }
        #expect(try String(contentsOf: Self.yamlFile, encoding: .utf8) == Reference.yaml)
    }

    @Test func thePagesFollowTheTables() throws {
        var texts = try Self.pages.map { try String(contentsOf: $0, encoding: .utf8) }
        for table in Reference.tables {
            let begin = "<!-- keys: \(table.name) -->\n"
            let page = try #require(texts.firstIndex { $0.contains(begin) }, "no \(begin)")
            let start = try #require(texts[page].range(of: begin)).upperBound
            let end = try #require(texts[page].range(of: "\n<!-- end -->", range: start..<texts[page].endIndex)).lowerBound
            if Self.writes {
                texts[page].replaceSubrange(start..<end, with: table.text)
            } else {
                #expect(texts[page][start..<end] == table.text, "\(table.name)")
            }
        }
        guard Self.writes else { return }
        for (page, text) in zip(Self.pages, texts) { try text.write(to: page, atomically: true, encoding: .utf8) }
    }

    @Test func theShippedFileIsTheEmbeddedConfiguration() throws {
        let shipped = try ServiceConfiguration(Reference.yaml, environment: environment())
        #expect(shipped == (try ServiceConfiguration.embedded(environment: environment())))
    }

    /// Every key that stands in a comment can be put to use.
    @Test func everyCommentedKeyIsGood() throws {
        let lines = Reference.yaml.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var tried: Set<String> = []
        for index in lines.indices {
            guard let match = lines[index].wholeMatch(of: #/ *#(|  )([a-z-]+):.*/#) else { continue }
            let key = String(match.output.2)
            var changed = lines
            changed[index] = lines[index].replacing("#", with: "", maxReplacements: 1)
            if !match.output.1.isEmpty {
                // A key of a section that stands in a comment, too.
                let section = try #require(
                    changed[..<index].lastIndex { $0.wholeMatch(of: #/ *#[a-z-]+:/#) != nil }, "\(key) has no section")
                changed[section] = changed[section].replacing("#", with: "", maxReplacements: 1)
            }
            if key == "outputs" { changed.removeAll { $0.hasPrefix("    output: ") } }
            if key == "request" || key == "publish" { #expect(changed.contains("    callers:")) }
            let files = [
                "/etc/burnish/tls.key": "x", "/etc/burnish/tls.crt": "x", "/etc/burnish/token": "0123456789abcdef\n",
                "/etc/burnish/studio.passphrase": "ten letters at least\n", "/run/c/token": "0123456789abcdef",
                "/etc/burnish/turn.secret": "0123456789abcdef\n", "/run/c/turn-secret": "0123456789abcdef",
                "/run/c/studio-passphrase": "ten letters at least",
                "/etc/burnish/studio.publish-token": "0123456789abcdef\n", "/run/c/studio-publish-token": "0123456789abcdef",
                "/etc/burnish/studio.play-token": "0123456789abcdef\n", "/run/c/studio-play-token": "0123456789abcdef",
            ]
            let found = faults(
                changed.joined(separator: "\n"), environment(files, variables: ["CREDENTIALS_DIRECTORY": "/run/c"])
            )
            .filter {
                // Keys that go with others.
                !$0.contains("goes with fps") && !$0.contains("needs tls-") && !$0.contains("without a token")
                    && !$0.contains("goes with a wh") && !$0.contains("without its secret")
            }
            #expect(found.isEmpty, "\(key): \(found)")
            tried.insert(key)
        }
        let keys = ServiceKeys.all.map(\.name) + StreamPlaceKeys.all.map(\.name) + StreamKeys.all.map(\.name)
        #expect(Set(keys).subtracting(tried) == ["address", "port", "input", "output"])
    }

    @Test func everyDefaultInTheTablesIsTheRealOne() throws {
        for key in ServiceKeys.all where !key.defaultText.isEmpty && !key.isList {
            let line =
                key.section.isEmpty ? "\(key.name): \(key.defaultText)" : "\(key.section): {\(key.name): \(key.defaultText)}"
            let configuration = try ServiceConfiguration(line, environment: environment())
            #expect(configuration == (try ServiceConfiguration("", environment: environment())), "\(key.path)")
        }
    }
}
