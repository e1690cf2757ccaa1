import Glibc
import WorkerProtocol

/// What is to be made later, on the disk: a file for each, beside the stills of all streams. What has the ending `.part` is not whole.
///
/// A value. Every call may block for as long as the disk takes.
struct DeferredFolder: Hashable, Sendable {
    /// A file that waits.
    struct Entry: Hashable, Sendable {
        var job: DeferredJob
        var path: String
        var bytes: Int64

        /// Where the process that works on it writes to.
        var resultPath: String { "\(path)\(DeferredFolder.part).\(ending)" }
        var ending: String { job.kind == .still ? "png" : job.format ?? "mp4" }
    }

    /// A file that a worker is to write.
    struct Begun: Sendable {
        /// Where it will be.
        var path: String
        var partPath: String { path + DeferredFolder.part }
        var file: PassedDescriptor
    }

    private static let part = ".part"
    private static let ending = ".job"
    /// The words of the service at a file's end are no longer.
    private static let mostWords = 1 << 16

    /// Of stills and clips of all streams.
    let root: String
    var path: String { root + "/.deferred" }

    init(_ root: String) { self.root = root }

    /// Makes a file for a still or clip. One that a crash left half written is made anew.
    func begin(_ kind: DeferredJob.Kind, of stream: String, _ number: Int) throws(CaptureFolder.Fault) -> Begun {
        try CaptureFolder.make(path)
        let whole = "\(path)/\(stream).\(kind.rawValue)-\(number)\(Self.ending)"
        _ = unsafe unlink(whole + Self.part)
        let file = unsafe open(whole + Self.part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw CaptureFolder.fault(whole) }
        return Begun(path: whole, file: PassedDescriptor(owning: file))
    }

    /// Writes what is to be done behind what the worker has written, and gives the file its name once all is on the disk.
    /// - Parameter limit: a larger file is refused.
    func complete(_ begun: Begun, _ job: DeferredJob, limit: Int64) throws(CaptureFolder.Fault) -> Entry {
        let size = lseek(begun.file.number, 0, SEEK_END)
        guard size > 0, size <= limit else {
            throw CaptureFolder.Fault(description: "\(begun.path): has \(size) bytes, and may have \(limit)")
        }
        let trailer = job.trailer
        if let fault = unsafe trailer.withUnsafeBytes({ unsafe begun.file.write($0, at: Int64(size)) }) {
            throw CaptureFolder.Fault(description: "\(begun.path): \(fault)")
        }
        guard fsync(begun.file.number) == 0, unsafe rename(begun.partPath, begun.path) == 0 else {
            throw CaptureFolder.fault(begun.path)
        }
        CaptureFolder.sync(path)
        return Entry(job: job, path: begun.path, bytes: Int64(size + trailer.count))
    }

    func abandon(_ begun: Begun) { _ = unsafe unlink(begun.partPath) }

    /// Gives what was made of a file its place among the stream's captures, and removes the file and the proxy.
    /// - Returns: the path of the result.
    func finish(_ entry: Entry) throws(CaptureFolder.Fault) -> String {
        let folder = CaptureFolder(root, stream: entry.job.stream)
        try CaptureFolder.make(folder.path)
        let whole = "\(folder.path)/\(entry.job.kind.rawValue)-\(entry.job.number).\(entry.ending)"
        guard unsafe rename(entry.resultPath, whole) == 0 else { throw CaptureFolder.fault(whole) }
        CaptureFolder.sync(folder.path)
        remove(entry)
        if entry.job.kind == .still { folder.removeProxies(of: entry.job.number) } else { folder.abandon(whole) }
        return whole
    }

    /// Removes what a process left that did not end well.
    static func clean(_ entry: Entry) {
        _ = unsafe unlink(entry.resultPath)
        _ = unsafe unlink(entry.resultPath + part)
    }

    func remove(_ entry: Entry) {
        Self.clean(entry)
        _ = unsafe unlink(entry.path)
    }

    /// What waits, the oldest first. Removes what was left half written: call it where nobody writes.
    /// - Returns: how many files could not be used, too. They are removed.
    func scan() -> (entries: [Entry], unusable: Int) {
        var entries: [Entry] = []
        var unusable = 0
        for name in (try? CaptureFolder.names(in: path)) ?? [] {
            let file = path + "/" + name
            if name.hasSuffix(Self.part) || name.contains(Self.ending + Self.part + ".") {
                _ = unsafe unlink(file)
            } else if name.hasSuffix(Self.ending) {
                guard let entry = Self.entry(file) else {
                    unusable += 1
                    _ = unsafe unlink(file)
                    continue
                }
                let folder = CaptureFolder(root, stream: entry.job.stream)
                // It was made, and the service was killed before it removed the file.
                let kind: Capture.Kind = entry.job.kind == .still ? .still : .clip
                if let made = folder.find(kind, entry.job.number), !CaptureFolder.isProxy(made) {
                    remove(entry)
                    folder.removeProxies(of: entry.job.number)
                } else {
                    entries.append(entry)
                }
            }
        }
        return (entries.sorted { ($0.job.time, $0.path) < ($1.job.time, $1.path) }, unusable)
    }

    private static func entry(_ path: String) -> Entry? {
        let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = PassedDescriptor(owning: number)
        let size = lseek(file.number, 0, SEEK_END)
        let count = min(max(size, 0), mostWords)
        var bytes = [UInt8](repeating: 0, count: count)
        guard count > 0, unsafe pread(file.number, &bytes, count, size - count) == count,
            let job = DeferredJob.read(bytes)?.job
        else { return nil }
        // Its words choose where the result goes.
        guard job.kind == .still || job.format.flatMap(ClipFormat.init) != nil else { return nil }
        guard !job.stream.isEmpty, !job.stream.contains("/"), !job.stream.hasPrefix("."), (1...(1 << 53)).contains(job.number)
        else { return nil }
        return Entry(job: job, path: path, bytes: Int64(size))
    }
}
