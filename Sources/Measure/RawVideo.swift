import Glibc
import Media

/// Uncompressed pictures on a pipe, one after the other without any header, as FFmpeg's `rawvideo` has them.
public enum RawFormat: String, CaseIterable, Sendable {
    /// Planar 8-bit 4:2:0.
    case yuv420p
    /// Luma only.
    case gray

    func byteCount(_ size: PictureSize) -> Int {
        let luma = size.width * size.height
        return self == .gray ? luma : luma + 2 * size.chroma.width * size.chroma.height
    }
}

/// A failed operation on a pipe or file.
public struct RawVideoError: Error, CustomStringConvertible {
    public let operation: String
    public let code: Int32

    public var description: String { "cannot \(operation) raw video: \(unsafe String(cString: strerror(code)))" }
}

/// One uncompressed picture with a descriptor to read it from or write it to. Does not own the descriptor.
///
/// Not thread-safe.
@safe public struct RawVideo: ~Copyable {
    private let descriptor: Int32
    private let size: PictureSize
    private let byteCount: Int
    private let memory: UnsafeMutablePointer<UInt8>

    public init(descriptor: Int32, size: PictureSize, format: RawFormat) {
        self.descriptor = descriptor
        self.size = size
        byteCount = format.byteCount(size)
        // Room for all three planes even when only luma is sent, so that there is always a whole picture to paint on.
        unsafe memory = .allocate(capacity: RawFormat.yuv420p.byteCount(size))
        unsafe memory.initialize(repeating: 128, count: RawFormat.yuv420p.byteCount(size))
        // A pipe of one megabyte, where the system grants it: fewer wake-ups for each picture. 1031: F_SETPIPE_SZ,
        // which glibc hides behind _GNU_SOURCE.
        _ = fcntl(descriptor, 1031, 1 << 20)
        // poll(2) waits, so that a stop ends the wait.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    deinit { unsafe memory.deallocate() }

    /// The picture, for reading and writing; not to be used after `self` is gone.
    @unsafe public var view: MutablePictureView {
        let chroma = size.chroma
        let u = unsafe memory + size.width * size.height
        return unsafe MutablePictureView(
            y: MutablePlaneView(base: memory, stride: size.width, width: size.width, height: size.height),
            u: MutablePlaneView(base: u, stride: chroma.width, width: chroma.width, height: chroma.height),
            v: MutablePlaneView(
                base: u + chroma.width * chroma.height, stride: chroma.width, width: chroma.width,
                height: chroma.height))
    }

    /// How often `stopped` is asked while the pipe is not ready, in milliseconds: a user who ends the program does not
    /// notice the wait.
    private static let stopInterval: Int32 = 100

    /// Waits until the descriptor is ready; false when `stopped` says so.
    private borrowing func wait(for events: Int16, _ stopped: () -> Bool) -> Bool {
        while !stopped() {
            var request = pollfd(fd: descriptor, events: events, revents: 0)
            if unsafe poll(&request, 1, Self.stopInterval) > 0 { return true }
        }
        return false
    }

    /// Reads the next picture.
    /// - Returns: false at the end of the stream (a part of a picture before it is ignored), or when `stopped` says so.
    public mutating func read(stopped: () -> Bool) throws(RawVideoError) -> Bool {
        var done = 0
        while done < byteCount {
            guard wait(for: Int16(POLLIN), stopped) else { return false }
            let n = unsafe Glibc.read(descriptor, memory + done, byteCount - done)
            if n > 0 {
                done += n
            } else if n == 0 {
                return false
            } else if errno != EINTR && errno != EAGAIN {
                throw RawVideoError(operation: "read", code: errno)
            }
        }
        return true
    }

    /// Writes the picture.
    /// - Returns: false when the reader has gone, or when `stopped` says so. SIGPIPE must be ignored.
    public borrowing func write(stopped: () -> Bool) throws(RawVideoError) -> Bool {
        var done = 0
        while done < byteCount {
            guard wait(for: Int16(POLLOUT), stopped) else { return false }
            let n = unsafe Glibc.write(descriptor, memory + done, byteCount - done)
            if n >= 0 {
                done += n
            } else if errno == EPIPE {
                return false
            } else if errno != EINTR && errno != EAGAIN {
                throw RawVideoError(operation: "write", code: errno)
            }
        }
        return true
    }
}
