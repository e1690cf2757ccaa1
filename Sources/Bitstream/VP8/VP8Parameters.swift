import Media

/// VP8 (RFC 6386).
public enum VP8 {
    /// Whether a frame begins with a keyframe's whole header (9.1): the bit of its first byte, and the start code behind the tag.
    /// - Parameter frame: any bytes at all.
    public static func isKeyframe(_ frame: UnsafeRawBufferPointer) -> Bool {
        unsafe frame.count >= 10 && frame[0] & 1 == 0 && frame[3] == 0x9d && frame[4] == 0x01 && frame[5] == 0x2a
    }
}

extension VideoParameters {
    /// What a keyframe of VP8 says of its pictures (RFC 6386, 9.1).
    /// - Parameter frame: any bytes at all.
    /// - Returns: nil for a frame that is no keyframe, or an empty or absurd size.
    public init?(vp8 frame: UnsafeRawBufferPointer) {
        guard unsafe VP8.isKeyframe(frame) else { return nil }
        // 14 bits each, the lowest first. The two above say how a player may scale.
        let width = unsafe Int(frame[6]) | Int(frame[7] & 0x3f) << 8
        let height = unsafe Int(frame[8]) | Int(frame[9] & 0x3f) << 8
        guard let size = try? Self.checked(width: width, height: height) else { return nil }
        self.init(codec: .vp8, size: size)
        reordering = 0
    }
}
