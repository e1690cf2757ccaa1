import Endpoint
import Media
import Testing

@testable import Relay

/// What is said of losses, in virtual time.
@Suite struct LossReportsTests {
    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private func reports(
        _ url: String = "srt://127.0.0.1:9000", _ witness: LossReports.Witness = .transport
    ) throws -> LossReports {
        LossReports(of: try StreamURL(url), witness: witness)
    }

    /// A network that loses something four times a second for five minutes.
    @Test func aSeriesHasTwoLines() throws {
        var reports = try reports()
        var lines: [String] = []
        for quarter in 0..<1_200 {
            let now = at(Double(quarter) / 4)
            if let line = reports.record(quarter == 0 ? 1 : 2, at: now) { lines.append(line) }
            if let line = reports.claimEnd(at: now) { lines.append(line) }
        }
        #expect(lines.count == 1 && lines[0].hasPrefix("1 message is missing: lost on the way") && reports.isOpen)
        #expect(reports.claimEnd(at: at(299.75 + 59.9)) == nil)
        let end = reports.claimEnd(at: at(299.75 + 60))
        #expect(end == "nothing has been missing for 60 s; 2399 messages were missing in 1200 places within 300 s")
        #expect(!reports.isOpen && reports.claimEnd(at: at(1_000)) == nil)
        // The next one is news.
        #expect(reports.record(3, at: at(1_001))?.hasPrefix("3 messages are missing") == true)
    }

    /// Losses that are as rare as the reports: each series still has two lines, so at most two a minute.
    @Test func losesThatAreFarApartAreSeriesOfTheirOwn() throws {
        var reports = try reports()
        var lines = 0
        for second in 0..<3_600 {
            if second % 61 == 0, reports.record(1, at: at(Double(second))) != nil { lines += 1 }
            if reports.claimEnd(at: at(Double(second))) != nil { lines += 1 }
        }
        #expect(lines == 2 * 59 + 1)
    }

    @Test func aSourceThatGoesSumsUpWhatWasNotSaid() throws {
        var reports = try reports()
        #expect(reports.end() == nil)
        _ = reports.record(4, at: at(1))
        #expect(reports.end() == nil && !reports.isOpen, "the first line has said it all")
        _ = reports.record(4, at: at(2))
        _ = reports.record(1, at: at(9.5))
        #expect(reports.end() == "5 messages were missing in 2 places within 8 s" && !reports.isOpen)
        _ = reports.record(4, at: at(10))
        reports.forget()
        #expect(!reports.isOpen)
    }

    /// The reason is what the witness knows, and the advice one that helps there.
    @Test(arguments: [
        ("srt://h:1", LossReports.Witness.transport, "raise latency"), ("rtp://h:1", .transport, "send by SRT"),
        ("srt://h:1", .counters, "before the sender"), ("rtp://h:1", .counters, "before the sender"),
        ("udp://h:1", .counters, "look at the network"), ("in.ts", .counters, "recorded so"),
    ]) func theReasonIsThatOfTheTransport(url: String, witness: LossReports.Witness, words: String) throws {
        var reports = try reports(url, witness)
        let line = reports.record(2, at: at(0)) ?? ""
        #expect(line.contains(words), "\(line)")
        #expect(line.contains("continuity counters") == (witness == .counters), "\(line)")
    }
}
