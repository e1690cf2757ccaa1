import Foundation
import Glibc
import Media
import Schedule
@testable import Telemetry

/// A map in memory with its descriptor, closed at the end.
final class TestMap {
    let descriptor: Int32

    init() throws { descriptor = try TelemetryMap.create() }
    deinit { close(descriptor) }

    func writer() throws -> TelemetryMap.Writer { try TelemetryMap.Writer(descriptor) }
    func reader() throws -> TelemetryMap.Reader { try TelemetryMap.Reader(descriptor) }

    func word(_ index: Int) -> UInt64 { TelemetryMap.read(descriptor, index..<index + 1)[0] }

    /// What a hostile worker can do.
    func write(_ value: UInt64, at index: Int) {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        precondition(pwrite(descriptor, bytes, 8, index * 8) == 8)
    }
}

/// A record whose every field follows from its number, so that one of two halves shows.
func numberedRecord(_ n: UInt64, kind: FrameKind = .original) -> FrameRecord {
    let base = Int64(n) * 1_000
    var record = FrameRecord(id: n, kind: kind, presentation: MediaTime(ticks: base))
    record.epoch = UInt32(n % 7)
    record.sourceClock = UInt32(n % 5)
    record.sourceTime = MonotonicTime(nanoseconds: base + 1)
    record.deadline = MonotonicTime(nanoseconds: base + 2)
    record.untimedStep = n % 2 == 0 ? nil : base
    record.isLateUnit = n % 2 == 0
    record.isKeyframe = n % 3 == 0
    record.isReference = n % 4 == 0
    record.isDamaged = n % 5 == 0
    record.tier = UInt8(n % 3)
    record.rung = UInt8(n % 8)
    record.tilesComputed = Int32(n % 1_000)
    record.tilesReused = Int32(n % 999)
    record.tilesWanted = Int32(n % 998)
    record.synthesisedRequested = Int32(n % 3)
    record.decodeTime = n % 3 == 0 ? nil : Nanoseconds(base + 3)
    record.baseTime = Nanoseconds(base + 4)
    record.tileTime = Nanoseconds(base + 5)
    for stamp in Stamp.allCases where n % 11 != UInt64(stamp.rawValue) {
        record[stamp] = MonotonicTime(nanoseconds: base + 6 + Int64(stamp.rawValue))
    }
    return record
}

/// Whether the fields of a numbered record belong together: the first, the last, and some between.
func isWhole(_ record: FrameRecord) -> Bool {
    let base = Int64(record.id) * 1_000
    return record.presentation.ticks == base && record.deadline?.nanoseconds == base + 2
        && record.tilesComputed == Int32(record.id % 1_000) && record.tileTime == Nanoseconds(base + 5)
        && record.epoch == UInt32(record.id % 7) && record.isDamaged == (record.id % 5 == 0)
        && Stamp.allCases.allSatisfy { stamp in
            let time = record.id % 11 == UInt64(stamp.rawValue) ? nil : base + 6 + Int64(stamp.rawValue)
            return record[stamp]?.nanoseconds == time
        }
}

/// All of a record as text, for comparison.
func text(_ record: FrameRecord) -> String { "\(record)" }

/// A folder for one test, removed at the end.
final class ScratchFolder {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.path + "/burnish-telemetry-\(UUID().uuidString)"
        try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func callAsFunction(_ name: String) -> String { path + "/" + name }
}
