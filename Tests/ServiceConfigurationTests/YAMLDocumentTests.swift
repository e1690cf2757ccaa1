import Testing

@testable import ServiceConfiguration

@Suite struct YAMLDocumentTests {
    private func read(_ text: String) throws -> [ConfigurationNode.Entry] {
        guard case .mapping(let entries) = try YAMLDocument.read(text).get().content else { return [] }
        return entries
    }

    private func faults(_ text: String) -> [String] {
        switch YAMLDocument.read(text) {
        case .success: []
        case .failure(let faults): faults.lines(in: "f")
        }
    }

    private func flat(_ entries: [ConfigurationNode.Entry]) -> [String] {
        entries.map {
            switch $0.value.content {
            case .scalar(let text): "\($0.line) \($0.key)=\(text)"
            case .null: "\($0.line) \($0.key)"
            case .sequence(let nodes): "\($0.line) \($0.key)[\(nodes.count)]"
            case .mapping(let entries): "\($0.line) \($0.key){\(flat(entries).joined(separator: " "))}"
            }
        }
    }

    @Test func nodesKnowTheirLines() throws {
        let text = "# first\na: 1\nb:\n  c: 'x: y'\n  d: [1, 2]\n  e:\n  f: ~\n"
        #expect(flat(try read(text)) == ["2 a=1", "3 b{4 c=x: y 5 d[2] 6 e 7 f}"])
    }

    @Test func textsStayAsTheyAreWritten() throws {
        // YAML 1.1 would make numbers and truth values of these.
        let text = "a: 0x10\nb: yes\nc: 1_000\nd: 12:30\ne: 1e3\nf: \"*x\"\ng: a*b\n'h*': 1\n"
        #expect(
            flat(try read(text))
                == ["1 a=0x10", "2 b=yes", "3 c=1_000", "4 d=12:30", "5 e=1e3", "6 f=*x", "7 g=a*b", "8 h*=1"])
    }

    @Test func anEmptyTextHasNoKeys() throws {
        for text in ["", "\n", "# nothing\n", "---\n", "~\n"] { #expect(try read(text).isEmpty) }
    }

    @Test func aliasesAndMergeKeys() throws {
        let text = """
            base: &base {tier: base, budget: 80ms}
            other: &other
              budget: 90ms
              pacing: paced
            one:
              <<: *base
              budget: 120ms
            two:
              <<: [*base, *other]
            name: &name text
            again: *name
            """
        #expect(
            flat(try read(text)).suffix(4) == [
                "5 one{7 budget=120ms 1 tier=base}", "8 two{1 tier=base 1 budget=80ms 4 pacing=paced}", "10 name=text",
                "11 again=text",
            ])
    }

    @Test func wrongAliasesAreFaults() {
        #expect(faults("a: *b\n") == ["f:1: there is no &b above this *b; quote a text that begins with *"])
        #expect(faults("a: &a\n  b: *a\n").count == 1)
        #expect(faults("\na: * b\n").first?.hasPrefix("f:2: there is no ") == true)
        #expect(faults("a: &a x\n*a : 1\n") == ["f:2: a key is a plain text"])
        #expect(faults("? [a, b]\n: 1\n") == ["f:1: a key is a plain text"])
        #expect(faults("<<: text\n") == ["f:1: << merges a section, as in <<: *name, not a text"])
    }

    @Test func duplicatesAreFaultsWithTheirLine() {
        #expect(faults("a: 1\nb: 2\na: 3\n") == ["f:3: a: is already given in line 1: keep one"])
        #expect(faults("s:\r\n  a: 1\r\n  b: 2\r\n  a: 3\r\n") == ["f:4: a: is already given in line 2: keep one"])
        #expect(faults("a: {b: 1, b: 2}\n") == ["f:1: b: is given more than once here: keep one"])
        #expect(faults("s:\n  a: 1\n  'a': 2\n").count == 1)
    }

    @Test func brokenYAMLHasItsLine() {
        #expect(faults("a: 1\n  b: 2\n").first?.hasPrefix("f:2: is no YAML: ") == true)
        #expect(faults("a: 1\nb: [1, 2\n").first?.hasPrefix("f:3: is no YAML: ") == true)
        #expect(faults("a: \"\u{7}\"\n").first?.hasPrefix("f:1: is no YAML: ") == true)
        #expect(faults("a: 1\n---\nb: 1\n").first?.hasPrefix("f:2: is no YAML: ") == true)
        #expect(faults("a: !!binary x\n") == ["f:1: tags (!name) have no meaning here: remove it"])
        #expect(faults("a: 1\n\n# \u{E000}\n") == ["f:3: has a character that stands for nothing (U+E000): remove it"])
    }

    @Test func aBombIsRefused() {
        // Nine lists of nine aliases each: 9^9 values.
        var bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            bomb += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(faults(bomb).first?.hasSuffix("the file has more than 20000 values, those of aliases included") == true)
        // As a key, which Yams would compare.
        #expect(!faults(bomb.replacing("a9: &a9 [", with: "? &a9 [") + ": 1\n").isEmpty)
        #expect(!faults("{*a:1, *a:1}").isEmpty)
    }

    @Test func depthAndSizeAreLimited() {
        let deep = String(repeating: "[", count: 900) + String(repeating: "]", count: 900)
        #expect(faults("a: \(deep)").first == "f:1: more than 16 sections stand in each other here")
        let veryDeep = String(repeating: "[", count: 100_000)
        #expect(faults("a: \(veryDeep)").count == 1)
        #expect(faults(String(repeating: "#", count: 300_000)) == ["f:1: has 300000 bytes; 262144 are the most"])
    }
}
