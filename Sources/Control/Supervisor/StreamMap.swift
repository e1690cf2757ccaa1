import Glibc
import Media
import Telemetry

/// A stream's telemetry map. The supervisor makes it with the stream and hands it to every worker of the stream, one after
/// the other, so that counters and time stamps go on.
///
/// Thread-safe.
final class StreamMap: Sendable {
    let descriptor: Int32
    let reader: TelemetryMap.Reader

    init(stream: String) throws(TelemetryMapError) {
        descriptor = try TelemetryMap.create(name: "burnish-\(stream)")
        do throws(TelemetryMapError) {
            reader = try TelemetryMap.Reader(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    /// A copy of the whole map, for a crash report. Takes well under a millisecond.
    func bytes() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: TelemetryMap.byteCount) { buffer, count in
            count = unsafe max(pread(descriptor, buffer.baseAddress, buffer.count, 0), 0)
        }
    }
}
