/// Reads VP8 frames (RFC 6386, 9).
///
/// The quantiser is that of the frame. Segments may differ from it.
struct VP8UnitReader: AccessUnitReader {
    private var hasStarted = false

    init() {}

    var reordering: Int? { 0 }

    mutating func reset() { hasStarted = false }

    mutating func read(_ unit: UnsafeRawBufferPointer) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        summary.precedesEntryPoint = !hasStarted
        guard let header = unsafe VP8FrameHeader(unit) else { return summary }
        if header.isKey { hasStarted = true }
        summary.hasSlice = true
        summary.isRefresh = header.isKey
        summary.isReference = header.isReference
        summary.isHidden = !header.isShown
        summary.precedesEntryPoint = !hasStarted
        summary.quantiser = QuantiserScale.vp8(index: header.quantiserIndex)
        return summary
    }
}

/// A frame header (RFC 6386, 9.1 to 9.7 and 19.2), up to what the frame replaces.
struct VP8FrameHeader {
    let isKey: Bool
    let isShown: Bool
    /// `y_ac_qi`, 0…127.
    let quantiserIndex: Int
    /// It replaces a frame that later ones may refer to.
    let isReference: Bool

    /// - Parameter frame: any bytes at all.
    /// - Returns: nil where it is no whole header.
    init?(_ frame: UnsafeRawBufferPointer) {
        guard frame.count > 3 else { return nil }
        isKey = unsafe frame[0] & 1 == 0
        isShown = unsafe frame[0] & 0x10 != 0
        var start = 3
        if isKey {
            guard frame.count > 10, unsafe frame[3] == 0x9D && frame[4] == 0x01 && frame[5] == 0x2A else { return nil }
            start = 10
        }
        var r = unsafe VP8BoolReader(UnsafeRawBufferPointer(rebasing: frame[start...]))
        if isKey { r.skip(2) }
        if r.flag() {
            let (updatesMap, updatesData) = (r.flag(), r.flag())
            if updatesData {
                r.skip(1)
                for _ in 0..<4 where r.flag() { r.skip(8) }
                for _ in 0..<4 where r.flag() { r.skip(7) }
            }
            if updatesMap { for _ in 0..<3 where r.flag() { r.skip(8) } }
        }
        r.skip(1 + 6 + 3)
        if r.flag(), r.flag() { for _ in 0..<8 where r.flag() { r.skip(7) } }
        r.skip(2)
        quantiserIndex = r.bits(7)
        for _ in 0..<5 where r.flag() { r.skip(5) }
        if isKey {
            isReference = true
        } else {
            let (golden, other) = (r.flag(), r.flag())
            let copiesGolden = !golden && r.bits(2) != 0
            let copiesOther = !other && r.bits(2) != 0
            r.skip(3)
            isReference = r.flag() || golden || other || copiesGolden || copiesOther
        }
        guard !r.isExhausted else { return nil }
    }
}

/// VP8's arithmetic decoder (RFC 6386, 7.3), for flags of even chance only.
@safe private struct VP8BoolReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var value = 0
    private var range = 255
    private var bitCount = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = bytes
        value = next() << 8 | next()
    }

    /// Two bytes are read ahead.
    var isExhausted: Bool { unsafe position > bytes.count + 2 }

    private mutating func next() -> Int {
        defer { position += 1 }
        return unsafe position < bytes.count ? Int(bytes[position]) : 0
    }

    mutating func flag() -> Bool {
        let split = 1 + ((range - 1) * 128) >> 8
        let isOne = value >= split << 8
        if isOne {
            range -= split
            value -= split << 8
        } else {
            range = split
        }
        while range < 128 {
            value <<= 1
            range <<= 1
            bitCount += 1
            if bitCount == 8 {
                bitCount = 0
                value |= next()
            }
        }
        return isOne
    }

    mutating func bits(_ n: Int) -> Int {
        var all = 0
        for _ in 0..<n { all = all << 1 | (flag() ? 1 : 0) }
        return all
    }

    mutating func skip(_ n: Int) { for _ in 0..<n { _ = flag() } }
}
