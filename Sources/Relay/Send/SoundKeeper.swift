import Bitstream
import Codec
import Container
import Media

/// Keeps one passing stream of sound going with silence while the source is lost. It knows from the units that went out where
/// the next one would begin.
///
/// Confined to the send stage's lock.
struct SoundKeeper {
    /// The stream has stopped when nothing has come for so long. Sources put up to a fifth of a second of sound into one unit.
    private static let pauseTimeout = Nanoseconds.milliseconds(400)
    /// A sender's own units may overlap a little.
    private static let tolerance = MediaTime.ticksPerSecond / 100
    /// A stream that lies further behind the pictures begins where they are.
    private static let longestGap = 2 * MediaTime.ticksPerSecond

    private let codec: SoundFrame.Format.Codec
    private var format: SoundFrame.Format?
    /// What the newest header says instead. One header may lie; two in a row do not.
    private var claimed: SoundFrame.Format?
    /// Of this format.
    private var silence: Silence?
    /// What is being made, or could not be made. It is tried once.
    private var making: SilenceMaker?
    /// Where the newest unit began, and the samples that have followed from there.
    private var origin: MediaTime?
    private var samples: Int64 = 0
    private var lastArrival = MonotonicTime(nanoseconds: 0)
    private var isSilent = false

    /// - Returns: nil for a stream that is no sound, or none that can be made.
    init?(_ stream: TransportStreamLayout.PassedStream) {
        switch stream.codec {
        case .aacADTS: codec = .aac
        case .mpegAudio: codec = .layer2
        case .ac3: codec = .ac3
        // More channels are several streams in one packet.
        case .opus where stream.mostOpusChannels <= 2: codec = .opus
        default: return nil
        }
    }

    /// Where the next unit begins; nil before the first.
    private var end: MediaTime? {
        guard let origin, let format else { return nil }
        return origin + samples * MediaTime.ticksPerSecond / Int64(format.sampleRate)
    }

    /// Whether silence has taken the place of a unit that begins at this time. Such a unit shows that the sound is back, so that
    /// no further silence takes the place of those behind it.
    mutating func hasFilled(_ presentation: MediaTime, arrival: MonotonicTime) -> Bool {
        guard isSilent, let end, presentation < end + -Self.tolerance else { return false }
        lastArrival = arrival
        return true
    }

    /// Learns from a unit that goes out.
    mutating func observe(_ bytes: Span<UInt8>, at presentation: MediaTime?, arrival: MonotonicTime) {
        lastArrival = arrival
        isSilent = false
        if let presentation { (origin, samples) = (presentation, 0) }
        var at = 0
        while at < bytes.count, let frame = SoundFrame(bytes.extracting(at..<bytes.count), codec) {
            at += frame.byteCount
            if frame.format != format {
                let isCertain = format == nil || frame.format == claimed
                claimed = frame.format
                if format?.sampleRate != frame.format.sampleRate {
                    guard isCertain else { continue }
                    (origin, samples) = (presentation, 0)
                }
                if isCertain { format = frame.format }
            } else {
                claimed = nil
            }
            samples += Int64(frame.samples)
        }
    }

    /// The time of the next frame of silence that is needed for sound up to a time; nil when none is. ``frame`` has its bytes.
    mutating func next(upTo time: MediaTime, now: MonotonicTime) -> MediaTime? {
        guard let format, let end, end < time, now - lastArrival > Self.pauseTimeout else { return nil }
        if silence?.format != format {
            if making?.format != format { making = SilenceMaker(format, codec) }
            guard let made = making?.silence else { return nil }
            silence = made
        }
        if time - end > Self.longestGap { (origin, samples) = (time, 0) }
        defer { samples += silence!.samples }
        isSilent = true
        return self.end
    }

    /// A coded frame of silence.
    var frame: [UInt8] { silence?.frame ?? [] }

}

/// A coded frame of silence.
private struct Silence {
    var format: SoundFrame.Format
    var frame: [UInt8]
    var samples: Int64
}

/// Makes a frame of silence on a thread of its own: an encoder takes milliseconds to open, and pictures must not wait for it.
private final class SilenceMaker: Sendable {
    let format: SoundFrame.Format
    private let made = Lock<Silence?>(nil)

    init(_ format: SoundFrame.Format, _ codec: SoundFrame.Format.Codec) {
        self.format = format
        StageThread(name: "silence") { [self] in
            guard let frame = try? SilentSound.frame(format), let header = SoundFrame(frame.span, codec) else { return }
            made.withLock { $0 = Silence(format: format, frame: frame, samples: Int64(header.samples)) }
        }.detach()
    }

    /// Nil before it is made, and for ever where it cannot be.
    var silence: Silence? { made.withLock { $0 } }
}

extension TransportStreamLayout.PassedStream {
    /// The channels that an Opus stream's extension descriptor states (tag 0x7F, 0x80); 2 where there is none.
    fileprivate var mostOpusChannels: Int {
        var at = 0
        while at + 1 < descriptors.count {
            let length = Int(descriptors[at + 1])
            if descriptors[at] == 0x7F, length >= 2, at + 3 < descriptors.count, descriptors[at + 2] == 0x80 {
                return Int(descriptors[at + 3])
            }
            at += 2 + length
        }
        return 2
    }
}
