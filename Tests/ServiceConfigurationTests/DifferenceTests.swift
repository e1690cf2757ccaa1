import Testing

@testable import ServiceConfiguration

@Suite struct DifferenceTests {
    private static let old = """
        http: {port: 8080}
        streams:
          a: {input: 'udp://:6000', output: 'udp://h:1', budget: 120ms}
          b: {input: 'udp://:6002', output: 'udp://h:1'}
          c: {input: 'udp://:6004', output: 'udp://h:1', threads: 4}
          d: {input: 'srt://:6006', output: 'udp://h:1', passphrase: 'one long secret'}
        """

    private func configuration(_ text: String) throws -> ServiceConfiguration {
        try ServiceConfiguration(text, environment: environment())
    }

    @Test func nothingChanges() throws {
        let old = try configuration(Self.old)
        #expect(old.difference(to: try configuration(Self.old + "\n# A comment.\n")).isEmpty)
    }

    @Test func eachKindOfChange() throws {
        let new = try configuration(
            """
            http: {port: 8081, allowed-hosts: localhost}
            log: {level: debug}
            streams:
              a: {input: 'udp://:6000', output: 'udp://h:1', tier: base}
              c: {input: 'udp://:6004', output: 'udp://h:1', threads: 3, tier: base}
              d: {input: 'srt://:6006', output: 'udp://h:1', passphrase: 'two long secrets'}
              e: {input: 'udp://:6002', output: 'udp://h:1'}
            """)
        let difference = try configuration(Self.old).difference(to: new)
        #expect(difference.added.map(\.name) == ["e"])
        #expect(difference.removed.map(\.name) == ["b"])
        #expect(difference.live.map(\.stream.name) == ["a"])
        #expect(difference.live.first?.settings == ["budget": nil, "tier": "base"])
        #expect(difference.restarted.map(\.stream.name) == ["c", "d"])
        #expect(difference.restarted.map(\.keys) == [["threads", "tier"], ["input"]])
        #expect(
            difference.service == [
                .init(path: "http.port", needsRestart: true), .init(path: "http.allowed-hosts", needsRestart: false),
                .init(path: "log.level", needsRestart: false),
            ])
    }

    @Test func defaultsChangeTheStreamsThatHaveThem() throws {
        let new = try configuration(Self.old + "\ndefaults: {budget: 100ms}\n")
        let difference = try configuration(Self.old).difference(to: new)
        #expect(difference.live.map(\.stream.name) == ["b", "c", "d"])
        #expect(difference.service.isEmpty)
    }

    @Test func aTokenIsComparedButNotShown() throws {
        let new = try configuration(Self.old.replacing("8080", with: "8080, token: 0123456789abcdef"))
        #expect(
            try configuration(Self.old).difference(to: new).service == [.init(path: "http.token", needsRestart: false)])
    }
}
