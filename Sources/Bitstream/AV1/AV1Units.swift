/// One open bitstream unit (OBU) of AV1 (AV1 Bitstream & Decoding Process Specification, 5.3).
@safe struct AV1Unit {
    enum Kind: Int {
        case sequenceHeader = 1, temporalDelimiter, frameHeader, tileGroup, metadata, frame, redundantFrameHeader, tileList
        case padding = 15
    }

    /// Nil for a reserved type.
    let kind: Kind?
    let temporalLayer: Int
    let spatialLayer: Int
    /// What follows the header.
    @unsafe let payload: UnsafeRawBufferPointer
    /// Bytes with the header.
    let byteCount: Int

    /// - Parameter bytes: from the unit's header on.
    /// - Returns: nil where they are no whole unit.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 1 else { return nil }
        let header = unsafe bytes[0]
        guard header & 0x80 == 0 else { return nil }
        kind = Kind(rawValue: Int(header >> 3 & 15))
        var at = 1
        if header & 4 != 0 {
            guard bytes.count >= 2 else { return nil }
            (temporalLayer, spatialLayer) = unsafe (Int(bytes[1] >> 5), Int(bytes[1] >> 3 & 3))
            at = 2
        } else {
            (temporalLayer, spatialLayer) = (0, 0)
        }
        if header & 2 != 0 {
            guard let size = unsafe AV1Unit.size(bytes, &at), size <= bytes.count - at else { return nil }
            byteCount = at + size
        } else {
            byteCount = bytes.count
        }
        unsafe payload = UnsafeRawBufferPointer(rebasing: bytes[at..<byteCount])
    }

    /// leb128() (4.10.5).
    private static func size(_ bytes: UnsafeRawBufferPointer, _ at: inout Int) -> Int? {
        var value = 0
        for place in 0..<5 {
            guard at < bytes.count else { return nil }
            let byte = unsafe bytes[at]
            at += 1
            value |= Int(byte & 0x7F) << (7 * place)
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }
}

/// The form that AV1 has in a transport stream: each unit begins with a start code, and start codes inside are prevented
/// (AOM, Carriage of AV1 in MPEG-2 TS, 3.2).
public enum AV1StartCodes {
    /// Whether an access unit has that form. The plain form begins with a unit's header, which is never 0.
    public static func isUsed(in unit: UnsafeRawBufferPointer) -> Bool {
        unit.count > 3 && (unsafe unit[0] == 0 && unit[1] == 0)
    }

    /// Writes an access unit in the form that decoders take: without start codes, each unit with its size.
    /// - Parameter out: is emptied first; allocates only when it grows.
    public static func remove(from unit: UnsafeRawBufferPointer, into out: inout [UInt8]) {
        out.removeAll(keepingCapacity: true)
        var next = unsafe NALScanner.nextUnit(in: unit, from: 0)
        while let at = next {
            next = unsafe NALScanner.nextUnit(in: unit, from: at)
            let end = next.map { $0 - 3 } ?? unit.count
            unsafe append(UnsafeRawBufferPointer(rebasing: unit[at..<end]), to: &out)
        }
    }

    /// Appends a unit without emulation prevention.
    static func appendPlain(_ unit: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        var zeros = 0
        for at in 0..<unit.count {
            let byte = unsafe unit[at]
            if zeros >= 2, byte == 3, at + 1 >= unit.count || (unsafe unit[at + 1] <= 3) {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            out.append(byte)
        }
    }

    private static func append(_ unit: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        guard let header = unsafe unit.first else { return }
        let start = out.count
        unsafe appendPlain(unit, to: &out)
        if header & 2 != 0 {
            // Zeros may stand before the next start code.
            let whole = unsafe out.withUnsafeBytes { unsafe AV1Unit(UnsafeRawBufferPointer(rebasing: $0[start...]))?.byteCount }
            if let whole { out.removeSubrange((start + whole)...) }
            return
        }
        let headerBytes = header & 4 != 0 ? 2 : 1
        guard out.count - start >= headerBytes else { return out.removeSubrange(start...) }
        out[start] |= 2
        var size = out.count - start - headerBytes
        var at = start + headerBytes
        repeat {
            out.insert(UInt8(size & 0x7F) | (size > 0x7F ? 0x80 : 0), at: at)
            size >>= 7
            at += 1
        } while size > 0
    }
}
