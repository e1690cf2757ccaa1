import Foundation
import Media
import Schedule
import Testing

@testable import Machine

@Suite struct MachineMeterTests {
    @Test func whatTheMachineDoesIsRead() {
        func running(_ text: String) -> Int? { MachineMeter.running(in: Array(text.utf8).span) }
        #expect(running("0.20 0.18 0.12 1/80 11206\n") == 1 && running("10.25 3.00 2.12 12/1080 1") == 12)
        #expect(running("0.20 0.18 0.12") == nil && running("") == nil && running("/") == nil)
        // What there is on the machine at hand, whatever that is.
        var meter = MachineMeter(limit: ProcessorLimit(processors: 2, quota: 1.5), threads: 2)
        _ = meter.measureCores()
        meter.sampleLoad()
        if let cores = meter.measureCores() { #expect(cores.spare >= 0 && cores.spare <= cores.dealt && cores.dealt <= 1.5) }
    }

    @Test func idleCoresAreMeasuredBetweenTwoCalls() {
        var usage = MachineUsage()
        let now = MonotonicTime.now()
        #expect(usage.idleCores(at: now) == nil)
        if let idle = usage.idleCores(at: now + .seconds(1)) { #expect(idle >= 0) }
    }

    /// On processors 2 and 3 of four. Programs elsewhere take nothing from them, and their idle time gives nothing.
    @Test func onlyAllowedProcessorsCount() throws {
        let file = try StatFile()
        var limit = ProcessorLimit(processors: 2)
        limit.numbers = [2, 3]
        var meter = MachineMeter(limit: limit, threads: 2, idle: IdleTime(of: limit.numbers, reading: file.path))
        var (now, own) = (MonotonicTime(nanoseconds: 0), Nanoseconds.zero)
        /// Several samples, since what is left counts when two agree.
        func measure(idle: [Double], own used: Double) throws -> Cores {
            var cores: Cores?
            for _ in 0..<4 {
                now = now + .seconds(1)
                own = own + .seconds(used)
                try file.advance(idle: idle)
                cores = meter.measureCores(at: now, own: own) ?? cores
            }
            return try #require(cores)
        }
        // Others keep two processors busy that the process may not use.
        #expect(try measure(idle: [0, 0, 0.5, 0.5], own: 1).dealt == 2)
        // One of its own.
        #expect(abs(try measure(idle: [1, 1, 0.5, 0], own: 0.5).dealt - 4 / 3.0) < 1e-9)
        // Half of one.
        #expect(abs(try measure(idle: [0, 1, 0.5, 0.5], own: 0.5).dealt - 1.5) < 1e-9)
    }
}

/// A file like /proc/stat of four processors.
private final class StatFile {
    let path = NSTemporaryDirectory() + "burnish-stat-\(UUID().uuidString)"
    private var idle = [Double](repeating: 0, count: 4)

    init() throws { try advance(idle: idle) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func advance(idle seconds: [Double]) throws {
        idle = zip(idle, seconds).map { $0 + $1 }
        func line(_ name: String, _ idle: Double) -> String { "\(name) 9 9 9 \(Int((idle * 100).rounded())) 0 1 2 0 0 0\n" }
        let text = line("cpu ", idle.reduce(0, +)) + idle.indices.map { line("cpu\($0)", idle[$0]) }.joined() + "intr 5 0 0\n"
        // The same file, which the meter has open.
        if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }
}
