import Media
import Testing

@testable import Relay

/// Which absences of a source's pictures are reported, in virtual time.
struct SourceAbsenceTests {
    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64(seconds * 1e9)) }

    /// A shared screen with a picture a second, whose sound comes.
    @Test func slowPicturesAreReportedOnceAMinute() {
        var reports = AbsenceReports()
        var lines: [String] = []
        for second in 0..<150 {
            let now = at(Double(second))
            if let line = reports.claim(at: now, heard: now) { lines.append(line) } else { reports.skip() }
        }
        #expect(lines.count == 3 && !lines[0].contains("minute") && lines[1].hasSuffix("as 59 times in the minute before"))
    }

    /// One that goes on is reported when the minute is over.
    @Test func anAbsenceThatLastsIsReportedLater() {
        var reports = AbsenceReports()
        let first = reports.claim(at: at(0), heard: at(0))
        let claims = (20..<70).filter { reports.claim(at: at(Double($0)), heard: at(Double($0))) != nil }
        #expect(first != nil && claims == [60])
    }

    /// A source that is gone is worth a line each time.
    @Test func aSourceOfWhichNothingComesIsReportedAtOnce() {
        var reports = AbsenceReports()
        let gone = (0..<5).map { reports.claim(at: at(Double($0) * 10), heard: at(Double($0) * 10 - 2)) }
        let there = reports.claim(at: at(45), heard: at(44))
        #expect(gone.allSatisfy { $0 != nil } && there == nil)
    }
}
