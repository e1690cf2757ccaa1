import Media

/// A frame header (AV1 specification, 5.9.2), up to the quantiser.
struct AV1FrameHeader {
    enum Kind: Int { case key, inter, intraOnly, switching }

    /// The size of a frame that others may refer to: before upscaling, and after.
    struct Size: Sendable {
        var upscaledWidth = 0
        var height = 0
    }

    var kind = Kind.key
    var isShown = true
    /// Shows a frame that was decoded before.
    private(set) var showsExisting: Int?
    /// Which of the eight stored frames this one replaces, a bit each.
    private(set) var refreshes = 0xFF
    private(set) var size = Size()
    /// `base_q_idx`; nil where the header does not get so far, or depends on what is unknown.
    private(set) var quantiserIndex: Int?

    /// - Parameters:
    ///   - payload: of the unit; any bytes at all.
    ///   - stored: the sizes of the stored frames.
    init?(
        _ payload: UnsafeRawBufferPointer, _ unit: AV1Unit, _ sequence: AV1Sequence, stored: borrowing InlineArray<8, Size>
    ) {
        var r = unsafe RBSPReader(payload, headerBytes: 0, hasPrevention: false)
        var isResilient = true
        if !sequence.isStill {
            if r.flag() {
                showsExisting = r.bits(3)
                refreshes = 0
                return
            }
            kind = Kind(rawValue: r.bits(2))!
            isShown = r.flag()
            if isShown {
                if sequence.hasDecoderModel, !sequence.hasEqualIntervals { r.skip(sequence.presentationTimeBits) }
            } else {
                r.skip(1)
            }
            isResilient = kind == .switching || kind == .key && isShown || r.flag()
        }
        let isIntra = kind == .key || kind == .intraOnly
        let keepsTables = r.flag()
        let usesScreenTools = sequence.screenTools == 2 ? r.flag() : sequence.screenTools == 1
        var isInteger = usesScreenTools && (sequence.integerMotion == 2 ? r.flag() : sequence.integerMotion == 1)
        isInteger = isInteger || isIntra
        r.skip(sequence.frameIDBits)
        let overridesSize = kind == .switching || !sequence.isStill && r.flag()
        r.skip(sequence.orderBits)
        if !isIntra, !isResilient { r.skip(3) }
        if sequence.hasDecoderModel, r.flag() {
            for point in sequence.operatingPoints where point.hasModel {
                let isIn = point.layers >> unit.temporalLayer & 1 == 1 && point.layers >> (unit.spatialLayer + 8) & 1 == 1
                if point.layers == 0 || isIn { r.skip(sequence.removalTimeBits) }
            }
        }
        refreshes = kind == .switching || kind == .key && isShown ? 0xFF : r.bits(8)
        if !isIntra || refreshes != 0xFF, isResilient, sequence.orderBits > 0 { r.skip(8 * sequence.orderBits) }
        guard !r.isExhausted else { return nil }
        var width = 0
        if isIntra {
            width = readSize(&r, sequence, overridesSize)
            skipRenderSize(&r)
            if usesScreenTools, width == size.upscaledWidth { r.skip(1) }
        } else {
            let isShort = sequence.orderBits > 0 && r.flag()
            if isShort { r.skip(6) }
            var references = InlineArray<7, Int>(repeating: -1)
            for i in 0..<7 {
                if !isShort { references[i] = r.bits(3) }
                r.skip(sequence.frameIDDeltaBits)
            }
            var isFound = false
            if overridesSize, !isResilient {
                for i in 0..<7 where !isFound && r.flag() {
                    // Which frame a short list means depends on the order of all of them.
                    guard references[i] >= 0 else { return }
                    isFound = true
                    size = stored[references[i]]
                }
            }
            if isFound {
                width = readSuperResolution(&r, sequence)
            } else {
                width = readSize(&r, sequence, overridesSize)
                skipRenderSize(&r)
            }
            if !isInteger { r.skip(1) }
            if !r.flag() { r.skip(2) }
            r.skip(1)
            if !isResilient, sequence.hasMotionFields { r.skip(1) }
        }
        if !sequence.isStill, !keepsTables { r.skip(1) }
        Self.skipTiles(&r, width: width, height: size.height, hasLargeBlocks: sequence.hasLargeBlocks)
        let index = r.bits(8)
        if !r.isExhausted { quantiserIndex = index }
    }

    /// - Returns: the width before upscaling.
    private mutating func readSize(_ r: inout RBSPReader, _ sequence: AV1Sequence, _ overrides: Bool) -> Int {
        size = Size(upscaledWidth: sequence.parameters.size.width, height: sequence.parameters.size.height)
        if overrides { size = Size(upscaledWidth: r.bits(sequence.widthBits) + 1, height: r.bits(sequence.heightBits) + 1) }
        return readSuperResolution(&r, sequence)
    }

    private func readSuperResolution(_ r: inout RBSPReader, _ sequence: AV1Sequence) -> Int {
        guard sequence.hasSuperResolution, r.flag() else { return size.upscaledWidth }
        let denominator = r.bits(3) + 9
        return (size.upscaledWidth * 8 + denominator / 2) / denominator
    }

    private func skipRenderSize(_ r: inout RBSPReader) { if r.flag() { r.skip(32) } }

    /// tile_info (5.9.15).
    private static func skipTiles(_ r: inout RBSPReader, width: Int, height: Int, hasLargeBlocks: Bool) {
        let shift = hasLargeBlocks ? 5 : 4
        func blocks(_ samples: Int) -> Int { (2 * ((samples + 7) >> 3) + (1 << shift) - 1) >> shift }
        func log2(_ block: Int, _ target: Int) -> Int {
            var k = 0
            while block << k < target { k += 1 }
            return k
        }
        let (columns, rows) = (blocks(width), blocks(height))
        guard columns > 0, rows > 0 else { return }
        let widest = 4096 >> (shift + 2)
        let leastColumns = log2(widest, columns)
        let least = max(leastColumns, log2((4096 * 2304) >> (2 * (shift + 2)), rows * columns))
        var (columnBits, rowBits) = (leastColumns, 0)
        if r.flag() {
            let most = log2(1, min(columns, 64))
            while columnBits < most, r.flag() { columnBits += 1 }
            rowBits = max(least - columnBits, 0)
            let mostRows = log2(1, min(rows, 64))
            while rowBits < mostRows, r.flag() { rowBits += 1 }
        } else {
            let tiles = skipSizes(&r, total: columns, most: widest)
            columnBits = log2(1, tiles.count)
            let area = least > 0 ? (rows * columns) >> (least + 1) : rows * columns
            rowBits = log2(1, skipSizes(&r, total: rows, most: max(area / max(tiles.largest, 1), 1)).count)
        }
        if columnBits > 0 || rowBits > 0 { r.skip(columnBits + rowBits + 2) }
    }

    private static func skipSizes(_ r: inout RBSPReader, total: Int, most: Int) -> (count: Int, largest: Int) {
        var (start, count, largest) = (0, 0, 0)
        while start < total, !r.isExhausted {
            let size = r.nonSymmetric(min(total - start, most)) + 1
            largest = max(largest, size)
            start += size
            count += 1
        }
        return (count, largest)
    }
}

extension RBSPReader {
    /// ns(n) (4.10.7).
    fileprivate mutating func nonSymmetric(_ n: Int) -> Int {
        let w = Int.bitWidth - n.leadingZeroBitCount
        let m = (1 << w) - n
        let v = bits(w - 1)
        return v < m ? v : (v << 1) - m + bit()
    }
}
