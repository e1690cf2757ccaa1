import Glibc
import Media
import WorkerProtocol

/// Where `burnishd reload`, `burnish still` and `burnish clip` find the running service: a socket in the runtime folder, for the service's user and root alone.
///
/// A request is one packet of words, the answer one packet: `good` or `bad`, a space, and one line for people.
public enum ControlSocket {
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String
    }

    public struct Answer: Hashable, Sendable {
        public var isGood: Bool
        /// One line.
        public var text: String

        public init(isGood: Bool, text: String) {
            self.isGood = isGood
            self.text = text
        }
    }

    static let longestRequest = 512
    static let longestAnswer = ServiceSocket.longestAnswer

    /// Asks the running service, and waits for its answer.
    /// - Parameter path: of the socket.
    public static func ask(_ request: String, at path: String, timeout: Nanoseconds = .seconds(60)) throws(Fault) -> Answer {
        let text: String
        do throws(ServiceSocket.Fault) { text = try ServiceSocket.ask(request, at: path, timeout: timeout) } catch {
            throw Fault(description: error.description)
        }
        return try parse(text)
    }

    static func parse(_ text: String) throws(Fault) -> Answer {
        for (word, isGood) in [("good", true), ("bad", false)] where text.hasPrefix(word + " ") {
            return Answer(isGood: isGood, text: String(text.dropFirst(word.count + 1)))
        }
        throw Fault(description: "the service gave an answer of another version")
    }

    /// Whether a process listens there.
    private static func isListened(at path: String) throws(Fault) -> Bool {
        let number = try make()
        defer { close(number) }
        return unsafe withAddress(of: path, { unsafe connect(number, $0, $1) }) == 0
    }

    private static func make() throws(Fault) -> Int32 {
        let number = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw Fault(description: "no socket: \(unsafe String(cString: strerror(errno)))") }
        return number
    }

    /// - Returns: nil where the path is too long.
    private static func withAddress(of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < 108 else { return nil }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// The service's side.
    final class Listener: Sendable {
        /// Connections at a time.
        private static let most = 8

        private struct State {
            var loop: EventLoop?
            var answer: (@Sendable (String) async -> Answer)?
            var connections: Set<Int32> = []
        }

        private let path: String
        private let number: Int32
        private let state = Lock(State())

        /// Listens. Callers wait until ``start(on:answer:)``.
        init(path: String) throws(Fault) {
            self.path = path
            number = try ControlSocket.make()
            try bind()
        }

        /// Also where `init` throws in the end.
        deinit {
            // Also for a child that is being started, which has a copy until its program begins.
            shutdown(number, Int32(SHUT_RDWR))
            close(number)
        }

        private func bind() throws(Fault) {
            func attempt() throws(Fault) -> Bool {
                guard let code = unsafe withAddress(of: path, { unsafe Glibc.bind(number, $0, $1) }) else {
                    throw Fault(description: "\(path): the path is too long for a socket")
                }
                if code == 0 { return true }
                guard errno == EADDRINUSE else {
                    throw Fault(description: "\(path): \(unsafe String(cString: strerror(errno)))")
                }
                return false
            }
            if try !attempt() {
                guard try !ControlSocket.isListened(at: path) else {
                    throw Fault(description: "\(path): another burnishd runs already")
                }
                // A service that was killed left it.
                unsafe unlink(path)
                guard try attempt() else { throw Fault(description: "\(path): another burnishd runs already") }
            }
            // Nobody can connect before `listen`.
            guard unsafe chmod(path, 0o600) == 0, listen(number, Int32(Self.most)) == 0 else {
                throw Fault(description: "\(path): \(unsafe String(cString: strerror(errno)))")
            }
            _ = fcntl(number, F_SETFL, O_NONBLOCK)
        }

        /// - Parameter answer: answers a request.
        func start(on loop: EventLoop, answer: @escaping @Sendable (String) async -> Answer) {
            state.withLock { ($0.loop, $0.answer) = (loop, answer) }
            loop.watch(number) { [weak self] _ in self?.accept(loop) }
        }

        /// Takes the socket away, so that nobody finds it.
        func stop() {
            let (loop, connections) = state.withLock { ($0.loop, $0.connections) }
            loop?.forget(number)
            unsafe unlink(path)
            for connection in connections { end(connection, loop) }
        }

        private func accept(_ loop: EventLoop) {
            let connection = Glibc.accept(number, nil, nil)
            guard connection >= 0 else { return }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            _ = fcntl(connection, F_SETFL, O_NONBLOCK)
            let hasRoom = state.withLock { state in
                guard state.connections.count < Self.most else { return false }
                state.connections.insert(connection)
                return true
            }
            guard hasRoom else {
                close(connection)
                return
            }
            loop.watch(connection) { [weak self] _ in self?.read(connection, loop) }
        }

        private func read(_ connection: Int32, _ loop: EventLoop) {
            var bytes = [UInt8](repeating: 0, count: ControlSocket.longestRequest)
            let count = unsafe recv(connection, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            if count < 0 && errno == EAGAIN { return }
            // One request for each connection.
            loop.forget(connection)
            guard count > 0, let answer = state.withLock({ $0.answer }) else { return end(connection, loop) }
            let request = String(decoding: bytes[..<count], as: UTF8.self)
            Task { [self] in
                let answer = await answer(request)
                let bytes = Array(((answer.isGood ? "good " : "bad ") + answer.text).utf8.prefix(ControlSocket.longestAnswer))
                state.withLock {
                    // The service may have ended meanwhile, and another descriptor may have this number.
                    guard $0.connections.remove(connection) != nil else { return }
                    _ = unsafe Glibc.send(connection, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                    close(connection)
                }
            }
        }

        private func end(_ connection: Int32, _ loop: EventLoop?) {
            guard state.withLock({ $0.connections.remove(connection) }) != nil else { return }
            loop?.forget(connection)
            close(connection)
        }
    }
}
