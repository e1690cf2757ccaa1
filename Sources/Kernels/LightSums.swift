import CKernels
import Media

/// How much light in the scene each code of luma stands for, by the curve of SDR's cameras (``TransferCurves/scene(sdr:)``).
///
/// Immutable, so any thread may use it.
@safe public final class LightTable: Sendable {
    /// Written by the initialiser alone.
    nonisolated(unsafe) private let amounts: UnsafeMutablePointer<UInt16>
    nonisolated(unsafe) private let codes: UnsafeMutablePointer<UInt8>

    /// - Parameter isFullRange: whether luma is 0…255, or else 16…235.
    public init(isFullRange: Bool) {
        unsafe (amounts, codes) = (.allocate(capacity: 512), .allocate(capacity: 65536))
        func value(_ code: Double) -> Double { isFullRange ? code / 255 : (code - 16) / 219 }
        func light(_ code: Double) -> Double { TransferCurves.scene(sdr: value(code)) }
        let (least, most) = (light(0), light(255))
        func amount(_ code: Double) -> Double { (light(code) - least) / (most - least) * 65535 }
        for code in 0..<256 {
            let (code, value) = (Double(code), value(Double(code)))
            unsafe amounts[Int(code)] = UInt16(amount(code).rounded())
            // At and below black the curve is a straight line.
            unsafe amounts[256 + Int(code)] = UInt16((8192 * (value > 0 ? light(code) / value : 1 / 4.5)).rounded())
        }
        var (code, end) = (0, amount(0.5))
        for place in 0..<65536 {
            while code < 255, Double(place) >= end {
                code += 1
                end = amount(Double(code) + 0.5)
            }
            unsafe codes[place] = UInt8(code)
        }
    }

    deinit {
        unsafe amounts.deallocate()
        unsafe codes.deallocate()
    }

    fileprivate var table: burnish_light_table {
        unsafe burnish_light_table(light: amounts, share: amounts + 256, code: codes)
    }
}

/// A sum for each sample of a plane, in 32 bits, that somebody else owns.
@unsafe public struct LightSums {
    public let base: UnsafeMutablePointer<UInt32>
    public let width: Int

    @inlinable public init(base: UnsafeMutablePointer<UInt32>, width: Int) {
        unsafe self.base = base
        unsafe self.width = width
    }

    @inlinable public func row(_ y: Int) -> UnsafeMutablePointer<UInt32> { unsafe base + y * width }
    /// Sums of chroma have a sign.
    fileprivate func chroma(_ y: Int) -> UnsafeMutablePointer<Int32> {
        unsafe UnsafeMutableRawPointer(row(y)).assumingMemoryBound(to: Int32.self)
    }
}

extension Kernels {
    /// Adds the light of rows of luma to sums, so many times. The weights of a sum are at most 256 together.
    @unsafe public static func add(
        lightOf plane: PlaneView, by table: LightTable, weight: Int, to sums: LightSums, rows: Range<Int>
    ) {
        unsafe precondition(plane.width <= sums.width)
        for y in rows {
            unsafe burnish_light_add(sums.row(y), plane.row(y), table.table, Int32(weight), Int32(plane.width))
        }
    }

    /// Writes rows of luma: the codes of sums of light, divided by 256.
    @unsafe public static func writeMean(
        ofLight sums: LightSums, by table: LightTable, into output: MutablePlaneView, rows: Range<Int>
    ) {
        unsafe precondition(output.width <= sums.width)
        for y in rows { unsafe burnish_light_mean(output.row(y), sums.row(y), table.table, Int32(output.width)) }
    }

    /// Adds rows of chroma to sums, so many times: the more, the more light their luma stands for, as colours mix in light. The weights
    /// of a sum are at most 256 together.
    @unsafe public static func add(
        chroma plane: PlaneView, of luma: PlaneView, by table: LightTable, weight: Int, to sums: LightSums, rows: Range<Int>
    ) {
        unsafe precondition(plane.width == (luma.width + 1) / 2 && plane.width <= sums.width)
        for y in rows {
            unsafe burnish_light_add_chroma(sums.chroma(y), plane.row(y), rowsOf(luma, y), table.table, Int32(weight))
        }
    }

    /// Writes rows of chroma from sums.
    /// - Parameter luma: the means, written before.
    @unsafe public static func writeMean(
        ofChroma sums: LightSums, of luma: PlaneView, by table: LightTable, into output: MutablePlaneView, rows: Range<Int>
    ) {
        unsafe precondition(output.width == (luma.width + 1) / 2 && output.width <= sums.width)
        for y in rows {
            unsafe burnish_light_mean_chroma(output.row(y), sums.chroma(y), rowsOf(luma, y), table.table)
        }
    }

    /// The rows of luma that a row of chroma belongs to. An odd picture's last row stands for the one below it.
    @unsafe private static func rowsOf(_ luma: PlaneView, _ row: Int) -> burnish_light_luma {
        unsafe burnish_light_luma(
            upper: luma.row(2 * row), lower: luma.row(min(2 * row + 1, luma.height - 1)), width: Int32(luma.width))
    }
}
