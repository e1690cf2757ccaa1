import Endpoint
import Glibc
import ServiceConfiguration
import Settings
import WorkerProtocol

/// Opens the files that a stream's URLs and settings name, since a worker cannot.
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
        !definition.values.files.isEmpty || definition.legs.contains { Place($0.url, isInput: true) != nil }
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
        for (index, leg) in definition.legs.enumerated() {
            let isInput = index == 0
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
