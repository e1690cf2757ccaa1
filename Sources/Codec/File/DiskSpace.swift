import CFFmpeg
import Glibc

/// Watches the space on a file's disk, so that the file can be completed: without the index, which is written last, nobody can
/// play an MP4 file.
///
/// The file system is asked again when a part of the space that was there has been used.
struct DiskSpace {
    private let path: String
    /// Bytes that were given to the muxer, and packets. Some wait in it.
    private var given: Int64 = 0
    private var packets: Int64 = 0
    private var largest: Int64 = 0
    private var nextCheck: Int64 = 0

    /// What to do about a full disk.
    static let advice = "make room on the disk, or name a file on another one, and give the command again"

    /// An entry of the index in the worst case: size, time, order and place.
    private static let entry: Int64 = 32
    private static let least: Int64 = 1 << 16
    private static let most: Int64 = 1 << 24

    init(path: String) { self.path = path }

    /// Call it before a packet is written.
    /// - Parameter written: bytes of the file so far.
    /// - Throws: `writeFailed` where the disk is nearly full.
    mutating func take(_ bytes: Int64, written: Int64) throws(CodecError) {
        given += bytes
        packets += 1
        largest = max(largest, bytes)
        guard given >= nextCheck else { return }
        var system = statvfs()
        // Some file systems do not say.
        guard unsafe statvfs(path, &system) == 0, system.f_blocks > 0 else {
            nextCheck = .max
            return
        }
        let free = Int64(clamping: system.f_bavail).multipliedReportingOverflow(by: Int64(clamping: system.f_frsize))
        let room = free.overflow ? Int64.max : free.partialValue
        // A packet may be kept for another run, too, before this is asked.
        let needed = Self.entry * packets + max(0, given - written) + 2 * largest + Self.least
        guard room > needed else {
            throw CodecError(
                .writeFailed, operation: "statvfs", code: -ENOSPC,
                message: "the disk is full but for \(room / 1024) KiB, which the end of the file needs", place: path,
                advice: Self.advice)
        }
        nextCheck = given + min(max((room - needed) / 4, 1), Self.most)
    }
}
