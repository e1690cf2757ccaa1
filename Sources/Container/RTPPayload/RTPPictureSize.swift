import Bitstream
import Media

/// How large the pictures are that begin with a payload.
public enum RTPPictureSize {
    /// Reads a payload of H.264 that has a sequence parameter set, or one with which a keyframe of VP8 begins. A decoder can begin with
    /// it.
    /// - Parameter payload: without RTP's header and padding; any bytes.
    /// - Returns: nil for all others.
    public static func read(_ payload: Span<UInt8>, _ format: RTPPayloadFormat) -> PictureSize? {
        switch format {
        case .h264: h264(payload)
        case .vp8: vp8(payload)
        case .opus: nil
        }
    }

    private static func size(_ set: Span<UInt8>) -> PictureSize? {
        unsafe set.withUnsafeBytes { unsafe try? SequenceParameterSet($0).size }
    }

    private static func h264(_ payload: Span<UInt8>) -> PictureSize? {
        guard payload.count > 1 else { return nil }
        switch payload[0] & 0x1f {
        case 7: return size(payload)
        case 24:
            // An aggregation (RFC 6184, 5.7.1): each part has its length before it.
            var at = 1
            while at + 3 <= payload.count {
                let end = at + 2 + (Int(payload[at]) << 8 | Int(payload[at + 1]))
                guard end <= payload.count else { return nil }
                if end > at + 2, payload[at + 2] & 0x1f == 7 { return size(payload.extracting(at + 2..<end)) }
                at = end
            }
            return nil
        default: return nil
        }
    }

    private static func vp8(_ payload: Span<UInt8>) -> PictureSize? {
        guard let descriptor = VP8Descriptor(reading: payload), descriptor.beginsFrame else { return nil }
        return unsafe payload.extracting(descriptor.byteCount..<payload.count).withUnsafeBytes {
            unsafe VideoParameters(vp8: $0)?.size
        }
    }
}
