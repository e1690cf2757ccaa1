import Glibc

/// A file that exists only in memory and has no name: what processes share by passing its descriptor (`memfd_create`).
public enum MemoryFile {
    /// Makes a file of zeros whose size nobody can change, so that a process which maps it never touches a page that is gone.
    /// - Parameter name: shown in `/proc/PID/fd` and `/proc/PID/maps`.
    /// - Returns: a descriptor that the caller owns, closed in programs that this process starts; nil with the reason in
    ///   `errno`.
    public static func create(name: String, byteCount: Int) -> Int32? {
        let descriptor = unsafe memoryFile(name, Flag.closeOnExec | Flag.allowSealing)
        guard descriptor >= 0 else { return nil }
        let seals = Seal.shrink | Seal.grow | Seal.seal
        guard ftruncate(descriptor, byteCount) == 0, fcntl(descriptor, Seal.add, seals) == 0 else {
            let reason = errno
            close(descriptor)
            errno = reason
            return nil
        }
        return descriptor
    }

    /// Whether nobody can make the file smaller. A file that is not in memory never says so.
    public static func keepsItsSize(_ descriptor: Int32) -> Bool {
        let seals = fcntl(descriptor, Seal.list)
        return seals >= 0 && seals & Seal.shrink != 0
    }

    // From linux/memfd.h and linux/fcntl.h, which Swift does not import.

    private enum Flag {
        static let closeOnExec: UInt32 = 1
        static let allowSealing: UInt32 = 2
    }

    private enum Seal {
        static let add: Int32 = 1033
        static let list: Int32 = 1034
        static let seal: Int32 = 1
        static let shrink: Int32 = 2
        static let grow: Int32 = 4
    }
}

@_silgen_name("memfd_create") private func memoryFile(_ name: UnsafePointer<CChar>, _ flags: UInt32) -> Int32
