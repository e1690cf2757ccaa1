import Glibc
import Media
import Offline

/// One line on a terminal that says how far the work on a file is. It writes itself anew in the same place. Where standard error
/// is no terminal nothing is written.
struct ProgressLine {
    private let name: String?
    private let isShown: Bool
    private let progress: FileProgress
    private var next: MonotonicTime
    private var isThere = false

    private static let interval = Nanoseconds.milliseconds(200)
    private static let eraseLine = "\r\u{1B}[K"

    /// - Parameter name: of the file, where there are several.
    init(of name: String?, isWanted: Bool) {
        self.name = name
        isShown = isWanted && isatty(STDERR_FILENO) != 0
        let now = MonotonicTime.now()
        progress = FileProgress(since: now)
        next = now + Self.interval
    }

    mutating func show(_ done: Int, of all: Int?) {
        guard isShown else { return }
        let now = MonotonicTime.now()
        guard now >= next else { return }
        next = now + Self.interval
        let text = (name.map { "\($0): " } ?? "") + progress.text(done, of: all, at: now)
        StandardError.text(Self.eraseLine + text.prefix(Self.width - 1))
        isThere = true
    }

    /// Makes room for other lines.
    mutating func clear() {
        if isThere { StandardError.text(Self.eraseLine) }
        isThere = false
    }

    /// Columns of the terminal: a longer line would not be written over.
    private static var width: Int {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1 ? Int(size.ws_col) : 80
    }
}
