/// Writes NAL units with headers that are right and pictures that are none.
public enum H264Stream {
    public static let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xF0]
    /// A recovery point message with a count of 0.
    public static let recoveryPoint: [UInt8] = [0, 0, 1, 6, 6, 1, 0b1100_0100, 0x80]

    /// Baseline 128x96 with 4 bits for `frame_num`, and a picture parameter set that refers to it.
    public static func parameterSets(allowsGaps: Bool = false, isProgressive: Bool = true) -> [UInt8] {
        var w = BitWriter()
        for byte in [0x67, 66, 0xC0, 10] { w.bits(byte, 8) }
        for code in [0, 0, 2, 1] { w.unsigned(code) }
        w.bits(allowsGaps ? 1 : 0, 1)
        w.unsigned(7)
        w.unsigned(isProgressive ? 5 : 2)
        w.bits(isProgressive ? 0b1100 : 0b00100, isProgressive ? 4 : 5)
        return [0, 0, 0, 1] + w.finished + [0, 0, 0, 1, 0x68, 0xCE, 0x3C, 0x80]
    }

    /// A slice with 40 bytes behind its header.
    /// - Parameters:
    ///   - isBottom: for one field of a frame.
    ///   - isFrame: for a frame in a stream that may have fields.
    public static func slice(
        frame: Int, firstMacroblock: Int = 0, isRefresh: Bool = false, isReference: Bool = true, isBottom: Bool? = nil,
        isFrame: Bool = false
    ) -> [UInt8] {
        var w = BitWriter()
        for code in [firstMacroblock, 7, 0] { w.unsigned(code) }
        w.bits(frame, 4)
        if isFrame { w.bits(0, 1) }
        if let isBottom { w.bits(isBottom ? 0b11 : 0b10, 2) }
        let header: UInt8 = (isReference ? 0x60 : 0) | (isRefresh ? 5 : 1)
        return [0, 0, 1, header] + w.padded + [UInt8](repeating: 0x55, count: 40)
    }
}
