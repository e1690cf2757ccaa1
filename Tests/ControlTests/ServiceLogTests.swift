import Foundation
import Logging
import Media
import TestSupport
import Testing

@testable import Control

@Suite struct ServiceLogTests {
    @Test func aLineForEachFormat() {
        func line(_ format: ServiceLog.Format) -> String {
            ServiceLog.line(
                format, .warning, "it is\nso \"far\" \u{1B}[1m", ["stream": "studio", "event": "crashed"], at: 1_795_397_253.25)
        }
        #expect(line(.text) == "2026-11-23T01:27:33.250Z warning studio: it is so \"far\"  [1m event=crashed")
        #expect(line(.journal) == "<4>studio: it is so \"far\"  [1m event=crashed")
        #expect(
            line(.json)
                == #"{"time":"2026-11-23T01:27:33.250Z","level":"warning","message":"it is\nso \"far\" \u001b[1m","event":"crashed","stream":"studio"}"#
        )
    }

    @Test func theHandlerWritesWholeLines() {
        let lines = Lock<[String]>([])
        var logger = Logger(label: "x") { _ in
            ServiceLog(.journal, threshold: LogThreshold(.notice), clock: { 0 }) { line in lines.withLock { $0.append(line) } }
        }
        logger[metadataKey: "stream"] = "a"
        logger.info("not this")
        logger.notice("but this", metadata: ["more": "1"])
        #expect(lines.withLock { $0 } == ["<5>a: but this more=1\n"])
    }

    @Test func theLevelMayChange() {
        let lines = Lock(0)
        let threshold = LogThreshold(.warning)
        let logger = Logger(label: "x") { _ in
            ServiceLog(.text, threshold: threshold, write: { _ in lines.withLock { $0 += 1 } })
        }
        logger.info("not this")
        threshold.level = .debug
        logger.info("but this")
        threshold.level = .error
        logger.warning("not this")
        #expect(lines.withLock { $0 } == 1)
    }

    /// A pipe that nobody reads: whoever logs goes on, and the reader learns what it has missed.
    @Test func aSlowReaderHoldsUpNobody() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let size = 1 << 16
        let writer = LogWriter(ends[1]) { "lost \($0)\n" }
        let line = String(repeating: "x", count: 999) + "\n"
        // One more may be inside the thread's hands, with all that waited at the time.
        let count = size / 1000 + 2 * LogWriter.mostWaiting + 500
        for _ in 0..<count { writer.write(line) }
        var (rest, written, lost) = ("", 0, 0)
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        // The thread may say more than once how many it has lost.
        while written + lost < count {
            let got = read(ends[0], &bytes, bytes.count)
            try #require(got > 0)
            var lines = (rest + String(decoding: bytes[..<got], as: UTF8.self)).split(
                separator: "\n", omittingEmptySubsequences: false)
            rest = String(lines.removeLast())
            for line in lines {
                if line.hasPrefix("lost ") { lost += try #require(Int(line.dropFirst(5))) } else { written += 1 }
            }
        }
        writer.flush(timeout: .seconds(60))
        #expect(lost >= 500 && written + lost == count)
        for end in ends { close(end) }
    }

    @Test func theJournalIsKnownByItsInode() throws {
        let folder = try TemporaryFolder()
        let file = open(folder.file("x").path, O_CREAT | O_RDWR, 0o600)
        defer { close(file) }
        var status = stat()
        fstat(file, &status)
        #expect(ServiceLog.isJournal(["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)"], descriptor: file))
        for other in ["\(status.st_dev):\(status.st_ino + 1)", "", ":", "1", "x:y"] {
            #expect(!ServiceLog.isJournal(["JOURNAL_STREAM": other], descriptor: file))
        }
        #expect(!ServiceLog.isJournal([:], descriptor: file))
    }
}

@Suite struct CrashReportsTests {
    func report(_ stream: String, _ time: Double) -> CrashReports.Report {
        CrashReports.Report(
            stream: stream, time: time, reason: "signal 11 (SIGSEGV)", process: 42, uptime: 3,
            events: [.init(number: 7, time: time, kind: "started", text: "x")], standardError: ["fatal error"])
    }

    @Test func reportsAreKeptAndTheOldestGo() throws {
        let folder = try TemporaryFolder()
        let reports = CrashReports(folder: folder.file("crashes").path) { Issue.record("\($0)") }
        for index in 0..<CrashReports.most + 5 {
            reports.keep(report("studio", 1_795_397_253.25 + Double(index)), map: [1, 2, 3])
            reports.finish()
        }
        let names = reports.names()
        #expect(names.count == CrashReports.most && names.first == "20261123T012738.250Z-studio")
        let path = reports.folder + "/" + names[0]
        #expect(try Data(contentsOf: URL(filePath: path + "/telemetry.map")) == Data([1, 2, 3]))
        let read = try JSONDecoder().decode(
            CrashReports.Report.self, from: Data(contentsOf: URL(filePath: path + "/report.json")))
        #expect(read == report("studio", 1_795_397_258.25))
    }

    @Test func twoOfOneMomentAreBothKept() throws {
        let folder = try TemporaryFolder()
        let reports = CrashReports(folder: folder.url.path) { Issue.record("\($0)") }
        for _ in 0..<2 { reports.keep(report("a/../b", 0), map: []) }
        reports.finish()
        #expect(reports.names() == ["19700101T000000.000Z-a_.._b", "19700101T000000.000Z-a_.._b-2"])
    }

    @Test func aFolderThatCannotBeWrittenIsSaid() throws {
        let said = Lock<[String]>([])
        let reports = CrashReports(folder: "/proc/nowhere") { text in said.withLock { $0.append(text) } }
        reports.keep(report("a", 0), map: [])
        reports.finish()
        #expect(said.withLock { $0.count } == 1)
    }
}
