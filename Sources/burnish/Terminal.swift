import Foundation
import Glibc
import Media

/// The terminal that a live command draws on: a screen of its own, keys without the return key.
///
/// Ctrl-C and Ctrl-Z come as keys, so that the terminal is never left as it is while drawing. SIGINT and SIGTERM of others are
/// for ``StopRequest``.
struct Terminal {
    private enum Key {
        static let interrupt: UInt8 = 3
        static let suspend: UInt8 = 26
        static let quit = UInt8(ascii: "q")
    }

    /// As it was before; nil where standard input is no terminal.
    private let former: termios?

    init() {
        var state = termios()
        former = tcgetattr(STDIN_FILENO, &state) == 0 ? state : nil
    }

    func enter() {
        if var state = former {
            state.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
            tcsetattr(STDIN_FILENO, TCSANOW, &state)
        }
        // Another screen, without the cursor.
        write("\u{1B}[?1049h\u{1B}[?25l")
    }

    func leave() {
        write("\u{1B}[?25h\u{1B}[?1049l")
        if var state = former { tcsetattr(STDIN_FILENO, TCSANOW, &state) }
    }

    /// In columns and lines; 80 by 24 where the terminal does not say.
    var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Draws lines from the top, in one piece: the screen does not flicker.
    func show(_ lines: [String]) {
        let text = lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
        write("\u{1B}[H" + text + "\u{1B}[J")
    }

    /// Waits for the key that ends the command.
    /// - Returns: whether it came, or a signal that ends the command.
    func isEndRequested(until limit: MonotonicTime) -> Bool {
        while !StopRequest.isMade {
            let left = (limit - .now()).milliseconds
            guard left > 0 else { return false }
            guard former != nil else {
                Self.pause(until: limit)
                continue
            }
            var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&input, 1, Int32(min(left.rounded(.up), 100))) > 0 else { continue }
            var key: UInt8 = 0
            guard read(STDIN_FILENO, &key, 1) == 1 else { return true }
            switch key {
            case Key.quit, Key.interrupt: return true
            case Key.suspend:
                leave()
                raise(SIGSTOP)
                enter()
            default: break
            }
        }
        return true
    }

    /// Waits, but not beyond a request to stop.
    static func pause(until limit: MonotonicTime) {
        while !StopRequest.isMade, MonotonicTime.now() < limit {
            min(limit, .now() + .milliseconds(50.0)).sleep()
        }
    }

    private func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withContiguousStorageIfAvailable { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) } ?? -1
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
