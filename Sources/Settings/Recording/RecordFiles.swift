import Glibc
import Media

/// The files of a stream's recording on the disk.
///
/// A value. Every call may block for as long as the disk takes.
public struct RecordFiles: Sendable {
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String
    }

    /// A file that was made.
    public struct Opened: Sendable {
        public var path: String
        /// The caller closes it.
        public var descriptor: Int32
    }

    /// With less room on the disk no file is begun: each would be a few bytes long.
    public static let leastRoom: UInt64 = 16_000_000
    /// What was written so lately may still grow, and is not deleted.
    static let rest: Int64 = 60

    private let settings: RecordSettings
    private let stream: String
    /// Whether files may lie in a folder, whose path has no links in it.
    private let allows: @Sendable (String) -> Bool
    private let leastRoom: UInt64

    public init(
        _ settings: RecordSettings, stream: String, leastRoom: UInt64 = Self.leastRoom,
        allows: @escaping @Sendable (String) -> Bool = { _ in true }
    ) {
        (self.settings, self.stream, self.leastRoom, self.allows) = (settings, stream, leastRoom, allows)
    }

    // MARK: A new file

    /// Makes the file of a time. Folders that are missing are made.
    /// - Parameter now: seconds since 1970.
    public func open(now: Int64) throws(Fault) -> Opened {
        guard let pattern = settings.pattern else { throw Fault(description: "nothing is to be recorded") }
        let first = pattern.path(stream: stream, time: now)
        let folder = String(first[..<(first.lastIndex(of: "/") ?? first.startIndex)])
        try makeFolders(folder)
        var room = statvfs()
        if unsafe statvfs(folder, &room) == 0, UInt64(room.f_bavail) * UInt64(room.f_frsize) < leastRoom {
            let left = UInt64(room.f_bavail) * UInt64(room.f_frsize) / 1_000_000
            throw Fault(description: "\(folder): the disk has \(left) MB left: make room, or set record-keep-size")
        }
        for copy in 1...RecordPattern.mostSame {
            let path = pattern.path(stream: stream, time: now, copy: copy)
            let number = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
            guard number >= 0 else {
                if errno == EEXIST { continue }
                throw Self.fault(path)
            }
            // The folders may have been exchanged for links meanwhile.
            guard let real = Self.resolved("/proc/self/fd/\(number)"), allows(real) else {
                close(number)
                _ = unsafe unlink(path)
                throw Self.outside(path)
            }
            return Opened(path: path, descriptor: number)
        }
        throw Fault(description: "\(first): \(RecordPattern.mostSame) files have this time: put %S into record")
    }

    private func makeFolders(_ folder: String) throws(Fault) {
        let parts = folder.split(separator: "/")
        for depth in 0...parts.count {
            let path = "/" + parts.prefix(depth).joined(separator: "/")
            var status = stat()
            if unsafe stat(path, &status) == 0 {
                if depth < parts.count { continue }
                guard let real = Self.resolved(path), allows(real) else { throw Self.outside(path) }
                return
            }
            // Before it is made: a link must not have it made elsewhere.
            let parent = "/" + parts.prefix(depth - 1).joined(separator: "/")
            guard let real = Self.resolved(parent), allows(real) else { throw Self.outside(path) }
            guard unsafe mkdir(path, 0o750) == 0 || errno == EEXIST else { throw Self.fault(path) }
        }
    }

    /// Removes a file in which nothing was written.
    public static func removeEmpty(_ path: String) {
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 { _ = unsafe unlink(path) }
    }

    // MARK: Old files

    private struct Old {
        var path: String
        var time: Int64
        var size: Int64
    }

    /// Deletes what is not to be kept of the files that the pattern names, the oldest first, and folders that it leaves empty.
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - spared: the file that is being written.
    /// - Returns: what was deleted.
    @discardableResult public func tidy(now: Int64, sparing spared: String? = nil) -> [String] {
        guard let pattern = settings.pattern, settings.keep != nil || settings.keepSize != nil else { return [] }
        let root = pattern.root(stream: stream)
        guard let real = Self.resolved(root), allows(real) else { return [] }
        var files: [Old] = []
        collect(root == "/" ? "" : root, 0, pattern, &files)
        files.sort { ($0.time, $0.path) < ($1.time, $1.path) }
        var total = files.reduce(Int64(0)) { $0 + $1.size }
        var deleted: [String] = []
        for file in files where file.path != spared && now - file.time >= Self.rest {
            let isOld = settings.keep.map { Double(now - file.time) > $0.seconds } ?? false
            let isTooMuch = settings.keepSize.map { total > $0 } ?? false
            guard isOld || isTooMuch, unsafe unlink(file.path) == 0 else { continue }
            total -= file.size
            deleted.append(file.path)
        }
        for path in deleted { removeFolders(above: path, depth: pattern.depth) }
        return deleted
    }

    private func collect(_ folder: String, _ level: Int, _ pattern: RecordPattern, _ files: inout [Old]) {
        guard let open = unsafe opendir(folder.isEmpty ? "/" : folder) else { return }
        defer { unsafe closedir(open) }
        while let entry = unsafe readdir(open) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard name != ".", name != "..", pattern.matches(name, level: level, stream: stream) else { continue }
            let path = folder + "/" + name
            var status = stat()
            // Links are followed nowhere.
            guard unsafe lstat(path, &status) == 0 else { continue }
            if level == pattern.depth, status.st_mode & S_IFMT == S_IFREG {
                files.append(Old(path: path, time: Int64(status.st_mtim.tv_sec), size: Int64(status.st_size)))
            } else if level < pattern.depth, status.st_mode & S_IFMT == S_IFDIR {
                collect(path, level + 1, pattern, &files)
            }
        }
    }

    /// Removes the folders of the pattern above a file that are empty.
    private func removeFolders(above path: String, depth: Int) {
        var folder = path[...]
        for _ in 0..<depth {
            guard let slash = folder.lastIndex(of: "/") else { return }
            folder = folder[..<slash]
            guard unsafe rmdir(String(folder)) == 0 else { return }
        }
    }

    private static func outside(_ path: String) -> Fault {
        Fault(description: "\(path): is not below one of the configuration's files.folders")
    }

    private static func fault(_ path: String) -> Fault {
        Fault(description: "\(path): \(unsafe String(cString: strerror(errno)))")
    }

    /// The path without links.
    private static func resolved(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}
