import Bitstream
import Codec
import Media

/// Coded test sound: clicks in silence, whose places are known to the sample.
package enum TestSound {
    /// A unit of sound as a transport stream has it.
    package struct Unit: Sendable {
        package var bytes: [UInt8]
        package var time: MediaTime
    }

    package static let rate = 48_000

    /// Frames of AAC in ADTS, one to a unit, 1,024 samples at 48 kHz each. The encoder's own delay is taken out of their times.
    /// - Parameters:
    ///   - start: the time of the first sample. A frame that lies before it primes the decoder.
    ///   - clicks: whether a click has its middle at a sample.
    package static func aac(frames: Int, start: MediaTime, clicks: (Int) -> Bool = { _ in false }) throws -> [Unit] {
        let encoder = try AudioEncoder(sampleRate: rate, bitRate: 128_000)
        var units: [Unit] = []
        for frame in 0...frames {
            try unsafe encoder.encode {
                let sample = frame * 1024 + $0
                return (sample - 7...sample + 7).contains(where: clicks) ? 0.9 : 0
            } emit: { block in
                let length = block.count + 7
                let header: [UInt8] = [
                    0xFF, 0xF1, UInt8(1 << 6 | 3 << 2), UInt8(1 << 6 | length >> 11), UInt8(length >> 3 & 0xFF),
                    UInt8((length & 7) << 5 | 0x1F), 0xFC,
                ]
                let time = start + Int64(units.count - 1) * 1_920
                unsafe units.append(Unit(bytes: header + block, time: time))
            }
        }
        return units
    }
}
