import Bitstream
import Container
import Media
import Synchronization

/// Channel: what the input's video and sound are like, for people.
///
/// - Writer: ingest.
/// - Reader: the observer.
///
/// Thread-safe. A picture costs nothing, a keyframe one atomic store, a unit of sound one atomic addition. The lock is held when
/// the program or the video's format changes, and once a second.
final class InputFormat: Sendable {
    /// So many streams of sound are described.
    static let mostSounds = 8
    /// The header of one unit of sound in so many is read.
    private static let unitsPerHeader = 64

    private struct Described {
        var video: VideoParameters?
        /// The places of the streams of sound among those that pass, and their codecs.
        var sounds: [(place: Int, codec: StreamCodec)] = []
    }

    private struct Sounds: ~Copyable {
        var bytes: InlineArray<8, Atomic<Int64>> = .init { _ in Atomic(0) }
        var units: InlineArray<8, Atomic<Int64>> = .init { _ in Atomic(0) }
        /// Samples a second from bit 8, channels from bit 0; 0 while they are not known.
        var formats: InlineArray<8, Atomic<Int64>> = .init { _ in Atomic(0) }
    }

    private let described = Lock(Described())
    /// In ticks; 0 before the second keyframe.
    private let keyframeInterval = Atomic<Int64>(0)
    private let sounds = Sounds()

    /// The program has come or changed.
    /// - Parameter passing: its streams that pass, in their order.
    func describe(passing: [StreamCodec]) {
        let found = passing.enumerated().filter { $0.element.isSound }.prefix(Self.mostSounds).map {
            (place: $0.offset, codec: $0.element)
        }
        described.withLock { $0.sounds = found }
        for index in 0..<Self.mostSounds {
            sounds.formats[index].store(0, ordering: .relaxed)
            sounds.bytes[index].store(0, ordering: .relaxed)
            sounds.units[index].store(0, ordering: .relaxed)
        }
    }

    func describe(_ video: VideoParameters) { described.withLock { $0.video = video } }

    /// The source has gone.
    func forget() {
        describe(passing: [])
        described.withLock { $0.video = nil }
        keyframeInterval.store(0, ordering: .relaxed)
    }

    /// - Parameter ticks: from the keyframe before to this one.
    func recordKeyframe(after ticks: Int64) {
        // Longer ones are jumps of the time stamps.
        if (1...600 * MediaTime.ticksPerSecond).contains(ticks) { keyframeInterval.store(ticks, ordering: .relaxed) }
    }

    /// A unit of a passing stream. Only those of sound count.
    /// - Parameters:
    ///   - slot: the stream's place among those of sound.
    ///   - codec: the stream's.
    func recordSound(_ bytes: UnsafeRawBufferPointer, _ codec: StreamCodec, in slot: Int) {
        sounds.bytes[slot].add(Int64(bytes.count), ordering: .relaxed)
        let units = sounds.units[slot].add(1, ordering: .relaxed).oldValue
        guard units % Int64(Self.unitsPerHeader) == 0 || sounds.formats[slot].load(ordering: .relaxed) == 0,
            let kind = SoundFrame.Format.Codec(codec)
        else { return }
        guard
            let format = unsafe SoundFrame(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)), kind)?.format
        else { return }
        sounds.formats[slot].store(Int64(format.sampleRate) << 8 | Int64(min(format.channels, 255)), ordering: .relaxed)
    }

    /// What is known now.
    var present: InputDescription {
        let described = described.withLock { $0 }
        var description = InputDescription()
        if let video = described.video {
            description.codec = video.codec.name
            description.profile = video.profileName
            description.level = video.levelName
            description.size = video.size
            description.frameRate = video.frameRate?.value
            description.bitDepth = video.bitDepth
        }
        let ticks = keyframeInterval.load(ordering: .relaxed)
        if ticks > 0 { description.keyframeInterval = MediaTime(ticks: ticks).nanoseconds }
        description.sounds = described.sounds.enumerated().map { slot, sound in
            let format = sounds.formats[slot].load(ordering: .relaxed)
            return InputDescription.Sound(
                codec: sound.codec.name, channels: format == 0 ? nil : Int(format & 0xFF),
                sampleRate: format == 0 ? nil : Int(format >> 8), bytes: sounds.bytes[slot].load(ordering: .relaxed))
        }
        return description
    }
}

extension SoundFrame.Format.Codec {
    /// Nil for those whose headers are not read here.
    fileprivate init?(_ codec: StreamCodec) {
        switch codec {
        case .aacADTS: self = .aac
        case .mpegAudio: self = .layer2
        case .ac3: self = .ac3
        case .opus: self = .opus
        default: return nil
        }
    }
}
