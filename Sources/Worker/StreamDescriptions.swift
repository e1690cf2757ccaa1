import Media
import Relay
import WorkerProtocol

/// Makes the description of a stream from its figures, once a second. A value of the observer thread.
struct StreamDescriptions {
    /// Over so many seconds the bit rate of sound is measured.
    private static let window = 5

    private var former: [(time: MonotonicTime, bytes: [Int64])] = []

    mutating func describe(_ format: InputDescription, isBypassed: Bool, at now: MonotonicTime) -> StreamDescription {
        var description = StreamDescription()
        description.codec = format.codec
        description.profile = format.profile
        description.level = format.level
        description.width = format.size?.width
        description.height = format.size?.height
        description.frameRate = format.frameRate
        description.bitDepth = format.bitDepth
        description.keyframeInterval = format.keyframeInterval?.seconds
        // The encoder makes nothing else.
        description.outputCodec = format.codec.map { isBypassed ? $0 : "H.264" }
        let bytes = format.sounds.map(\.bytes)
        // Other streams than before, or other counts.
        if let last = former.last, last.bytes.count != bytes.count || zip(last.bytes, bytes).contains(where: { $0 > $1 }) {
            former = []
        }
        let first = former.first
        description.sounds = format.sounds.prefix(StreamDescription.mostSounds).enumerated().map { index, sound in
            var rate: Double?
            if let first, now > first.time {
                // Whole kilobits, so that the description does not change for nothing.
                let bits = Double(bytes[index] - first.bytes[index]) * 8 / (now - first.time).seconds
                rate = (bits / 1000).rounded() * 1000
            }
            return StreamDescription.Sound(
                codec: sound.codec, channels: sound.channels, sampleRate: sound.sampleRate, bitRate: rate)
        }
        former.append((now, bytes))
        if former.count > Self.window { former.removeFirst() }
        return description
    }
}
