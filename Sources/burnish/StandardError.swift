import Glibc

/// One-line messages for people. Standard output belongs to the data.
enum StandardError {
    static func line(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
