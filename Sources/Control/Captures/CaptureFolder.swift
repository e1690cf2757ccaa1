import Glibc
import WorkerProtocol

/// The stills and clips of one stream on the disk: `still-7.jpg`, `clip-3.mp4`. What is not complete has another name
/// (`clip-3.mp4.part`), so whatever has its own is whole.
///
/// A value. Every call may block for as long as the disk takes.
struct CaptureFolder: Sendable {
    struct Fault: Error, Hashable, CustomStringConvertible {
        var description: String
    }

    /// A file that is being written.
    struct Begun: Sendable {
        var number: Int
        /// Where it will be.
        var path: String
        var partPath: String { path + CaptureFolder.part }
        var file: PassedDescriptor
    }

    static let part = ".part"
    /// What programs of several services at one folder may take meanwhile.
    private static let mostTries = 100

    let path: String

    /// - Parameters:
    ///   - folder: of all streams.
    ///   - stream: its name, which is one for a folder, too.
    init(_ folder: String, stream: String) { path = folder + "/" + stream }

    /// Makes a file with the next number. Folders that are missing are made. The number of one that was abandoned is given again.
    func begin(_ kind: Capture.Kind, _ ending: String) throws(Fault) -> Begun {
        try Self.make(path)
        var number = (try Self.names(in: path).compactMap { Self.number(of: $0, kind) }.max() ?? 0) + 1
        for _ in 0..<Self.mostTries {
            let whole = "\(path)/\(kind.rawValue)-\(number).\(ending)"
            let file = unsafe open(whole + Self.part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
            if file >= 0 { return Begun(number: number, path: whole, file: PassedDescriptor(owning: file)) }
            guard errno == EEXIST else { throw Self.fault(whole) }
            number += 1
        }
        throw Fault(description: "\(path): no number is free")
    }

    /// Gives a file that is complete its name, once its bytes are on the disk.
    func complete(_ begun: Begun) throws(Fault) {
        guard fsync(begun.file.number) == 0, unsafe rename(begun.partPath, begun.path) == 0 else {
            let fault = Self.fault(begun.path)
            abandon(begun)
            throw fault
        }
        Self.sync(path)
        tidy(sparing: begun.path, now: Int64(time(nil)))
    }

    func abandon(_ begun: Begun) { abandon(begun.path) }

    /// Removes what keeps the number of a capture until it is complete.
    func abandon(_ path: String) { _ = unsafe unlink(path + Self.part) }

    /// The path of a file that is complete, the better one of two; nil where there is none.
    func find(_ kind: Capture.Kind, _ number: Int) -> String? {
        let names = ((try? Self.names(in: path)) ?? []).filter {
            Self.number(of: $0, kind) == number && !$0.hasSuffix(Self.part)
        }
        return (names.first { !Self.isProxy($0) } ?? names.first).map { path + "/" + $0 }
    }

    /// What stands before the ending of a still that is to become better.
    static let proxyEnding = "proxy."

    static func isProxy(_ path: String) -> Bool {
        path.split(separator: "/").last.map { $0.split(separator: ".").dropFirst().first == "proxy" } ?? false
    }

    /// Removes what a better one has taken the place of.
    func removeProxies(of number: Int) {
        for name in (try? Self.names(in: path)) ?? [] where Self.number(of: name, .still) == number && Self.isProxy(name) {
            _ = unsafe unlink(path + "/" + name)
        }
    }

    /// Makes a folder, and those that it lies in.
    static func make(_ path: String) throws(Fault) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        let root = path.hasPrefix("/") ? "/" : ""
        for depth in parts.indices {
            let folder = root + parts[...depth].joined(separator: "/")
            guard unsafe mkdir(folder, 0o750) == 0 || errno == EEXIST else { throw fault(folder) }
        }
    }

    /// Has the names in a folder survive a loss of power.
    static func sync(_ path: String) {
        let folder = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    /// - Parameter largest: of a larger file nothing is read.
    static func read(_ path: String, largest: Int) throws(Fault) -> [UInt8] {
        let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { throw fault(path) }
        let file = PassedDescriptor(owning: number)
        let size = lseek(file.number, 0, SEEK_END)
        guard size >= 0, size <= largest else { throw Fault(description: "\(path): has \(size) bytes") }
        var bytes = [UInt8](repeating: 0, count: size)
        guard unsafe pread(file.number, &bytes, size, 0) == size else { throw fault(path) }
        return bytes
    }

    static func size(of path: String) -> Int64? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// The number in a file's name, complete or not; nil for files of another kind.
    static func number(of name: String, _ kind: Capture.Kind) -> Int? {
        let prefix = kind.rawValue + "-"
        guard name.hasPrefix(prefix) else { return nil }
        let digits = name.dropFirst(prefix.count).prefix { $0 != "." }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(digits).flatMap { $0 < 1 << 53 ? $0 : nil }
    }

    static func names(in path: String) throws(Fault) -> [String] {
        guard let folder = unsafe opendir(path) else { throw fault(path) }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    static func fault(_ path: String) -> Fault {
        Fault(description: "\(path): \(unsafe String(cString: strerror(errno)))")
    }
}
