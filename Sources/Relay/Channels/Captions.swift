import Media
import Synchronization

/// Channel: what pictures carry for viewers beside their samples (captions, active format, bars), on its way past the decoder.
///
/// It does not travel with the pictures, because the next picture that is shown carries what a dropped one had.
///
/// - Writers: ingest (``record(_:at:)``: of each picture that is to be enhanced), encode (``record(_:at:)``: of one that could not be
///   encoded).
/// - Reader: encode (``take(upTo:)``, for each original).
/// - Read together: all of one picture.
///
/// Thread-safe. In a stream without any of it each call is one atomic load. Else it holds a lock for about a microsecond, and
/// allocates once.
final class Captions: Sendable {
    private let isUsed = Atomic<Bool>(false)
    private let waiting = Lock(WaitingCaptions())

    /// - Parameter presentation: the picture's time on the output's timeline.
    /// - Returns: how many pieces of captions were dropped to make room.
    func record(_ data: PictureUserData, at presentation: MediaTime) -> Int {
        isUsed.store(true, ordering: .releasing)
        return waiting.withLock { $0.add(data, at: presentation) }
    }

    /// What a picture is to carry: its own, and that of pictures before it that were dropped.
    /// - Parameter presentation: the picture's own time.
    /// - Returns: nil where there is nothing; and how many pieces of captions were too old.
    func take(upTo presentation: MediaTime) -> (data: PictureUserData?, dropped: Int) {
        guard isUsed.load(ordering: .acquiring) else { return (nil, 0) }
        return waiting.withLock { $0.take(upTo: presentation) }
    }

    /// No more pictures are encoded.
    /// - Returns: how many pieces of captions are left.
    func finish() -> Int {
        guard isUsed.load(ordering: .acquiring) else { return 0 }
        return waiting.withLock { $0.removeAll() }
    }
}

/// Captions that wait for the picture that is to carry them. Pictures come in the order in which they are coded, and leave in that in
/// which they are shown.
///
/// A pure value. Allocates once.
struct WaitingCaptions {
    private struct Entry {
        var presentation: MediaTime
        var data: PictureUserData
    }

    private var entries: [Entry] = []
    /// Twice as many as pictures that a decoder and the stages may hold.
    static let capacity = 64
    /// Captions that no picture carried for so long (1 s) belong to a time that is gone.
    static let longestWait = MediaTime.ticksPerSecond

    /// - Returns: how many pieces of the oldest captions were dropped to make room.
    mutating func add(_ data: PictureUserData, at presentation: MediaTime) -> Int {
        entries.reserveCapacity(Self.capacity)
        var dropped = 0
        if entries.count == Self.capacity, let oldest = first(upTo: MediaTime(ticks: .max)) {
            dropped = remove(oldest)
        }
        entries.append(Entry(presentation: presentation, data: data))
        return dropped
    }

    /// - Returns: what the picture of that time carries; nil where it carries nothing; and how many pieces were too old.
    mutating func take(upTo presentation: MediaTime) -> (data: PictureUserData?, dropped: Int) {
        var taken: PictureUserData?
        var dropped = 0
        while let next = first(upTo: presentation) {
            if presentation - entries[next].presentation > Self.longestWait {
                dropped += remove(next)
                continue
            }
            var data = taken ?? PictureUserData()
            let isWhole = data.absorb(&entries[next].data)
            taken = data
            // What one picture has no room for goes with the next one.
            if !isWhole { break }
            entries.swapAt(next, entries.count - 1)
            entries.removeLast()
        }
        return (taken, dropped)
    }

    mutating func removeAll() -> Int {
        let left = entries.reduce(0) { $0 + $1.data.validPieces }
        entries.removeAll()
        return left
    }

    private mutating func remove(_ place: Int) -> Int {
        entries.swapAt(place, entries.count - 1)
        return entries.removeLast().data.validPieces
    }

    /// The place of the entry that is shown first, of those that are shown by then.
    private func first(upTo presentation: MediaTime) -> Int? {
        var found: Int?
        for place in entries.indices where entries[place].presentation <= presentation {
            if let best = found, entries[best].presentation <= entries[place].presentation { continue }
            found = place
        }
        return found
    }
}
