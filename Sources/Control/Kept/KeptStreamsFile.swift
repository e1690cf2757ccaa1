import Glibc
import Media
import ServiceConfiguration

/// The file in the state directory that keeps the streams which the API made. Its owner alone may read it, because it holds their
/// secrets. It is replaced as a whole, so that it is never half written.
///
/// Thread-safe. A thread of its own writes, because a disk may be slow; of several states that wait the newest is written.
final class KeptStreamsFile: Sendable {
    private struct State {
        var waiting: [UInt8]?
        var waiters: [CheckedContinuation<String?, Never>] = []
        var isWriting = false
        /// What is there cannot be used: it is set aside before something else takes its place.
        var mustSetAside = false
    }

    let path: String
    private let folder: String
    private let state = Lock(State())

    /// - Parameter folder: made when it is first written.
    init(folder: String) {
        self.folder = folder
        path = folder + "/streams.json"
    }

    /// What the file keeps; empty where there is none. May block: for the start of the service.
    /// - Throws: why it cannot be used. It stays as it is, and is set aside when other streams are to be kept.
    func read() throws(ConfigurationEnvironment.ReadFailure) -> [KeptStream] {
        guard unsafe access(path, F_OK) == 0 else { return [] }
        do throws(ConfigurationEnvironment.ReadFailure) {
            let read = ConfigurationEnvironment.process(file: nil).read
            return try KeptStreamsText.streams(in: try read(path, KeptStreamsText.largest))
        } catch {
            state.withLock { $0.mustSetAside = true }
            throw error
        }
    }

    /// Writes the streams.
    /// - Returns: why that cannot be done, when it has been tried; nil when they are on the disk.
    func write(_ streams: [KeptStream]) async -> String? {
        let bytes = KeptStreamsText.bytes(of: streams)
        return await withCheckedContinuation { waiter in
            let isFirst = state.withLock { state in
                state.waiting = bytes
                state.waiters.append(waiter)
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if isFirst { StageThread(name: "kept-streams") { [self] in work() }.detach() }
        }
    }

    private func work() {
        while true {
            let next = state.withLock { state -> ([UInt8], [CheckedContinuation<String?, Never>], Bool)? in
                guard let bytes = state.waiting.take() else {
                    state.isWriting = false
                    return nil
                }
                let waiters = state.waiters
                state.waiters = []
                return (bytes, waiters, state.mustSetAside)
            }
            guard let (bytes, waiters, mustSetAside) = next else { return }
            var fault = mustSetAside ? setAside() : nil
            if fault == nil {
                state.withLock { $0.mustSetAside = false }
                fault = replace(with: bytes)
            }
            for waiter in waiters { waiter.resume(returning: fault) }
        }
    }

    /// Gives a file that cannot be used another name, so that it is not lost.
    private func setAside() -> String? {
        for number in 1...1000 {
            let place = "\(path).unusable-\(number)"
            if unsafe access(place, F_OK) == 0 { continue }
            return unsafe rename(path, place) == 0 || errno == ENOENT ? nil : Self.lastError(path)
        }
        return "\(path): a thousand unusable files lie beside it: remove them"
    }

    private func replace(with bytes: [UInt8]) -> String? {
        // The folder is the service's own. One that systemd made is there already.
        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST { return Self.lastError(folder) }
        let partial = path + ".partial"
        unsafe unlink(partial)
        let number = unsafe open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { return Self.lastError(partial) }
        var fault: String?
        var done = 0
        while done < bytes.count, fault == nil {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress! + done, bytes.count - done) }
            if count > 0 { done += count } else if errno != EINTR { fault = Self.lastError(partial) }
        }
        if fault == nil, fsync(number) != 0 { fault = Self.lastError(partial) }
        close(number)
        if fault == nil, unsafe rename(partial, path) != 0 { fault = Self.lastError(path) }
        if fault != nil {
            unsafe unlink(partial)
            return fault
        }
        // The new name has to be on the disk, too.
        let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if directory >= 0 {
            fsync(directory)
            close(directory)
        }
        return nil
    }

    private static func lastError(_ path: String) -> String { "\(path): \(unsafe String(cString: strerror(errno)))" }
}
