import Foundation
import Glibc
import Media
import Telemetry
import Testing

/// `burnish top` on a terminal.
@Suite(.timeLimit(.minutes(10))) struct TopCommandTests {
    /// A terminal of 100 columns and 30 lines, and `burnish top` on it.
    private final class Session {
        let master: Int32
        let terminal: Int32
        let process = Process()
        private let map: Int32
        private(set) var text = ""

        // From asm/ioctls.h, whose macros Swift does not import: TIOCSPTLCK, TIOCGPTN.
        private static let setLock: UInt = 0x4004_5431
        private static let getNumber: UInt = 0x8004_5430

        init() throws {
            map = try TelemetryMap.create()
            var gauges = StreamGauges()
            gauges.rate = 12.3
            try TelemetryMap.Writer(map).write(gauges)
            master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var (isLocked, number): (Int32, Int32) = (0, 0)
            try #require(
                ioctl(master, Self.setLock, &isLocked) == 0 && ioctl(master, Self.getNumber, &number) == 0, "no terminal")
            terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var size = winsize(ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
            try #require(terminal >= 0 && ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0)
            process.executableURL = Program.executable
            process.arguments = ["top", "/proc/\(getpid())/fd/\(map)", "--interval", "50ms"]
            let handle = FileHandle(fileDescriptor: terminal)
            process.standardInput = handle
            process.standardOutput = handle
            process.standardError = handle
        }

        deinit {
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            for descriptor in [master, terminal, map] { close(descriptor) }
        }

        /// What the terminal does with keys.
        var mode: tcflag_t {
            var state = termios()
            tcgetattr(terminal, &state)
            return state.c_lflag
        }

        /// Reads what the program draws until a text appears.
        func read(until wanted: String) {
            var bytes = [UInt8](repeating: 0, count: 4096)
            while !text.contains(wanted) {
                let count = Glibc.read(master, &bytes, bytes.count)
                guard count > 0 else { return }
                text += String(decoding: bytes[..<count], as: UTF8.self)
            }
        }

        func type(_ key: UInt8) {
            var byte = key
            _ = write(master, &byte, 1)
        }
    }

    private static let left = "\u{1B}[?25h\u{1B}[?1049l"

    @Test(arguments: ["q", "interrupt", "SIGTERM"]) func theTerminalIsAsItWas(end: String) throws {
        let session = try Session()
        let before = session.mode
        try session.process.run()
        session.read(until: "units ")
        #expect(session.text.hasPrefix("\u{1B}[?1049h\u{1B}[?25l") && session.mode & tcflag_t(ICANON | ECHO) == 0)
        #expect(session.text.contains("burnish top: ") && session.text.contains("12.3 frames/s"))
        switch end {
        case "q": session.type(UInt8(ascii: "q"))
        case "interrupt": session.type(3)
        default: kill(session.process.processIdentifier, SIGTERM)
        }
        session.read(until: Self.left)
        session.process.waitUntilExit()
        #expect(session.process.terminationReason == .exit && session.process.terminationStatus == 0)
        #expect(session.text.hasSuffix(Self.left) && session.mode == before)
    }

    /// The picture follows the terminal's size.
    @Test func theSizeIsFollowed() throws {
        let session = try Session()
        try session.process.run()
        session.read(until: "units ")
        var size = winsize(ws_row: 5, ws_col: 12, ws_xpixel: 0, ws_ypixel: 0)
        #expect(ioctl(session.terminal, UInt(TIOCSWINSZ), &size) == 0)
        // The title is cut to the columns.
        session.read(until: "\u{1B}[1mburnish top:\u{1B}[0m")
        #expect(session.text.contains("\u{1B}[1mburnish top:\u{1B}[0m"))
        session.type(UInt8(ascii: "q"))
        session.read(until: Self.left)
        session.process.waitUntilExit()
        #expect(session.process.terminationStatus == 0)
    }
}
