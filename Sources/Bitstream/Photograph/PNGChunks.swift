import Media

/// What is wrong with a PNG file, as the end of a sentence.
public struct PNGFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var description: String
}

/// The parts of a PNG file that a picture is made of (W3C's Portable Network Graphics, 3rd edition, clause 11). Its size is known, and
/// limited, before anything is unpacked. A pure value.
public struct PNGChunks: Sendable {
    public let size: PictureSize
    /// A file with these parts only: others may hold texts and profiles that grow when they are unpacked.
    public let bytes: [UInt8]

    /// The most bytes of a file.
    public static let largestFile = 16 << 20
    public static let longestSide = 8_192
    public static let mostSamples = 1 << 24

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let kept: Set<[UInt8]> = Set(["IHDR", "PLTE", "tRNS", "IDAT", "IEND"].map { Array($0.utf8) })

    /// - Throws: where it is no PNG file, is cut off, or too large.
    public init(_ file: [UInt8]) throws(PNGFault) {
        guard file.starts(with: Self.signature) else { throw PNGFault(description: "is no PNG file") }
        var (kept, rest) = (Self.signature, file.dropFirst(8))
        var found: PictureSize?
        var hasPicture = false
        while let length = Self.number(rest), rest.count >= 12, Int(length) <= rest.count - 12 {
            let chunk = rest.prefix(12 + Int(length))
            let name = Array(chunk.dropFirst(4).prefix(4))
            rest = rest.dropFirst(chunk.count)
            let isHeader = name == Array("IHDR".utf8)
            guard isHeader == (found == nil) else {
                throw PNGFault(description: "is damaged: its header is not its first part")
            }
            if isHeader { found = try Self.size(chunk.dropFirst(8).dropLast(4)) }
            guard Self.kept.contains(name) else { continue }
            kept += chunk
            if name == Array("IDAT".utf8) { hasPicture = true }
            if name == Array("IEND".utf8), let found {
                guard hasPicture else { throw PNGFault(description: "has no picture in it") }
                (size, bytes) = (found, kept)
                return
            }
        }
        throw PNGFault(description: "is cut off")
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        bytes.count < 4 ? nil : bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func size(_ header: ArraySlice<UInt8>) throws(PNGFault) -> PictureSize {
        guard header.count == 13, let width = number(header), let height = number(header.dropFirst(4)), width > 0, height > 0
        else {
            throw PNGFault(description: "is damaged: its header has no size")
        }
        guard width <= longestSide, height <= longestSide, Int(width) * Int(height) <= mostSamples else {
            throw PNGFault(
                description:
                    "is \(width)x\(height), and may be \(longestSide) wide or high and have \(mostSamples >> 20) million samples"
            )
        }
        return PictureSize(width: Int(width), height: Int(height))
    }
}
