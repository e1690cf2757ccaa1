import Container

/// Says which programs of a multiplex pass, in one line for each set of them.
///
/// A pure value. What it says is bounded, whatever the source's tables do.
struct ProgramNames {
    private struct Programs: Hashable {
        var followed: UInt16
        var passed, leftOut: [UInt16]
    }

    /// The most lines, and the most programs that one names.
    private static let mostLines = 16
    private static let mostNames = 16

    private var last: Programs?
    private var lines = 0

    /// - Parameter pass: whether the output can hold other programs.
    /// - Returns: nil where the last line said the same, or too many lines have been said.
    mutating func line(for multiplex: Multiplex, pass: Bool) -> String? {
        let others = multiplex.others.map(\.number)
        let now = Programs(
            followed: multiplex.program.number, passed: pass ? others : [],
            leftOut: pass ? multiplex.leftOut : others + multiplex.leftOut)
        guard now != last, lines < Self.mostLines else { return nil }
        last = now
        lines += 1
        var text = "input: program \(now.followed) is followed"
        if !now.passed.isEmpty { text += "; passed as they are: \(Self.names(now.passed))" }
        if !now.leftOut.isEmpty { text += "; left out: \(Self.names(now.leftOut))" }
        if lines == Self.mostLines { text += "; later changes are not named" }
        return text
    }

    private static func names(_ numbers: [UInt16]) -> String {
        let names = numbers.prefix(mostNames).map(String.init).joined(separator: ", ")
        return numbers.count > mostNames ? "\(names) and \(numbers.count - mostNames) more" : names
    }
}
