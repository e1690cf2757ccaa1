import Foundation
import Glibc

/// The file that a report is written to at the end. It is opened at the beginning: that nobody could read the report is
/// found out about then, and not after hours. What an earlier run wrote stays until this one really begins.
struct ReportFile {
    private let path: String
    private let file: FileHandle

    init(path: String) throws {
        self.path = path
        let number = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard number >= 0 else { throw Failure.exit(report: path, POSIXError.last) }
        file = FileHandle(fileDescriptor: number, closeOnDealloc: true)
    }

    /// Removes what an earlier run wrote. Pipes and devices keep nothing that could be removed.
    func clear() { try? file.truncate(atOffset: 0) }

    /// Writes the report as the whole of the file.
    func write(_ text: String) throws {
        clear()
        do {
            try file.write(contentsOf: Data(text.utf8))
        } catch {
            throw Failure.exit(report: path, error)
        }
    }
}

extension POSIXError {
    /// The calling thread's last error.
    static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
