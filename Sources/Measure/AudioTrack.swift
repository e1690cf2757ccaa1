import Media

/// The test source's audio: AAC-LC in ADTS (ISO/IEC 14496-3), mono, 48 kHz. Every frame is silence and carries its capture
/// time in a data stream element, which decoders skip: whoever passes the frames on untouched passes the time on, and the
/// probe can set audio against video to the microsecond without decoding.
///
/// There is no encoder in it: a silent frame is a handful of fixed bits (4.4.2.1, table 4.4 and following).
struct AudioTrack {
    static let sampleRate: Int64 = 48_000
    static let samplesInFrame: Int64 = 1024
    /// 7 of ADTS header, 3 + 12 of data stream element, 3 of silence and end.
    static let frameSize = 25

    private let start: WallTime
    private var frame: Int64 = 0

    init(from start: WallTime) { self.start = start }

    /// Gives every frame whose last sample has been captured by `now`, with the capture time of its first.
    mutating func advance(to now: WallTime, _ emit: (UnsafeRawBufferPointer, WallTime) -> Void) {
        while captureTime(frame + 1) <= now {
            let captured = captureTime(frame)
            let code = TimeCode(captured: captured, number: UInt16(truncatingIfNeeded: frame), source: 1)
            let bytes = Self.adtsFrame(code.word)
            unsafe bytes.span.withUnsafeBytes { unsafe emit($0, captured) }
            frame += 1
        }
    }

    private func captureTime(_ frame: Int64) -> WallTime {
        start + frame * Self.samplesInFrame * 1_000_000 / Self.sampleRate
    }

    static func adtsFrame(_ word: TimeCode.Word) -> InlineArray<25, UInt8> {
        var bytes = InlineArray<25, UInt8>(repeating: 0)
        // Syncword, MPEG-4, no CRC; AAC-LC, 48 kHz, one channel; frame length; buffer fullness of variable rate; one block.
        bytes[0] = 0xFF
        bytes[1] = 0xF1
        bytes[2] = 0b01_0011_00
        bytes[3] = 0x40 | UInt8(frameSize >> 11)
        bytes[4] = UInt8(frameSize >> 3 & 0xFF)
        bytes[5] = UInt8(frameSize & 7) << 5 | 0x1F
        bytes[6] = 0xFC
        // Data stream element: id 4 (3 bits), tag 0 (4), aligned (1), count (8), 12 bytes.
        bytes[7] = 0b100_0000_1
        bytes[8] = 12
        for i in 0..<8 { bytes[9 + i] = UInt8(truncatingIfNeeded: word.high >> UInt64(56 - 8 * i)) }
        for i in 0..<4 { bytes[17 + i] = UInt8(truncatingIfNeeded: word.low >> UInt32(24 - 8 * i)) }
        // Single channel element: id 0 (3), tag 0 (4), global gain (8); window: reserved 0, only long, sine (4),
        // max_sfb 0 (6), no prediction (1): no sections, no scale factors, no pulses, no TNS, no gain control (3);
        // end: id 7 (3). That is 32 bits exactly.
        let silence: UInt32 = 0b000_0000_00000000_0_00_0_000000_0_000_111
        for i in 0..<4 { bytes[21 + i] = UInt8(truncatingIfNeeded: silence >> UInt32(24 - 8 * i)) }
        return bytes
    }

    /// The time code of an ADTS frame of this track; nil when it is not one.
    static func timeCode(in frame: UnsafeRawBufferPointer, near: WallTime) -> TimeCode? {
        guard frame.count >= frameSize, unsafe frame[0] == 0xFF, unsafe frame[1] & 0xF6 == 0xF0 else { return nil }
        let header = unsafe frame[1] & 1 == 1 ? 7 : 9
        guard frame.count >= header + 14, unsafe frame[header] == 0x81, unsafe frame[header + 1] == 12 else { return nil }
        var word = TimeCode.Word()
        for i in 0..<8 { unsafe word.high = word.high << 8 | UInt64(frame[header + 2 + i]) }
        for i in 0..<4 { unsafe word.low = word.low << 8 | UInt32(frame[header + 10 + i]) }
        return TimeCode(word, near: near)
    }
}
