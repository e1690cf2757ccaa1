import Codec
import Glibc
import Media

/// The test source's audio: AAC-LC in ADTS (ISO/IEC 14496-3), mono, 48 kHz: a beep on every whole second of the capture
/// clock, for as long as the test pattern's lamp is lit.
///
/// Every frame carries its capture time in a data stream element before its sound, which decoders skip. A relay that passes
/// the frames on untouched passes the time on, so the probe can compare audio with video to the microsecond without
/// decoding.
///
/// Confined to one thread at a time.
final class AudioTrack {
    static let sampleRate: Int64 = 48_000
    static let samplesInFrame = Int64(AudioEncoder.samplesInFrame)
    /// ADTS header, and data stream element: id and tag, count, 12 bytes.
    private static let headerSize = 7
    private static let elementSize = 14
    /// The longest frame that an ADTS header can describe.
    private static let longestFrame = 8191
    private static let frequency = 1000.0
    private static let loudness = 0.25
    /// The beep swells and fades for so long (µs), so that it does not click.
    private static let edge: Int64 = 2_000

    private let start: WallTime
    private let encoder: AudioEncoder
    private var frame: Int64 = 0
    /// The next samples to encode belong to this frame.
    private var encoded: Int64 = 0
    private var bytes: [UInt8] = []

    /// - Parameter start: the capture time of the first sample.
    init(from start: WallTime) throws(CodecError) {
        self.start = start
        encoder = try AudioEncoder(sampleRate: Int(Self.sampleRate), bitRate: 64_000)
        bytes.reserveCapacity(Self.longestFrame)
    }

    /// Emits every frame whose last sample has been captured by `now`, with the capture time of its first.
    func advance(to now: WallTime, _ emit: (UnsafeRawBufferPointer, WallTime) -> Void) throws(CodecError) {
        while captureTime(frame + 1) <= now {
            let captured = captureTime(frame)
            let code = TimeCode(captured: captured, number: UInt16(truncatingIfNeeded: frame), source: 1)
            // The sound is known in advance, so nothing waits for the encoder's delay.
            while encoded <= frame + Int64(AudioEncoder.delayInFrames) {
                let first = start + encoded * Self.samplesInFrame * 1_000_000 / Self.sampleRate
                let step = 1e6 / Double(Self.sampleRate)
                unsafe try encoder.encode {
                    Self.sample(at: first + Int64(Double($0) * step))
                } emit: { sound in
                    unsafe assemble(code.word, sound)
                }
                encoded += 1
            }
            unsafe bytes.withUnsafeBytes { unsafe emit($0, captured) }
            frame += 1
        }
    }

    /// What is heard at a time, -1…1.
    static func sample(at time: WallTime) -> Float {
        let since = time.microseconds % 1_000_000
        let left = TestPattern.flashMicroseconds - since
        guard left > 0 else { return 0 }
        let envelope = min(1, Double(min(since, left)) / Double(edge))
        return Float(loudness * envelope * sin(2 * .pi * frequency * Double(since) / 1e6))
    }

    private func captureTime(_ frame: Int64) -> WallTime {
        start + frame * Self.samplesInFrame * 1_000_000 / Self.sampleRate
    }

    /// Makes an ADTS frame of a time code and a raw data block.
    private func assemble(_ word: TimeCode.Word, _ sound: UnsafeRawBufferPointer) {
        let size = Self.headerSize + Self.elementSize + sound.count
        precondition(size <= Self.longestFrame, "an AAC frame of \(size) bytes")
        bytes.removeAll(keepingCapacity: true)
        // Syncword, MPEG-4, no CRC; AAC-LC, 48 kHz, one channel; frame length; buffer fullness of variable rate; one block.
        bytes += [0xFF, 0xF1, 0b01_0011_00, 0x40 | UInt8(size >> 11), UInt8(size >> 3 & 0xFF)]
        bytes += [UInt8(size & 7) << 5 | 0x1F, 0xFC]
        // Data stream element: id 4 (3 bits), tag 0 (4), aligned (1), count (8), 12 bytes.
        bytes += [0b100_0000_1, 12]
        for i in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word.high >> UInt64(56 - 8 * i))) }
        for i in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: word.low >> UInt32(24 - 8 * i))) }
        unsafe bytes.append(contentsOf: sound)
    }

    /// The time code of an ADTS frame of this track; nil when it is not one.
    static func timeCode(in frame: UnsafeRawBufferPointer, near: WallTime) -> TimeCode? {
        guard frame.count >= headerSize + elementSize, unsafe frame[0] == 0xFF, unsafe frame[1] & 0xF6 == 0xF0 else {
            return nil
        }
        let header = unsafe frame[1] & 1 == 1 ? 7 : 9
        guard frame.count >= header + 14, unsafe frame[header] == 0x81, unsafe frame[header + 1] == 12 else { return nil }
        var word = TimeCode.Word()
        for i in 0..<8 { unsafe word.high = word.high << 8 | UInt64(frame[header + 2 + i]) }
        for i in 0..<4 { unsafe word.low = word.low << 8 | UInt32(frame[header + 10 + i]) }
        return TimeCode(word, near: near)
    }
}
