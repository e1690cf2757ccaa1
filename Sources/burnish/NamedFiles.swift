import Endpoint
import Foundation
import Glibc

/// The files that a command reads and writes. It refuses to write a file that it also reads, or one file twice, because
/// opening a file for writing would destroy it.
struct NamedFiles {
    /// The file that a name leads to, links followed. Devices and pipes may be used any number of times.
    private enum Place: Equatable {
        case file(device: UInt64, number: UInt64)
        /// A file that does not exist yet: a name in a folder.
        case new(folder: UInt64, number: UInt64, name: String)
    }

    private var known: [(place: Place, option: String, isRead: Bool)] = []

    /// - Parameters:
    ///   - path: nil where the option is not given; `-` is standard input or output.
    ///   - option: as it is written on the command line.
    /// - Throws: after one line on standard error, the exit code for bad usage.
    mutating func read(_ path: String?, _ option: String) throws { try add(path, option, isRead: true) }
    mutating func write(_ path: String?, _ option: String) throws { try add(path, option, isRead: false) }

    private mutating func add(_ path: String?, _ option: String, isRead: Bool) throws {
        guard let path, let place = Self.place(of: path, isRead: isRead) else { return }
        if let other = known.first(where: { $0.place == place && !($0.isRead && isRead) }) {
            let harm = other.isRead || isRead ? "the input would be overwritten" : "one would overwrite the other"
            StandardError.line("burnish: \(other.option) and \(option) are the same file, \(path): \(harm); give two files")
            throw Failure.badUsage
        }
        known.append((place, option, isRead))
    }

    private static func place(of path: String, isRead: Bool) -> Place? {
        var status = stat()
        let code = path == "-" ? fstat(isRead ? STDIN_FILENO : STDOUT_FILENO, &status) : stat(path, &status)
        if code == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { return nil }
            return .file(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
        }
        let url = URL(filePath: path)
        guard path != "-", stat(url.deletingLastPathComponent().path, &status) == 0 else { return nil }
        return .new(
            folder: UInt64(status.st_dev), number: UInt64(status.st_ino), name: url.lastPathComponent)
    }
}

extension StreamURL {
    /// Reads a URL of an instrument, which sends or receives a transport stream.
    static func ofTransportStream(_ text: String) throws(TransportError) -> StreamURL {
        let url = try StreamURL(text)
        guard case .sdp(let endpoint) = url else { return url }
        throw TransportError(
            .badURL, place: endpoint.description,
            "plain RTP is for burnish relay; give srt://, rtp:// (MPEG-TS), udp:// or a path")
    }

    /// The path for ``NamedFiles``; nil for an address on the network.
    var path: String? {
        switch self {
        case .file(let path): path
        case .standardStream: "-"
        // A description is read, or written before anything is sent.
        case .sdp(let endpoint): endpoint.path
        case .srt, .rtp, .udp, .call: nil
        }
    }
}
