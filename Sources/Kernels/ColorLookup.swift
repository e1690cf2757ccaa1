import CKernels
import Media

/// What every colour becomes: a table of 33 nodes on each axis.
///
/// Immutable, so any thread may use it.
@safe public final class ColorTable: Sendable {
    /// Cells of Y, then of U, then of V. Written by the initialiser alone.
    nonisolated(unsafe) private let cells: UnsafeMutablePointer<Int16>
    private static let entries = Int(BURNISH_COLOR_CELLS) * 8

    private let chroma: ChromaNodes

    /// Nodes on each axis.
    public static let nodes = Int(BURNISH_COLOR_NODES)

    /// Where the nodes of U and V lie. Those of Y lie evenly.
    public struct ChromaNodes: Sendable {
        fileprivate let knee: Int16
        fileprivate let inner: Int16
        fileprivate let outer: Int16

        /// Eight samples of 8 bits apart.
        public static let even = ChromaNodes(knee: 512, inner: 4096, outer: 4096)
        /// Three in four lie within 40 samples of grey, where nearly all colours of HDR and of wide gamuts are. One lies where the distance
        /// changes, else the cell around that would be bent.
        public static let nearGrey = ChromaNodes(knee: 160, inner: 9830, outer: 1487)

        /// The sample of 8 bits, with a fraction, on which a node lies. The first and the last node may lie beyond all samples.
        public func sample(of node: Int) -> Double {
            let place = Double(node - ColorTable.nodes / 2) * Double(BURNISH_COLOR_STEP)
            let bend = Double(knee) * Double(inner) / 4096
            let distance =
                abs(place) <= bend
                ? abs(place) * 4096 / Double(inner) : Double(knee) + (abs(place) - bend) * 4096 / Double(outer)
            return 128 + (place < 0 ? -distance : distance) / 4
        }
    }

    /// Calls a function for each node, which takes some milliseconds.
    /// - Parameters:
    ///   - chroma: where the nodes of U and V lie.
    ///   - value: Y, U and V that a colour becomes, all as samples of 8 bits with fractions. What lies outside of 0…256 counts as its
    ///     limit, since the last node, which is 256, must lie in line with those before.
    public init(chroma: ChromaNodes = .even, _ value: (ColorVector) -> ColorVector) {
        self.chroma = chroma
        let nodes = Self.nodes
        let lumas = (0..<nodes).map { Double($0) * Double(BURNISH_COLOR_STEP) / 4 }
        let chromas = (0..<nodes).map(chroma.sample)
        let count = nodes * nodes * nodes
        var entries = [Int16](repeating: 0, count: 3 * count)
        for v in 0..<nodes {
            for u in 0..<nodes {
                for luma in 0..<nodes {
                    let becomes = value(ColorVector(lumas[luma], chromas[u], chromas[v]))
                    let index = luma + nodes * (u + nodes * v)
                    for component in 0..<3 { entries[index + component * count] = Self.entry(becomes[component]) }
                }
            }
        }
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: 3 * Self.entries * MemoryLayout<Int16>.stride, alignment: 64)
        unsafe cells = bytes.bindMemory(to: Int16.self, capacity: 3 * Self.entries)
        unsafe entries.withUnsafeBufferPointer { entries in
            for component in 0..<3 {
                unsafe burnish_color_fill(cells + component * Self.entries, entries.baseAddress! + component * count)
            }
        }
    }

    deinit { unsafe UnsafeMutableRawPointer(cells).deallocate() }

    private static func entry(_ sample: Double) -> Int16 {
        Int16(min((max(sample, 0) * Double(BURNISH_COLOR_ONE)).rounded(), Double(Int16.max)))
    }

    /// As kernels take it; it must not outlive the table.
    @unsafe package var kernelTable: burnish_color_table {
        unsafe burnish_color_table(
            y: cells, u: cells + Self.entries, v: cells + 2 * Self.entries, knee: chroma.knee, inner: chroma.inner,
            outer: chroma.outer)
    }
}

/// A plane whose samples have 8 bits, or up to 10 in 16.
@unsafe public struct DeepPlane {
    public let base: UnsafeRawPointer
    /// Bytes from a row to the next.
    public let stride: Int

    public init(base: UnsafeRawPointer, stride: Int) {
        unsafe self.base = base
        unsafe self.stride = stride
    }

    fileprivate func row(_ y: Int) -> UnsafeRawPointer { unsafe base + y * stride }
}

extension Kernels {
    /// Gives each sample of a 4:2:0 picture what the table has for its colour.
    /// - Parameters:
    ///   - source: Y, U and V of the size of `target`'s. They may be the same memory, if they have 8 bits.
    ///   - isDeep: whether samples have 10 bits.
    ///   - dithers: whether a pattern of less than half a level breaks up the bands of what is rounded. It is the same in every picture,
    ///     so still pictures stay still.
    ///   - rows: of luma; begins with an even one. Nil is all.
    @unsafe public func mapColors(
        _ source: (y: DeepPlane, u: DeepPlane, v: DeepPlane), isDeep: Bool, by colors: ColorTable,
        into target: MutablePictureView, dithers: Bool = true, rows: Range<Int>? = nil
    ) {
        let (width, height) = unsafe (target.y.width, target.y.height)
        let kernel = unsafe isDeep ? table.color.rows10! : table.color.rows8!
        var cells = unsafe colors.kernelTable
        let rows = rows ?? 0..<height
        unsafe (dithers ? Self.dither : Self.half).span.withUnsafeBufferPointer { dither in
            for row in stride(from: rows.lowerBound, to: rows.upperBound, by: 2) {
                // An odd picture's last row stands for the one below it.
                let below = min(row + 1, height - 1)
                unsafe kernel(
                    &cells,
                    burnish_color_rows(
                        y0: target.y.row(row), y1: target.y.row(below), u: target.u.row(row / 2), v: target.v.row(row / 2),
                        from_y0: source.y.row(row), from_y1: source.y.row(below), from_u: source.u.row(row / 2),
                        from_v: source.v.row(row / 2), dither0: dither.baseAddress! + row % 8 * 16,
                        dither1: dither.baseAddress! + below % 8 * 16),
                    Int32(width))
            }
        }
    }

    /// Gives samples of the full range (0…255) that of 16…235, or 16…240 for chroma, rounded to the nearest.
    /// - Parameters:
    ///   - source: the first sample.
    ///   - sourceStride: bytes from a row to the next; so is `stride`.
    ///   - size: of the plane.
    @unsafe public static func limitRange(
        of source: UnsafePointer<UInt8>, _ sourceStride: Int, _ size: PictureSize, isLuma: Bool,
        into target: UnsafeMutablePointer<UInt8>, _ stride: Int
    ) {
        for row in 0..<size.height {
            unsafe burnish_color_limit(
                target + row * stride, source + row * sourceStride, Int32(size.width), isLuma ? 219 : 224, isLuma ? 0 : 128)
        }
    }

    /// Rounds to the nearest.
    private static let half = [Int16](repeating: Int16(BURNISH_COLOR_ONE / 2), count: 128)

    /// Eight rows of sixteen: Bayer's ordered dither, twice side by side, from 1/128 to 127/128 of a level.
    private static let dither: [Int16] = (0..<8).flatMap { y in
        (0..<16).map { x in
            // The bits of x ^ y and y, from the lowest on, are those of the rank from the highest on.
            let (a, b) = ((x % 8) ^ y, y)
            var rank = 0
            for bit in 0..<3 { rank = rank << 2 | (a >> bit & 1) << 1 | (b >> bit & 1) }
            return Int16(2 * rank + 1)
        }
    }
}
