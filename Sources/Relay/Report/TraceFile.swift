import Foundation
import Media
import Schedule
import Telemetry

/// Writes the records of closed frames to a file that `burnish replay` reads.
///
/// Confined to the observer thread (the one that calls ``Relay/run(observe:)``). The frame path only fills the ledger's ring.
final class TraceFile {
    private let file: FileHandle
    private let ledger: Ledger
    private var cursor: UInt64 = 0
    /// The first error of a write; nil while there was none. Nothing is written after an error.
    private(set) var failure: (any Error)?

    /// Creates the file and writes the header.
    /// - Throws: the file system's error.
    convenience init(path: String, ledger: Ledger) throws {
        try Data().write(to: URL(filePath: path))
        self.init(try FileHandle(forWritingTo: URL(filePath: path)), ledger: ledger)
        try file.write(contentsOf: Data((Trace.header + "\n").utf8))
    }

    /// - Parameter file: open for writing, positioned after the header.
    init(_ file: FileHandle, ledger: Ledger) {
        self.file = file
        self.ledger = ledger
    }

    /// Writes the records that were closed since the last call.
    /// - Returns: how many records are missing in the file, because they were overwritten before this call or a write failed.
    func write() -> UInt64 {
        var text = ""
        var count: UInt64 = 0
        let missed = ledger.read(since: &cursor) { record, fate in
            if failure == nil { text += Trace.line(TraceRecord(record, fate)) + "\n" }
            count += 1
        }
        if failure == nil, !text.isEmpty {
            do {
                try file.write(contentsOf: Data(text.utf8))
            } catch {
                failure = error
            }
        }
        return failure == nil ? missed : missed + count
    }
}
