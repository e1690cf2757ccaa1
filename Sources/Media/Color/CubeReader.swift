import Glibc

/// Reads the text of a `.cube` file: Adobe's Cube LUT Specification 1.0, and curves before a grid with a range for each, as DaVinci
/// Resolve writes them. A pure value.
///
/// ```
/// TITLE "warm film"
/// LUT_3D_SIZE 33
/// DOMAIN_MIN 0 0 0
/// DOMAIN_MAX 1 1 1
/// 0.01 0.0 0.02      red, green and blue of the first node; red varies fastest
/// …
/// ```
public struct CubeReader {
    /// Nodes on each axis of a grid. Two say nothing that controls could not, and no more than 65 are seen.
    public static let sizes = 3...65
    public static let curveSizes = 2...65_536
    /// The most bytes of a file: 40 for each row of the largest, and 3 MiB of remarks.
    public static let largestFile = (65 * 65 * 65 + 65_536) * 40 + 3 << 20

    private var title: String?
    private var curves = CubeTable.Grid()
    private var cube = CubeTable.Grid()
    private var domain = CubeTable.Grid().domain
    private var hasRanges = (curves: false, cube: false)
    private var rows = 0
    private var line = 0

    private init() {}

    /// - Throws: the first fault.
    public static func read(_ text: [UInt8]) throws(CubeFault) -> CubeTable {
        var reader = CubeReader()
        var rest = text[...]
        // The mark that some editors put before UTF-8.
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        while !rest.isEmpty {
            let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? rest.endIndex
            reader.line += 1
            try reader.read(line: rest[rest.startIndex..<end])
            let isPair = end + 1 < rest.endIndex && rest[end] == UInt8(ascii: "\r") && rest[end + 1] == UInt8(ascii: "\n")
            rest = rest[min(end + (isPair ? 2 : 1), rest.endIndex)...]
        }
        return try reader.end()
    }

    private func fault(_ text: String) -> CubeFault { CubeFault(line: line, text) }

    private var wanted: Int { curves.size + cube.size * cube.size * cube.size }

    private mutating func read(line: ArraySlice<UInt8>) throws(CubeFault) {
        var words = Words(line)
        guard let first = words.next(), first.first != UInt8(ascii: "#") else { return }
        guard Self.isKeyword(first) else { return try readRow(line) }
        guard rows == 0 else { throw fault("\(Self.shown(first)) stands behind rows: keywords come before all rows") }
        switch String(decoding: first, as: UTF8.self) {
        case "TITLE":
            let text = String(decoding: words.rest, as: UTF8.self)
            title = String(text.filter { $0 != "\"" && !$0.isNewline }.prefix(250))
        case "LUT_3D_SIZE":
            cube.size = try size(words.next(), Self.sizes, "LUT_3D_SIZE")
            cube.values.reserveCapacity(cube.size * cube.size * cube.size)
        case "LUT_1D_SIZE":
            curves.size = try size(words.next(), Self.curveSizes, "LUT_1D_SIZE")
            curves.values.reserveCapacity(curves.size)
        case "DOMAIN_MIN": domain.least = ColorVector(try color(words.rest))
        case "DOMAIN_MAX": domain.most = ColorVector(try color(words.rest))
        case "LUT_1D_INPUT_RANGE":
            curves.domain = try range(words.rest)
            hasRanges.curves = true
        case "LUT_3D_INPUT_RANGE":
            cube.domain = try range(words.rest)
            hasRanges.cube = true
        default:
            throw fault(
                "\(Self.shown(first)) is no keyword that is known here: delete the line if the table is right without it")
        }
    }

    private mutating func readRow(_ line: ArraySlice<UInt8>) throws(CubeFault) {
        guard wanted > 0 else { throw fault("rows begin before LUT_3D_SIZE or LUT_1D_SIZE says how many") }
        guard rows < wanted else { throw fault("there are more rows than the \(wanted) that the sizes ask for") }
        let value = try color(line)
        if rows < curves.size { curves.values.append(value) } else { cube.values.append(value) }
        rows += 1
    }

    private mutating func end() throws(CubeFault) -> CubeTable {
        guard wanted > 0 else { throw CubeFault("has no LUT_3D_SIZE and no LUT_1D_SIZE: it is no .cube file") }
        guard rows == wanted else {
            throw CubeFault("ends after \(rows) of \(wanted) rows: it is cut off, get the whole file")
        }
        // The domain is that of what comes first.
        if curves.size > 0 {
            if !hasRanges.curves { curves.domain = domain }
        } else if !hasRanges.cube {
            cube.domain = domain
        }
        for grid in [curves, cube] where any(grid.domain.most .<= grid.domain.least) {
            throw CubeFault("has a domain or range that is empty: its end lies beyond its beginning for each colour")
        }
        return CubeTable(title: title, curves: curves.size > 0 ? curves : nil, cube: cube.size > 0 ? cube : nil)
    }

    private func size(_ word: ArraySlice<UInt8>?, _ sizes: ClosedRange<Int>, _ name: String) throws(CubeFault) -> Int {
        let text = String(decoding: word ?? [], as: UTF8.self)
        guard let size = Int(text), sizes.contains(size) else {
            throw fault("\(name) is \(sizes.lowerBound) to \(sizes.upperBound), not \(Self.shown(word ?? []))")
        }
        return size
    }

    private func range(_ text: ArraySlice<UInt8>) throws(CubeFault) -> (least: ColorVector, most: ColorVector) {
        let numbers = try self.numbers(text, 2)
        return (ColorVector(repeating: Double(numbers.x)), ColorVector(repeating: Double(numbers.y)))
    }

    private func color(_ text: ArraySlice<UInt8>) throws(CubeFault) -> SIMD3<Float> { try numbers(text, 3) }

    private func numbers(_ text: ArraySlice<UInt8>, _ count: Int) throws(CubeFault) -> SIMD3<Float> {
        var words = Words(text)
        var result = SIMD3<Float>()
        var found = 0
        while let word = words.next(), word.first != UInt8(ascii: "#") {
            guard let number = Self.number(word) else { throw fault("\(Self.shown(word)) is no number") }
            if found < count { result[found] = number }
            found += 1
        }
        guard found == count else { throw fault("there are \(found) numbers, and \(count) belong here") }
        return result
    }

    // MARK: Words

    private struct Words {
        var rest: ArraySlice<UInt8>

        init(_ text: ArraySlice<UInt8>) { rest = text }

        /// What stands between spaces.
        mutating func next() -> ArraySlice<UInt8>? {
            guard let start = rest.firstIndex(where: { !Self.isSpace($0) }) else { return nil }
            let end = rest[start...].firstIndex(where: Self.isSpace) ?? rest.endIndex
            defer { rest = rest[end...] }
            return rest[start..<end]
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    }

    /// A word that begins with a letter, but for what other programs write for a number that is none.
    private static func isKeyword(_ word: ArraySlice<UInt8>) -> Bool {
        guard let first = word.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20) else { return false }
        return !["nan", "inf", "infinity"].contains(String(decoding: word, as: UTF8.self).lowercased())
    }

    /// At most 20 characters of what stands there.
    private static func shown(_ word: ArraySlice<UInt8>) -> String {
        if word.isEmpty { return "nothing" }
        let text = String(decoding: word.prefix(20), as: UTF8.self)
        return String(text.map { $0.unicodeScalars.contains { $0.value < 32 || $0.value == 127 } ? "?" : $0 })
    }

    /// No colour is so large, and no number of a file so small.
    private static let largest: Float = 1e6
    private static let powers: [Double] = (0...22).map { pow(10, Double($0)) }

    /// A decimal number. Foundation reads each three times as slowly, and a file has 800,000.
    static func number(_ word: ArraySlice<UInt8>) -> Float? {
        var at = word.startIndex
        func digit() -> UInt64? {
            guard at < word.endIndex, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(word[at]) else { return nil }
            return UInt64(word[at] - UInt8(ascii: "0"))
        }
        func sign() -> Bool {
            guard at < word.endIndex, word[at] == UInt8(ascii: "-") || word[at] == UInt8(ascii: "+") else { return false }
            defer { at += 1 }
            return word[at] == UInt8(ascii: "-")
        }
        let isNegative = sign()
        var (mantissa, exponent, count) = (UInt64(0), 0, 0)
        /// More digits than these change nothing.
        let most: UInt64 = 1 << 55
        while let value = digit() {
            if mantissa < most { mantissa = 10 * mantissa + value } else { exponent += 1 }
            (at, count) = (at + 1, count + 1)
        }
        if at < word.endIndex, word[at] == UInt8(ascii: ".") {
            at += 1
            while let value = digit() {
                if mantissa < most { (mantissa, exponent) = (10 * mantissa + value, exponent - 1) }
                (at, count) = (at + 1, count + 1)
            }
        }
        guard count > 0 else { return nil }
        if at < word.endIndex, word[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            let isSmall = sign()
            var (stated, digits) = (0, 0)
            while let value = digit() { (stated, at, digits) = (min(10 * stated + Int(value), 10_000), at + 1, digits + 1) }
            guard digits > 0 else { return nil }
            exponent += isSmall ? -stated : stated
        }
        guard at == word.endIndex else { return nil }
        let scale = abs(exponent) < powers.count ? powers[abs(exponent)] : pow(10, Double(min(abs(exponent), 400)))
        let value = Float(exponent < 0 ? Double(mantissa) / scale : Double(mantissa) * scale)
        guard value <= largest else { return nil }
        return isNegative ? -value : value
    }
}
