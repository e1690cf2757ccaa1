import Foundation
import Glibc

/// The file that a command writes its report to at the end. The command opens it at the beginning, so that a path that
/// cannot be written is an error at once and not after hours. An earlier run's report stays until this run really
/// begins.
struct ReportFile {
    private let path: String
    private let file: FileHandle

    init(path: String) throws {
        self.path = path
        let number = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard number >= 0 else { throw Failure.exit(report: path, POSIXError.last) }
        file = FileHandle(fileDescriptor: number, closeOnDealloc: true)
    }

    /// Removes an earlier run's report. Pipes and devices have none.
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
