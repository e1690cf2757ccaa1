import Endpoint
import Glibc

/// Reads and writes the files of session descriptions.
enum SmallFile {
    /// - Parameter most: a file with more bytes is cut off there.
    static func read(_ path: String, most: Int) throws(TransportError) -> [UInt8] {
        let place = oneLine(path)
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            throw TransportError(.inaccessible, place: place, "cannot be opened: \(Descriptor.lastError)")
        }
        let file = Descriptor(owning: number)
        var bytes = [UInt8](repeating: 0, count: most)
        var filled = 0
        while filled < most {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(file.number, $0.baseAddress! + filled, most - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw TransportError(.inaccessible, place: place, "cannot be read: \(Descriptor.lastError)")
            }
            if count == 0 { break }
            filled += count
        }
        return Array(bytes[..<filled])
    }

    static func write(_ text: String, to path: String) throws(TransportError) {
        let place = oneLine(path)
        let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard number >= 0 else {
            throw TransportError(.inaccessible, place: place, "cannot be written: \(Descriptor.lastError)")
        }
        try write(text, to: Descriptor(owning: number), place: place)
    }

    /// Writes into a file that is open and empty.
    static func write(_ text: String, to file: borrowing Descriptor, place: String) throws(TransportError) {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(file.number, $0.baseAddress! + written, bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw TransportError(.inaccessible, place: place, "cannot be written: \(Descriptor.lastError)")
            }
            written += count
        }
    }
}
