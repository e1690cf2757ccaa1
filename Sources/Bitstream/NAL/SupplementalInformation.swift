/// Reads supplemental enhancement information (SEI) NAL units (ITU-T H.264 and H.265, 7.3.2.3 and 7.3.2.4).
enum SupplementalInformation {
    private static let registeredUserData = 4
    private static let recoveryPoint = 6
    private static let masteringDisplay = 137
    private static let contentLight = 144
    private static let alternativeTransfer = 147

    /// Calls `body` for each message of registered user data (H.264, D.1.6; H.265, D.2.6).
    /// - Parameters:
    ///   - nal: the NAL unit with its header, without its start code. Any bytes at all.
    ///   - headerBytes: 1 in H.264, 2 in HEVC.
    ///   - body: gets a reader at the beginning of a message's contents, and their size.
    static func forEachRegistered(
        in nal: UnsafeRawBufferPointer, headerBytes: Int, _ body: (RBSPReader, Int) -> Void
    ) {
        var reader = unsafe RBSPReader(nal, headerBytes: headerBytes)
        while let (type, size) = messageHeader(&reader) {
            if type == registeredUserData { body(reader, size) }
            reader.skipBytes(size)
        }
    }

    /// Searches for a recovery point message (H.264, D.1.8; H.265, D.2.8).
    /// - Parameters:
    ///   - nal: the NAL unit with its header, without its start code. Any bytes at all.
    ///   - headerBytes: 1 in H.264, 2 in HEVC.
    /// - Returns: `recovery_frame_cnt`, or HEVC's `recovery_poc_cnt` where that is positive: after how many frames the pictures
    ///   are right; nil without a whole message.
    static func recoveryFrameCount(in nal: UnsafeRawBufferPointer, headerBytes: Int = 1) -> Int? {
        var reader = unsafe RBSPReader(nal, headerBytes: headerBytes)
        while let (type, size) = messageHeader(&reader) {
            if type == recoveryPoint {
                let count = headerBytes == 1 ? reader.unsigned() : max(0, reader.signed())
                return size > 0 && !reader.isExhausted ? count : nil
            }
            reader.skipBytes(size)
        }
        return nil
    }

    /// Reads HEVC's messages of light (H.265, D.2.28, D.2.35, D.2.38).
    /// - Parameter nal: as of the other functions, with HEVC's header.
    static func readLight(in nal: UnsafeRawBufferPointer, into light: inout LightMessages) {
        var reader = unsafe RBSPReader(nal, headerBytes: 2)
        while let (type, size) = messageHeader(&reader) {
            var message = reader
            switch (type, size) {
            case (alternativeTransfer, 1...): light.transfer = message.alignedByte()
            case (contentLight, 4...): light.ofContent = Double(message.bits(16))
            case (masteringDisplay, 24...):
                // Three colours and white.
                message.skipBytes(16)
                light.ofDisplay = Double(message.bits(32)) / 10_000
            default: break
            }
            reader.skipBytes(size)
        }
    }

    /// Reads a message's type and size.
    /// - Returns: nil at the end of the messages.
    private static func messageHeader(_ reader: inout RBSPReader) -> (type: Int, size: Int)? {
        // The trailing bits, which end the messages, are 1000 0000.
        guard let type = number(&reader, end: 0x80), let size = number(&reader, end: nil) else { return nil }
        return (type, size)
    }

    /// A number in bytes: 255 for each byte FF, and a last byte.
    private static func number(_ reader: inout RBSPReader, end: UInt8?) -> Int? {
        var sum = 0
        while true {
            let byte = reader.alignedByte()
            if reader.isExhausted || (sum == 0 && byte == end) { return nil }
            sum += Int(byte)
            if byte != 0xFF { return sum }
        }
    }
}
