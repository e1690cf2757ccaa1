import Endpoint
import Glibc
import Packets
import ServiceConfiguration
import Settings
import WorkerProtocol

/// Opens the files that a stream's URLs and settings name, and the TCP socket of its calls, since a worker cannot.
enum StreamFiles {
    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    /// A file that a worker gets.
    private struct Place {
        enum Use { case read, append, replace }

        var path: String
        var use: Use

        init(reading path: String) { (self.path, use) = (path, .read) }

        init?(_ url: StreamURL, isInput: Bool) {
            switch url {
            case .file(let path): (self.path, use) = (path, isInput ? .read : .append)
            case .sdp(let endpoint) where endpoint.isWritten: (path, use) = (endpoint.path, .replace)
            case .sdp, .srt, .rtp, .udp, .call, .standardStream: return nil
            }
        }
    }

    static func areNeeded(for definition: StreamDefinition) -> Bool {
        !definition.values.files.isEmpty || tcpPort(of: definition) != nil
            || definition.legs.contains { Place($0.url, isInput: true) != nil }
    }

    private static func tcpPort(of url: StreamURL) -> UInt16? {
        if case .call(let endpoint) = url { endpoint.tcp } else { nil }
    }

    /// All calls of a stream share one.
    private static func tcpPort(of definition: StreamDefinition) -> UInt16? {
        let ports = definition.legs.compactMap { tcpPort(of: $0.url) }
        return ports.first { $0 > 0 } ?? ports.first
    }

    /// May block, for as long as a disk or a network file system takes.
    /// - Parameters:
    ///   - configured: what the configuration file says of the stream. A leg that it names may lie anywhere.
    ///   - free: paths of files of settings that may lie anywhere, since the configuration file names them.
    ///   - folders: where other files must lie: the API names them. Links are followed first, so that none leads out.
    /// - Returns: descriptors that do not block, the input's first, and those of settings last. An output is appended to: a stream that
    ///   starts again must not lose what it has recorded. A session description is written anew.
    static func open(
        of definition: StreamDefinition, configured: StreamDefinition?, free: Set<String> = [], below folders: [String]
    ) throws(Fault) -> [PassedDescriptor] {
        var files: [PassedDescriptor] = []
        var port = tcpPort(of: definition)
        for (index, leg) in definition.legs.enumerated() {
            let isInput = index == 0
            if let number = port, tcpPort(of: leg.url) != nil {
                files.append(try listen(number, for: leg.url))
                port = nil
            }
            guard let place = Place(leg.url, isInput: isInput) else { continue }
            let isConfigured = isInput ? configured?.input == leg : configured?.outputs.contains(leg) ?? false
            files.append(try open(place, below: isConfigured ? nil : folders))
        }
        do throws(ServiceFault) {
            return files + (try open(definition.values.files, free: free, below: folders))
        } catch {
            throw Fault(description: error.text)
        }
    }

    /// Opens files that settings name. May block.
    /// - Parameters: as of ``open(of:configured:free:below:)``.
    /// - Throws: with the setting.
    static func open(
        _ files: [(key: String, path: String)], free: Set<String>, below folders: [String]
    ) throws(ServiceFault) -> [PassedDescriptor] {
        var opened: [PassedDescriptor] = []
        for file in files {
            do throws(Fault) {
                opened.append(try open(Place(reading: file.path), below: free.contains(file.path) ? nil : folders))
            } catch {
                throw ServiceFault(.invalid, key: file.key, error.description)
            }
        }
        return opened
    }

    /// So many bytes of a connection wait in the kernel: a large keyframe, or a second at 1 Mb/s.
    private static let mostUnsent = 128 << 10

    /// A TCP socket at all addresses of both families, or of IPv4 where there is no other. What it accepts inherits its options: packets
    /// leave at once, and the kernel keeps little for a slow reader.
    private static func listen(_ port: UInt16, for url: StreamURL) throws(Fault) -> PassedDescriptor {
        func fault() -> Fault { Fault(description: "\(url): TCP port \(port): \(unsafe String(cString: strerror(errno)))") }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let both = socket(AF_INET6, kind, 0)
        let number = both >= 0 ? both : socket(AF_INET, kind, 0)
        guard number >= 0 else { throw fault() }
        let listener = PassedDescriptor(owning: number)
        let options = [
            (SOL_SOCKET, SO_REUSEADDR, 1), (SOL_SOCKET, SO_SNDBUF, 512 << 10), (Int32(IPPROTO_TCP), TCP_NODELAY, 1),
            (Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, mostUnsent), (Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0),
        ]
        for (level, option, value) in options {
            var value = Int32(value)
            // An IPv4 socket has not all of them.
            _ = unsafe setsockopt(number, level, option, &value, 4)
        }
        let address = both >= 0 ? SocketAddress(ipv6: (0, 0), port: port) : SocketAddress(ipv4: 0, port: port)
        let isBound = unsafe address.withSockaddr { unsafe bind(number, $0, $1) } == 0
        guard isBound, Glibc.listen(number, 64) == 0 else { throw fault() }
        return listener
    }

    private static func open(_ place: Place, below folders: [String]?) throws(Fault) -> PassedDescriptor {
        let path = place.path
        if let folders {
            // Before the file is made: a link must not have one made elsewhere.
            let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
            try check(resolved(String(path[..<slash]) + "/"), path, folders)
        }
        let link = folders == nil ? 0 : O_NOFOLLOW
        // A pipe without a reader or writer must not hold up the supervisor.
        var flags = O_CLOEXEC | O_NONBLOCK | link
        switch place.use {
        case .read: flags |= O_RDONLY
        case .append: flags |= O_WRONLY | O_CREAT | O_APPEND
        case .replace: flags |= O_WRONLY | O_CREAT
        }
        // Receivers, which are other programs, read a description.
        var number = unsafe Glibc.open(path, flags, place.use == .replace ? 0o644 : 0o640)
        if number < 0, errno == ENXIO, place.use == .append {
            // Nobody reads the pipe yet. The worker waits for a reader.
            let reader = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | link)
            number = unsafe Glibc.open(path, flags, 0o640)
            if reader >= 0 { close(reader) }
        }
        guard number >= 0 else { throw Fault(description: "\(path): \(unsafe String(cString: strerror(errno)))") }
        let file = PassedDescriptor(owning: number)
        // The folders may have been exchanged for links meanwhile.
        if let folders { try check(resolved("/proc/self/fd/\(number)"), path, folders) }
        if place.use == .replace, ftruncate(number, 0) != 0 {
            throw Fault(description: "\(path): \(unsafe String(cString: strerror(errno)))")
        }
        return file
    }

    private static func check(_ real: String?, _ path: String, _ folders: [String]) throws(Fault) {
        guard let real, isBelow(real, folders) else {
            throw Fault(description: "\(path): is not below one of the configuration's files.folders")
        }
    }

    /// Whether a path without links lies in one of some folders.
    static func isBelow(_ real: String, _ folders: [String]) -> Bool {
        folders.contains { folder in
            guard let folder = resolved(folder) else { return false }
            return folder == "/" || real == folder || real.hasPrefix(folder + "/")
        }
    }

    /// The path without links.
    private static func resolved(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}
