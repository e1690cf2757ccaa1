import Foundation

/// What a configuration refers to outside of its own text. Reading a configuration is a function of the text and of this, so
/// that tests need no files.
public struct ConfigurationEnvironment: Sendable {
    /// Why a file cannot be used.
    public struct ReadFailure: Error, Sendable {
        /// One clause: "does not exist".
        public var text: String

        public init(_ text: String) { self.text = text }
    }

    /// The environment variables.
    public var variables: [String: String]
    /// Where relative paths begin: the folder of the configuration file.
    public var folder: String
    /// Reads a file of at most so many bytes.
    public var read: @Sendable (_ path: String, _ limit: Int) throws(ReadFailure) -> [UInt8]

    public init(
        variables: [String: String] = [:], folder: String = "/",
        read: @escaping @Sendable (_ path: String, _ limit: Int) throws(ReadFailure) -> [UInt8]
    ) {
        self.variables = variables
        self.folder = folder
        self.read = read
    }

    /// This process's environment and the file system.
    /// - Parameter file: the configuration file.
    public static func process(file: String?) -> ConfigurationEnvironment {
        let folder = file.map { URL(filePath: $0).deletingLastPathComponent().path(percentEncoded: false) }
        return ConfigurationEnvironment(
            variables: ProcessInfo.processInfo.environment,
            folder: folder ?? FileManager.default.currentDirectoryPath, read: readFile)
    }

    /// Reads a regular file. One that is longer than `limit` bytes is refused.
    @Sendable private static func readFile(path: String, limit: Int) throws(ReadFailure) -> [UInt8] {
        // O_NONBLOCK: a named pipe without a writer must not hold up a reload.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw systemFailure() }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ReadFailure("is no regular file")
        }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = 0
        while count <= limit {
            let got = unsafe bytes.withUnsafeMutableBytes { rest in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: rest[count...])
                return unsafe Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw systemFailure() }
            if got == 0 { break }
            count += got
        }
        guard count <= limit else { throw ReadFailure("has more than \(limit) bytes") }
        return Array(bytes[..<count])
    }

    private static func systemFailure() -> ReadFailure {
        ReadFailure("cannot be read: \(unsafe String(cString: strerror(errno)))")
    }

    /// An absolute path without `.` and `..`.
    func absolute(_ path: String) -> String {
        var parts: [Substring] = []
        let whole = path.utf8.first == UInt8(ascii: "/") ? path : folder + "/" + path
        // By bytes, as the system does: a slash and an accent behind it are one character.
        for part in whole.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init) {
            switch part {
            case ".": continue
            case "..": _ = parts.popLast()
            default: parts.append(part)
            }
        }
        return "/" + parts.joined(separator: "/")
    }
}
