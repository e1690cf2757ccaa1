import Glibc

/// Messages for people. Standard output belongs to the data.
enum StandardError {
    static func line(_ text: String) { self.text(text + "\n") }

    /// Writes without ending the line.
    static func text(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
