import Glibc
import Synchronization

/// A file descriptor that came with a message. It is closed when nobody claims it.
///
/// Thread-safe.
public final class PassedDescriptor: Sendable {
    private let held: Atomic<Int32>

    /// - Parameter number: owned from now on.
    public init(owning number: Int32) { held = Atomic(number) }

    deinit {
        let number = held.load(ordering: .relaxed)
        if number >= 0 { close(number) }
    }

    /// The descriptor, which stays owned by this value; -1 after it was claimed.
    public var number: Int32 { held.load(ordering: .acquiring) }

    /// Hands the descriptor over to the caller, who closes it. A second call returns -1.
    public func claim() -> Int32 { held.exchange(-1, ordering: .acquiringAndReleasing) }

    /// Writes bytes at a place of a file.
    /// - Returns: why that cannot be done; nil when it was.
    public func write(_ bytes: UnsafeRawBufferPointer, at place: Int64) -> String? {
        var done = 0
        while done < bytes.count {
            let count = unsafe pwrite(number, bytes.baseAddress! + done, bytes.count - done, Int(place) + done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return unsafe String(cString: strerror(errno)) }
            done += count
        }
        return nil
    }

    /// Writes bytes at the beginning of a memory file, which may be sealed against growing.
    /// - Returns: why that cannot be done; nil when it was.
    public func write(_ bytes: [UInt8]) -> String? {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(number, bytes.baseAddress! + done, bytes.count - done, done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                return "\(bytes.count) bytes cannot be written: \(unsafe String(cString: strerror(errno)))"
            }
            done += count
        }
        return nil
    }
}
