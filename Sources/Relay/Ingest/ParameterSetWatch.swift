import Bitstream
import Container
import Media

/// Notices that the pictures at which a decoder could begin come without parameter sets.
///
/// A pure value. Allocates only while sets are missing.
struct ParameterSetWatch {
    /// They may come a little later, as sets that stand alone do.
    static let timeout = Nanoseconds.seconds(3)

    /// The first such picture, while none has come with all sets.
    private var lack: (since: MonotonicTime, codec: VideoCodec, sets: KeptParameterSets)?
    private var isTold = false

    /// Call for each picture.
    mutating func observe(_ unit: StreamUnit) {
        guard unit.isKeyframe else { return }
        guard !unit.isStart, let codec = unit.codec, let sets = unit.parameterSets else { return lack = nil }
        lack = (lack?.since ?? unit.lastArrival, codec, sets)
    }

    /// The short names of what is missing, when it is to be said. Said once for a source.
    mutating func claim(at now: MonotonicTime) -> [String]? {
        guard !isTold, let lack, now - lack.since >= Self.timeout else { return nil }
        isTold = true
        return lack.sets.missing(for: lack.codec)
    }
}
