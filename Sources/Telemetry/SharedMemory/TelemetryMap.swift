import Glibc
import Media

/// A stream's telemetry in shared memory. The supervisor creates and owns it, the stream's worker writes it, and whoever has
/// a descriptor reads it: `burnish top`, `burnish records`, the HTTP interface. It outlives its worker; a successor goes on
/// in the same map. docs/design/telemetry-map.md describes the layout.
public enum TelemetryMap {
    /// The size of every map of this version.
    public static var byteCount: Int { TelemetryLayout.byteCount }

    /// Makes an empty map in memory. Nobody can change its size, so that a worker cannot make its readers touch pages that are
    /// gone.
    /// - Parameter name: shown in `/proc/PID/fd` and `/proc/PID/maps`.
    /// - Returns: a descriptor that the caller owns. It is closed in programs that this process starts.
    public static func create(name: String = "burnish-telemetry") throws(TelemetryMapError) -> Int32 {
        guard let descriptor = MemoryFile.create(name: name, byteCount: byteCount) else {
            throw .system("no memory file for telemetry")
        }
        do throws(TelemetryMapError) {
            try format(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Makes an empty map in a new file, in place of an older map if there is one.
    /// - Returns: a descriptor that the caller owns. It is closed in programs that this process starts.
    public static func create(file path: String) throws(TelemetryMapError) -> Int32 {
        // A relay that still writes an older map of this name keeps it: the name goes to a new file.
        if unsafe access(path, F_OK) == 0 {
            do throws(TelemetryMapError) {
                _ = try Reader(path: path)
            } catch {
                // Another version of this program made it.
                guard error.kind == .otherVersion else { throw error }
            }
            guard unsafe unlink(path) == 0 else { throw .system("\(path) cannot be replaced") }
        }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system("\(path) cannot be written") }
        do throws(TelemetryMapError) {
            // Blocks that the disk has no room for would end the process when they are written.
            guard posix_fallocate(descriptor, 0, byteCount) == 0 else {
                throw .system("\(path): no room for \(byteCount) bytes")
            }
            try format(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func format(_ descriptor: Int32) throws(TelemetryMapError) {
        var header = [UInt64](repeating: 0, count: 16)
        header[TelemetryLayout.magicWord] = TelemetryLayout.magic
        header[TelemetryLayout.versionWord] = TelemetryLayout.version
        header[TelemetryLayout.byteCountWord] = UInt64(byteCount)
        var wall = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &wall)
        let offset = Int64(wall.tv_sec) * 1_000_000_000 + Int64(wall.tv_nsec) - MonotonicTime.now().nanoseconds
        header[TelemetryLayout.wallOffsetWord] = UInt64(signed: offset)
        let isWritten = unsafe header.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) == $0.count }
        guard isWritten else { throw .system("the telemetry map cannot be written") }
    }

    /// Checks a file's size and header.
    /// - Parameter words: the header's.
    static func check(size: Int, header words: [UInt64], _ place: String) throws(TelemetryMapError) {
        guard words.count > TelemetryLayout.byteCountWord, words[TelemetryLayout.magicWord] == TelemetryLayout.magic else {
            throw TelemetryMapError(.notAMap, "\(place) is no telemetry map")
        }
        let version = words[TelemetryLayout.versionWord]
        guard version == TelemetryLayout.version else {
            throw TelemetryMapError(
                .otherVersion,
                "\(place) is a telemetry map of version \(version); this program reads version \(TelemetryLayout.version)")
        }
        guard size == byteCount, words[TelemetryLayout.byteCountWord] == UInt64(byteCount) else {
            throw TelemetryMapError(.notAMap, "\(place) is no whole telemetry map: \(size) of \(byteCount) bytes")
        }
    }

    /// The size of a file; nil unless it is one.
    static func size(of descriptor: Int32) -> Int? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Reads words of a file. What lies beyond its end is missing.
    static func read(_ descriptor: Int32, _ range: Range<Int>) -> [UInt64] {
        unsafe [UInt64](unsafeUninitializedCapacity: range.count) { buffer, count in
            var bytes = 0
            while bytes < range.count * 8 {
                let n = unsafe pread(
                    descriptor, UnsafeMutableRawPointer(buffer.baseAddress!) + bytes, range.count * 8 - bytes,
                    range.lowerBound * 8 + bytes)
                if n < 0 && errno == EINTR { continue }
                if n <= 0 { break }
                bytes += n
            }
            count = bytes / 8
        }
    }
}

/// Why there is no telemetry map. The description is one line.
public struct TelemetryMapError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Hashable, Sendable { case inaccessible, notAMap, otherVersion }

    public var kind: Kind
    public var description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// What the calling thread's last system call says.
    static func system(_ text: String) -> TelemetryMapError {
        TelemetryMapError(.inaccessible, "\(text): \(unsafe String(cString: strerror(errno)))")
    }
}
