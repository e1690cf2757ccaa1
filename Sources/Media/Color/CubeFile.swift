import Glibc

/// A `.cube` file that somebody names, with its table once that has been read. Who may not open files gets a descriptor.
public struct CubeFile: Hashable, Sendable {
    public let path: String
    /// Nil before the file has been read. Then it changes nothing.
    public var table: CubeTable?

    /// - Returns: nil where the path is none of a `.cube` file.
    public init?(path: String) {
        guard path.utf8.count <= 4096, path.lowercased().hasSuffix(".cube"),
            !path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        self.path = path
    }

    /// Two are the same where one reading of the file has given both.
    public static func == (a: CubeFile, b: CubeFile) -> Bool { a.path == b.path && a.table === b.table }
    public func hash(into hasher: inout Hasher) { hasher.combine(path) }

    /// Opens the file and reads it: some ten milliseconds for a large one.
    /// - Throws: also what the system says of the file.
    public mutating func read() throws(CubeFault) {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw CubeFault(Self.reason) }
        defer { close(number) }
        try read(descriptor: number)
    }

    /// Reads the file from a descriptor, which stays open.
    public mutating func read(descriptor: Int32) throws(CubeFault) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw CubeFault(Self.reason) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw CubeFault("is no file: give a .cube file") }
        guard status.st_size <= CubeReader.largestFile else {
            throw CubeFault("has \(status.st_size) bytes, and a .cube file at most \(CubeReader.largestFile)")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe pread(descriptor, bytes.baseAddress! + done, bytes.count - done, done)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CubeFault(Self.reason) }
            // Somebody has made it shorter meanwhile.
            if count == 0 { break }
            done += count
        }
        table = try CubeReader.read(Array(bytes.prefix(done)))
    }

    private static var reason: String { "cannot be read: \(unsafe String(cString: strerror(errno)))" }
}
