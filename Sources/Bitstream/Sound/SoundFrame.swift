/// One coded frame of sound, as its header describes it.
///
/// It knows the codecs that a transport stream carries most: AAC in ADTS (ISO/IEC 13818-7, 6.2), MPEG audio layer II
/// (ISO/IEC 11172-3, 2.4.1.3), AC-3 (ETSI TS 102 366, 4.3), and Opus behind the control header that FFmpeg, GStreamer and OBS
/// write in transport streams.
public struct SoundFrame: Hashable, Sendable {
    /// What two frames of one stream have in common.
    public struct Format: Hashable, Sendable {
        public enum Codec: Hashable, Sendable { case aac, layer2, ac3, opus }

        public var codec: Codec
        /// Samples a second of each channel.
        public var sampleRate: Int
        /// All of them, with that for low frequencies.
        public var channels: Int
        /// Bits a second, where the header says it; else 0.
        public var bitRate: Int

        public init(_ codec: Codec, sampleRate: Int, channels: Int, bitRate: Int = 0) {
            self.codec = codec
            self.sampleRate = sampleRate
            self.channels = channels
            self.bitRate = bitRate
        }
    }

    public var format: Format
    /// Samples of each channel.
    public var samples: Int
    /// With the header.
    public var byteCount: Int

    /// Reads the header at the beginning of some bytes.
    /// - Parameter codec: what the program map says of the stream.
    /// - Returns: nil when it is none, or says something that no decoder could use. Any bytes at all may be given.
    public init?(_ bytes: Span<UInt8>, _ codec: Format.Codec) {
        switch codec {
        case .aac: self.init(adts: bytes)
        case .layer2: self.init(layer2: bytes)
        case .ac3: self.init(ac3: bytes)
        case .opus: self.init(opus: bytes)
        }
    }

    private init(_ format: Format, samples: Int, byteCount: Int) {
        self.format = format
        self.samples = samples
        self.byteCount = byteCount
    }

    // MARK: AAC

    /// ISO/IEC 14496-3, table 1.18.
    public static let aacSampleRates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]

    private init?(adts b: Span<UInt8>) {
        guard b.count >= 7, b[0] == 0xFF, b[1] & 0xF6 == 0xF0 else { return nil }
        let rate = Int(b[2] >> 2 & 15)
        // 0 stands for a description inside of the frame.
        let configuration = Int(b[2] & 1) << 2 | Int(b[3] >> 6)
        let length = Int(b[3] & 3) << 11 | Int(b[4]) << 3 | Int(b[5] >> 5)
        guard rate < Self.aacSampleRates.count, configuration > 0, length >= 7 else { return nil }
        self.init(
            Format(.aac, sampleRate: Self.aacSampleRates[rate], channels: configuration == 7 ? 8 : configuration),
            samples: 1024 * (Int(b[6] & 3) + 1), byteCount: length)
    }

    // MARK: MPEG audio

    private static let layer2Rates = [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
    /// ISO/IEC 13818-3: half the sample rates.
    private static let layer2LowRates = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
    private static let layer2SampleRates = [44_100, 48_000, 32_000]

    private init?(layer2 b: Span<UInt8>) {
        guard b.count >= 4, b[0] == 0xFF, b[1] & 0xF6 == 0xF4 else { return nil }
        let isLow = b[1] & 8 == 0
        let (rate, samples) = (Int(b[2] >> 4) - 1, Int(b[2] >> 2 & 3))
        guard Self.layer2Rates.indices.contains(rate), samples < 3 else { return nil }
        let bitRate = (isLow ? Self.layer2LowRates : Self.layer2Rates)[rate] * 1000
        let sampleRate = Self.layer2SampleRates[samples] / (isLow ? 2 : 1)
        self.init(
            Format(.layer2, sampleRate: sampleRate, channels: b[3] >> 6 == 3 ? 1 : 2, bitRate: bitRate), samples: 1152,
            byteCount: 144 * bitRate / sampleRate + Int(b[2] >> 1 & 1))
    }

    // MARK: AC-3

    private static let ac3Rates = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640]

    private init?(ac3 b: Span<UInt8>) {
        guard b.count >= 8, b[0] == 0x0B, b[1] == 0x77, b[5] >> 3 <= 8 else { return nil }
        let code = Int(b[4] & 63)
        guard code / 2 < Self.ac3Rates.count, b[4] >> 6 < 3 else { return nil }
        let rate = Self.ac3Rates[code / 2]
        let (sampleRate, words) =
            switch b[4] >> 6 {
            case 0: (48_000, 2 * rate)
            case 1: (44_100, 320 * rate / 147 + code & 1)
            default: (32_000, 3 * rate)
            }
        let mode = Int(b[6] >> 5)
        // Mix levels stand before the bit for the channel of low frequencies.
        var skipped = 3
        if mode & 1 != 0, mode != 1 { skipped += 2 }
        if mode & 4 != 0 { skipped += 2 }
        if mode == 2 { skipped += 2 }
        let bits = Int(b[6]) << 8 | Int(b[7])
        let channels = [2, 1, 2, 3, 3, 4, 4, 5][mode] + (bits >> (15 - skipped) & 1)
        self.init(
            Format(.ac3, sampleRate: sampleRate, channels: channels, bitRate: rate * 1000), samples: 1536,
            byteCount: 2 * words)
    }

    // MARK: Opus

    private init?(opus b: Span<UInt8>) {
        guard b.count >= 4, b[0] == 0x7F, b[1] & 0xE0 == 0xE0 else { return nil }
        var (at, size) = (2, 0)
        while at < b.count {
            size += Int(b[at])
            at += 1
            if b[at - 1] != 0xFF { break }
        }
        // How much is trimmed at the start and at the end, and an extension.
        at += (b[1] & 0x10 != 0 ? 2 : 0) + (b[1] & 0x08 != 0 ? 2 : 0)
        if b[1] & 0x04 != 0 {
            guard at < b.count else { return nil }
            at += 1 + Int(b[at])
        }
        guard size > 0, at < b.count else { return nil }
        // RFC 6716, 3.1.
        let kind = Int(b[at] >> 3)
        let length: Int
        switch kind {
        case ..<12: length = [480, 960, 1920, 2880][kind % 4]
        case ..<16: length = [480, 960][kind % 2]
        default: length = 120 << (kind % 4)
        }
        var frames = b[at] & 3 == 0 ? 1 : 2
        if b[at] & 3 == 3 {
            guard size > 1, at + 1 < b.count else { return nil }
            frames = Int(b[at + 1] & 63)
        }
        // RFC 6716, 3.2.5: at most 120 ms.
        guard frames > 0, frames * length <= 5760 else { return nil }
        self.init(
            Format(.opus, sampleRate: 48_000, channels: b[at] & 4 != 0 ? 2 : 1), samples: frames * length,
            byteCount: at + size)
    }
}
