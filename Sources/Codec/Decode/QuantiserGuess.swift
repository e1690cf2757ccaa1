import Bitstream
import CFFmpeg
import Glibc

/// Estimates how coarsely pictures are coded from their bytes, for a stream whose headers do not tell: what is not known must
/// not count as clean.
///
/// Twice the bits a sample mean a quantiser that is about 6 lower (its step doubles every 6). The anchor is x264's: about 0.1
/// bits a sample at a quantiser of 26. The newer formats need about half of the bits for the same quantiser.
struct QuantiserGuess {
    /// Over about the last 32 units, because keyframes are larger and still pictures smaller than others.
    private var meanBytes = 0.0
    private var count = 0.0

    mutating func record(bytes: Int) {
        count = min(count + 1, 32)
        meanBytes += (Double(bytes) - meanBytes) / count
    }

    func value(of frame: UnsafeMutablePointer<AVFrame>, _ codec: VideoCodec) -> Float? {
        let samples = unsafe Double(frame.pointee.width) * Double(frame.pointee.height)
        return value(samples: samples, codec)
    }

    func value(samples: Double, _ codec: VideoCodec) -> Float? {
        guard count > 0, meanBytes > 0, samples > 0 else { return nil }
        let anchor =
            switch codec {
            case .h264, .mpeg2Video, .vp8: 0.1
            case .hevc, .vp9, .av1: 0.05
            }
        return Float(min(max(26 - 6 * log2(meanBytes * 8 / samples / anchor), 10), 45))
    }
}
