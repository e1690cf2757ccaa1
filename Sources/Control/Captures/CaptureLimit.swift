import Glibc
import WorkerProtocol

// What a stream's captures may take of the disk.
extension CaptureFolder {
    /// Stills and clips of one stream.
    static let most = 10_000
    /// In bytes.
    static let mostBytes: Int64 = 10_000_000_000
    /// What was begun and not completed so long ago, in seconds, a crash has left. A capture waits for idle cores for at most a day.
    private static let abandoned: Int64 = 2 * 86_400

    /// Deletes the oldest captures until there are no more than may be, and what crashes have left.
    /// - Parameters:
    ///   - spared: the path of one that was just made.
    ///   - now: seconds since 1970.
    func tidy(sparing spared: String, now: Int64, most: Int = most, mostBytes: Int64 = mostBytes) {
        var captures: [(path: String, time: Int64, number: Int, size: Int64)] = []
        for name in (try? Self.names(in: path)) ?? [] {
            guard let number = Capture.Kind.allCases.lazy.compactMap({ Self.number(of: name, $0) }).first else { continue }
            let path = path + "/" + name
            var status = stat()
            guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            let time = Int64(status.st_mtim.tv_sec)
            if name.hasSuffix(Self.part) {
                if now - time > Self.abandoned { _ = unsafe unlink(path) }
            } else {
                captures.append((path, time, number, Int64(status.st_size)))
            }
        }
        captures.sort { ($0.time, $0.number) < ($1.time, $1.number) }
        var (count, bytes) = (captures.count, captures.reduce(Int64(0)) { $0 + $1.size })
        for capture in captures where capture.path != spared {
            guard count > most || bytes > mostBytes else { return }
            guard unsafe unlink(capture.path) == 0 else { continue }
            (count, bytes) = (count - 1, bytes - capture.size)
        }
    }
}
