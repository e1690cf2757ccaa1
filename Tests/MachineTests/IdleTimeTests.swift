import Media
import Testing

@testable import Machine

@Suite struct IdleTimeTests {
    private func idle(_ text: String, _ processors: [Int] = []) -> Nanoseconds? {
        IdleTime.idle(in: Array(text.utf8).span, of: processors)
    }

    @Test func allProcessorsAreTheFirstLine() {
        #expect(idle("cpu  1 2 3 40 5 6 7 8 9 10\ncpu0 1 2 3 4 5\n") == .milliseconds(450))
        #expect(idle("cpu  1 2 3 40 5\n") == .milliseconds(450))
        #expect(idle("cpu  1 2 3\n") == nil && idle("") == nil && idle("cpu  1 2 x 40 5\n") == nil && idle("cpu") == nil)
        #expect(idle("cpu0 1 2 3 40 5\n") == nil && idle("intr 1\n") == nil)
    }

    private let four = """
        cpu  4 0 4 100 20 0 0 0 0 0
        cpu0 1 0 1 10 1 0 0 0 0 0
        cpu1 1 0 1 20 3 0 0 0 0 0
        cpu2 1 0 1 30 6 0 0 0 0 0
        cpu10 1 0 1 40 10 0 0 0 0 0
        intr 12345 0 0
        ctxt 1

        """

    @Test func someProcessorsAreTheirLines() {
        #expect(idle(four, [0]) == .milliseconds(110) && idle(four, [10]) == .milliseconds(500))
        #expect(idle(four, [1, 10]) == .milliseconds(730) && idle(four, [0, 1, 2]) == .milliseconds(700))
    }

    /// The sum of the lines may differ from the first by what was rounded off each.
    @Test func whereAllAreAllowedTheFirstLineCounts() { #expect(idle(four, [0, 1, 2, 10]) == .milliseconds(1200)) }

    /// A container may show processors 4 and 5 as 0 and 1, and a processor may have been taken away.
    @Test func whereOneIsMissingTheFirstLineCounts() {
        for missing in [[3], [1, 3], [10, 11], [4, 5]] { #expect(idle(four, missing) == .milliseconds(1200), "\(missing)") }
    }

    /// The file is longer than what is read of it.
    @Test func aLineThatIsCutOffDoesNotCount() {
        for length in four.utf8.count - 60..<four.utf8.count - 30 {
            let text = String(four.utf8.prefix(length))!
            #expect([.milliseconds(110), .milliseconds(1200)].contains(idle(text, [0])))
            let last = idle(text, [10])
            #expect(last == (text.contains("cpu10 1 0 1 40 10 0 0 0 0 0\n") ? .milliseconds(500) : .milliseconds(1200)))
        }
    }

    @Test func aFileIsReadAsFarAsItsProcessors() {
        var missing = IdleTime(of: [0], reading: "/nowhere/stat")
        #expect(missing.read() == nil)
        var here = IdleTime(of: ProcessorLimit.current.numbers)
        let (first, second) = (here.read(), here.read())
        if let first, let second { #expect(second >= first && first > .zero) }
    }
}
