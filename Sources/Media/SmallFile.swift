import Glibc

/// Reads whole files that settings name: tables, images, fonts.
public enum SmallFile {
    /// Why a file cannot be read, as the end of a sentence.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String
        public init(_ description: String) { self.description = description }
    }

    /// Opens a file and reads it.
    /// - Parameter most: bytes that it may have.
    /// - Throws: also what the system says of the file.
    public static func read(path: String, most: Int) throws(Fault) -> [UInt8] {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw reason }
        defer { close(number) }
        return try read(descriptor: number, most: most)
    }

    /// Reads a file from a descriptor, which stays open.
    public static func read(descriptor: Int32, most: Int) throws(Fault) -> [UInt8] {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw reason }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Fault("is no file") }
        guard status.st_size <= most else {
            throw Fault("has \(status.st_size) bytes, and may have \(most)")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe pread(descriptor, bytes.baseAddress! + done, bytes.count - done, done)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw reason }
            // Somebody has made it shorter meanwhile.
            if count == 0 { break }
            done += count
        }
        return Array(bytes.prefix(done))
    }

    private static var reason: Fault { Fault("cannot be read: \(unsafe String(cString: strerror(errno)))") }
}
