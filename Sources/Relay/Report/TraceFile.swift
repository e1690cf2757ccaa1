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
    /// What keeps the file from being written on; nothing more is tried then.
    private(set) var failure: (any Error)?

    /// - Throws: what keeps the file from being written.
    convenience init(path: String, ledger: Ledger) throws {
        try Data().write(to: URL(filePath: path))
        self.init(try FileHandle(forWritingTo: URL(filePath: path)), ledger: ledger)
        try file.write(contentsOf: Data((Trace.header + "\n").utf8))
    }

    /// - Parameter file: open for writing, behind the header.
    init(_ file: FileHandle, ledger: Ledger) {
        self.file = file
        self.ledger = ledger
    }

    /// Writes what was closed since the last call.
    /// - Returns: how many records are not in the file: overwritten before they could be written, or refused by it.
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
