import Foundation
import Media
import Schedule
import Telemetry

/// Writes the records of closed frames to a file as `burnish replay` reads them.
///
/// Confined to the thread that runs the relay's observations: the frame path only fills the ledger's ring.
final class TraceFile {
    private let file: FileHandle
    private let ledger: Ledger
    private var cursor: UInt64 = 0
    /// Records that were overwritten before they could be written.
    private(set) var missed: UInt64 = 0

    /// - Throws: what keeps the file from being written.
    init(path: String, ledger: Ledger) throws {
        try Data((Trace.header + "\n").utf8).write(to: URL(filePath: path))
        file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seekToEnd()
        self.ledger = ledger
    }

    /// Writes what was closed since the last call.
    func write() {
        var text = ""
        missed += ledger.read(since: &cursor) { record, fate in
            text += Trace.line(TraceRecord(record, fate)) + "\n"
        }
        if !text.isEmpty { try? file.write(contentsOf: Data(text.utf8)) }
    }
}

extension TraceRecord {
    init(_ record: FrameRecord, _ fate: FrameFate) {
        let arrival = record[.lastPacket] ?? record[.planned] ?? MonotonicTime(nanoseconds: 0)
        self.init(
            id: record.id, kind: record.kind, presentation: record.presentation, arrival: arrival,
            emitBy: record.deadline ?? arrival)
        origin = record.sourceTime.map { Origin(.source, $0) } ?? Origin(.arrival, arrival)
        isKeyframe = record.isKeyframe
        asked = Int(record.synthesisedAsked)
        tilesWanted = Int(record.tilesWanted)
        tiles = Int(record.tilesComputed)
        tier = Tier(rawValue: record.tier) ?? .base
        decode = record.time(from: .decodeIn, to: .decodeOut)
        if record.kind == .synthesised {
            synthesise = record.time(from: .enhanceIn, to: .enhanceOut)
        } else {
            base = record.baseTime
            tileTime = record.tileTime
        }
        encode = record.time(from: .encodeIn, to: .encodeOut)
        sent = record[.sent]
        self.fate = fate
    }
}
