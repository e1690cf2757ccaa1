import Glibc
import Media

/// Asks the running service by the socket in its runtime folder, which its user and root may use.
public enum ServiceSocket {
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String
    }

    public static let longestAnswer = 4096

    /// Sends a request of one packet, and waits for the answer.
    /// - Parameter path: of the socket.
    public static func ask(_ request: String, at path: String, timeout: Nanoseconds = .seconds(60)) throws(Fault) -> String {
        let number = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw Fault(description: "no socket: \(unsafe String(cString: strerror(errno)))") }
        defer { close(number) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        guard name.count < 108 else { throw Fault(description: "\(path): the path is too long for a socket") }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let code = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            throw Fault(
                description: "no service answers at \(path) (\(reason)): is burnishd running, and are you its user or root?")
        }
        var limit = timeval(tv_sec: Int(timeout.seconds), tv_usec: 0)
        unsafe setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array(request.utf8)
        guard unsafe send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Fault(description: "\(path): the service does not listen: \(unsafe String(cString: strerror(errno)))")
        }
        var answer = [UInt8](repeating: 0, count: longestAnswer)
        let count = unsafe recv(number, &answer, answer.count, 0)
        guard count > 0 else { throw Fault(description: "\(path): the service gave no answer") }
        return String(decoding: answer[..<count], as: UTF8.self)
    }
}
