import Glibc

/// A file that is made, so that nothing of it stays where nothing could be written.
struct NewFile {
    private let path: String
    private let isNew: Bool

    /// Call it before the file is opened.
    init(_ path: String) {
        self.path = path
        var status = stat()
        isNew = unsafe path != "-" && lstat(path, &status) != 0 && errno == ENOENT
    }

    /// Removes it. What was there before, a device or a pipe stays.
    func remove() { if isNew { unsafe unlink(path) } }
}
