import CQREncode

/// A QR code (ISO/IEC 18004): dark and light squares that a phone's camera reads as a text.
///
/// A value without a reference to the library that made it.
public struct QRCode: Hashable, Sendable {
    /// How many squares a side has: 21 to 177.
    public let size: Int
    /// Row by row.
    private let squares: [Bool]

    /// The largest code holds so many bytes with the error correction that is used here (level M, 15 %).
    public static let mostBytes = 2331
    /// Readers need so many light squares around a code (ISO/IEC 18004, 9.1).
    public static let quietZone = 4

    /// The smallest code that holds a text, as UTF-8.
    /// - Returns: nil where the text is empty or has more than ``mostBytes`` bytes, or where there is no memory.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...Self.mostBytes).contains(bytes.count) else { return nil }
        let made = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe QRcode_encodeData(Int32(bytes.count), bytes.baseAddress, 0, QR_ECLEVEL_M)
        }
        guard let code = unsafe made else { return nil }
        defer { unsafe QRcode_free(code) }
        let size = unsafe Int(code.pointee.width)
        self.size = size
        // The lowest bit says whether a square is dark, the others what it is for.
        squares = unsafe UnsafeBufferPointer(start: code.pointee.data, count: size * size).map { $0 & 1 == 1 }
    }

    /// Whether a square is dark. Both numbers count from 0, at the top left.
    public func isDark(_ column: Int, _ row: Int) -> Bool { squares[row * size + column] }

    /// The code as an SVG picture, dark on white, a unit for each square, with the light squares around it. Everything dark is one path.
    public var svg: String {
        let side = size + 2 * Self.quietZone
        var path = ""
        for row in 0..<size {
            var column = 0
            while column < size {
                let start = column
                while column < size, isDark(column, row) { column += 1 }
                let length = column - start
                if length > 0 { path += "M\(start + Self.quietZone) \(row + Self.quietZone)h\(length)v1h-\(length)z" }
                column += 1
            }
        }
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(side) \(side)\" shape-rendering=\"crispEdges\">"
            + "<rect width=\"\(side)\" height=\"\(side)\" fill=\"#fff\"/><path d=\"\(path)\"/></svg>\n"
    }
}
