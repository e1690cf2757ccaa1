/// What a coded picture carries for viewers beside its samples (ATSC A/53 part 4, 6.2.3): captions, the active format, and how wide
/// the bars at its sides are.
///
/// A pure value of fixed size.
public struct PictureUserData: Sendable {
    /// The bytes of one piece of captions (`cc_data`, CTA-708, 4.3): a byte of marks and two of data.
    public static let pieceBytes = 3
    /// So many pieces fit into one message.
    public static let messageCapacity = 31
    /// So many are kept of one picture: two fields with a message each.
    private static let capacity = 2 * messageCapacity

    private var bytes: InlineArray<186, UInt8> = .init(repeating: 0)
    /// How many pieces of captions there are, padding too.
    public private(set) var pieces = 0
    /// The active format description (SMPTE 2016-1): 0…15; nil where nothing is said.
    public var activeFormat: UInt8?
    public var bars: PictureBars?

    public init() {}

    public var isEmpty: Bool { pieces == 0 && activeFormat == nil && bars == nil }

    /// A byte of the pieces, which follow each other.
    public subscript(byte: Int) -> UInt8 { bytes[byte] }

    /// How many pieces are no padding.
    public var validPieces: Int { (0..<pieces).count { isValid($0) } }

    private func isValid(_ piece: Int) -> Bool {
        let at = piece * Self.pieceBytes
        guard bytes[at] & 4 != 0 else { return false }
        // In CEA-608's fields (types 0 and 1) two zeros with their parity bits say nothing.
        return bytes[at] & 3 > 1 || bytes[at + 1] & 0x7F != 0 || bytes[at + 2] & 0x7F != 0
    }

    /// Appends a piece.
    /// - Returns: false where there is no room.
    @discardableResult
    public mutating func append(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Bool {
        guard pieces < Self.capacity else { return false }
        let at = pieces * Self.pieceBytes
        (bytes[at], bytes[at + 1], bytes[at + 2]) = (first, second, third)
        pieces += 1
        return true
    }

    /// Moves what a later picture carries into this one, as far as one message has room for its captions. Padding makes room first.
    /// - Returns: whether all was moved.
    public mutating func absorb(_ later: inout PictureUserData) -> Bool {
        if let format = later.activeFormat { activeFormat = format }
        if let bars = later.bars { self.bars = bars }
        (later.activeFormat, later.bars) = (nil, nil)
        if pieces == 0, later.pieces <= Self.messageCapacity {
            (bytes, pieces) = (later.bytes, later.pieces)
            later.pieces = 0
            return true
        }
        removePadding()
        later.removePadding()
        var moved = 0
        while moved < later.pieces, pieces < Self.messageCapacity {
            let at = moved * Self.pieceBytes
            append(later.bytes[at], later.bytes[at + 1], later.bytes[at + 2])
            moved += 1
        }
        later.removeFirst(moved)
        return later.pieces == 0
    }

    /// The same for a picture that has been brought to another size.
    public func scaled(from input: PictureSize, to output: PictureSize) -> PictureUserData {
        var scaled = self
        scaled.bars = bars?.scaled(
            across: Double(output.width) / Double(input.width), down: Double(output.height) / Double(input.height))
        return scaled
    }

    private mutating func removePadding() {
        var kept = 0
        for piece in 0..<pieces where isValid(piece) {
            copyPiece(piece, to: kept)
            kept += 1
        }
        pieces = kept
    }

    private mutating func removeFirst(_ count: Int) {
        if count == 0 { return }
        for piece in count..<pieces { copyPiece(piece, to: piece - count) }
        pieces -= count
    }

    private mutating func copyPiece(_ piece: Int, to place: Int) {
        for byte in 0..<Self.pieceBytes { bytes[place * Self.pieceBytes + byte] = bytes[piece * Self.pieceBytes + byte] }
    }
}

/// How wide the bars at a picture's sides are, in lines and samples from its top left (`bar_data`, ATSC A/53 part 4, 6.2.3.2); nil
/// where there is none.
public struct PictureBars: Hashable, Sendable, BitwiseCopyable {
    public var endOfTop: UInt16?
    public var startOfBottom: UInt16?
    public var endOfLeft: UInt16?
    public var startOfRight: UInt16?

    public init() {}

    /// The same bars in a picture of another size.
    public func scaled(across: Double, down: Double) -> PictureBars {
        func place(_ value: UInt16?, _ factor: Double) -> UInt16? {
            value.map { UInt16(min(16383, (Double($0) * factor).rounded())) }
        }
        var scaled = PictureBars()
        scaled.endOfTop = place(endOfTop, down)
        scaled.startOfBottom = place(startOfBottom, down)
        scaled.endOfLeft = place(endOfLeft, across)
        scaled.startOfRight = place(startOfRight, across)
        return scaled
    }
}
