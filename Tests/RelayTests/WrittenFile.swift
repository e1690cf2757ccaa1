import Media

/// A file in memory, as clips are written.
final class WrittenFile: Sendable {
    private let content = Lock<[UInt8]>([])
    /// Fails when it would become larger.
    private let room: Int

    init(room: Int = .max) { self.room = room }

    var bytes: [UInt8] { content.withLock { $0 } }

    @Sendable func write(_ new: UnsafeRawBufferPointer, _ place: Int64) -> String? {
        let new = Array(new)
        return content.withLock { bytes in
            let end = Int(place) + new.count
            guard end <= room else { return "No space left on device" }
            if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            bytes.replaceSubrange(Int(place)..<end, with: new)
            return nil
        }
    }
}
