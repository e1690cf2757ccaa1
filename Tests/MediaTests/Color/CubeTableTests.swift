import Foundation
import Testing

@testable import Media

/// Reading `.cube` files, and what colours become by them.
@Suite struct CubeTableTests {
    private func table(_ text: String) throws -> CubeTable { try CubeReader.read(Array(text.utf8)) }

    private func rows(_ size: Int, _ value: (Int) -> ColorVector) -> String {
        (0..<size * size * size).map { "\(value($0).x) \(value($0).y) \(value($0).z)\n" }.joined()
    }

    /// Colours that have nothing to do with those of neighbours.
    private func jumping(_ size: Int) -> String {
        "LUT_3D_SIZE \(size)\n"
            + rows(size) { index in
                func level(_ channel: Int) -> Double { Double((index * 7 + channel * 3) % 11) / 10 }
                return ColorVector(level(0), level(1), level(2))
            }
    }

    /// What leaves every colour as it is.
    private func plain(_ size: Int) -> String {
        rows(size) { ColorVector(Double($0 % size), Double($0 / size % size), Double($0 / size / size)) / Double(size - 1) }
    }

    private static let golden: [(Int, ColorVector, ColorVector)] = [
        (4, ColorVector(1, 0, 0.5), ColorVector(0.2, 0.5, 0.8)),
        (4, ColorVector(0.25, 0.25, 0.25), ColorVector(0.3, 0.6, 0.9)),
        (4, ColorVector(0.236, 0.103, 0.396), ColorVector(0.5787, 0.4398, 0.533)),
        (4, ColorVector(0.155, 0.067, 0.402), ColorVector(0.4607, 0.4758, 0.5547)),
        (4, ColorVector(0.918, 0.8, 0.765), ColorVector(0.4729, 0.3868, 0.6868)),
        (4, ColorVector(0.222, 0.537, 0.277), ColorVector(0.8664, 0.3128, 0.4269)),
        (4, ColorVector(0.173, 0.106, 0.214), ColorVector(0.3327, 0.4116, 0.7116)),
        (4, ColorVector(0.8, 0.193, 0.31), ColorVector(0.4765, 0.7765, 0.2504)),
        (5, ColorVector(1, 1, 1), ColorVector(1, 0.2, 0.5)),
        (5, ColorVector(0.236, 0.103, 0.396), ColorVector(0.6464, 0.8848, 0.1464)),
        (5, ColorVector(0.155, 0.067, 0.402), ColorVector(0.7448, 0.6268, 0.2448)),
        (5, ColorVector(0.918, 0.8, 0.765), ColorVector(0.5504, 0.2652, 0.5652)),
        (5, ColorVector(0.627, 0.732, 0.855), ColorVector(0.3404, 0.6404, 0.4784)),
    ]

    /// Against FFmpeg 5.1's `lut3d=interp=tetrahedral` in float.
    @Test(arguments: golden)
    func coloursBecomeThoseOfFFmpeg(size: Int, color: ColorVector, wanted: ColorVector) throws {
        let found = try table(jumping(size))(color)
        for channel in 0..<3 { #expect(abs(found[channel] - wanted[channel]) < 1e-5, "\(found), \(wanted)") }
    }

    @Test func remarksTitlesAndLineEndsDoNotMatter() throws {
        let rows = plain(3)
        let texts = [
            "LUT_3D_SIZE 3\n" + rows,
            "# by hand\n\nTITLE \"a \u{e9} film\"\n  LUT_3D_SIZE   3\t\n# rows:\n" + rows + "\n\n# end",
            "\u{FEFF}LUT_3D_SIZE 3\r\n" + rows.replacing("\n", with: "\r\n"),
            "LUT_3D_SIZE 3\r" + rows.replacing("\n", with: "\r"), "LUT_3D_SIZE 3\n" + rows.dropLast(),
            "DOMAIN_MIN 0.0 0 0e0\nDOMAIN_MAX +1 1. 10e-1\nLUT_3D_SIZE 3 # nodes\n" + rows,
        ]
        for text in texts {
            let found = try table(text)
            #expect(found.size == 3)
            let color = found([0.3, 0.6, 0.9])
            for channel in 0..<3 { #expect(abs(color[channel] - [0.3, 0.6, 0.9][channel]) < 1e-6) }
        }
        #expect(try table(texts[1]).title == " a \u{e9} film")
    }

    @Test func domainsStretchAndCurvesComeFirst() throws {
        let half = try table("LUT_3D_SIZE 3\nDOMAIN_MIN -1 0 0\nDOMAIN_MAX 1 2 1\n" + plain(3))([0, 1, 0.25])
        #expect(half == [0.5, 0.5, 0.25])
        let curves = "0 0 1\n0.5 0.25 0.5\n1 1 0\n"
        let curved = try table("LUT_1D_SIZE 3\n" + curves)
        #expect(curved.size == nil)
        #expect(curved([0.25, 0.75, 0.25]) == [0.25, 0.625, 0.75])
        let both = try table(
            "LUT_1D_SIZE 3\nLUT_1D_INPUT_RANGE 0 2\nLUT_3D_SIZE 3\nLUT_3D_INPUT_RANGE 0.0 2.0\n" + curves + plain(3))
        #expect(both([0.5, 1.5, 0.5]) == [0.125, 0.3125, 0.375])
    }

    /// A table with other nodes looks up what lies between one inside of the domain and one beyond it.
    @Test func aTableGoesOnALittleBeyondItsDomain() throws {
        let found = try table("LUT_3D_SIZE 3\n" + plain(3))
        let beyond = found([1.1, -0.125, 0.5])
        for channel in 0..<3 { #expect(abs(beyond[channel] - [1.1, -0.125, 0.5][channel]) < 1e-6) }
        #expect(found([9, 0.5, -9]) == [1.25, 0.5, -0.25])
    }

    private func fault(_ text: String) -> String? {
        do throws(CubeFault) {
            _ = try CubeReader.read(Array(text.utf8))
            return nil
        } catch {
            return error.description
        }
    }

    private static let faults: [(String, String)] = [
        ("", "has no LUT_3D_SIZE and no LUT_1D_SIZE: it is no .cube file"),
        ("LUT_3D_SIZE 2\n0 0 0\n", "line 1: LUT_3D_SIZE is 3 to 65, not 2"),
        ("LUT_3D_SIZE 129\n", "line 1: LUT_3D_SIZE is 3 to 65, not 129"),
        ("LUT_3D_SIZE 99999999999999999999\n", "line 1: LUT_3D_SIZE is 3 to 65, not 99999999999999999999"),
        ("LUT_3D_SIZE\n", "line 1: LUT_3D_SIZE is 3 to 65, not nothing"),
        ("LUT_1D_SIZE 65537\n", "line 1: LUT_1D_SIZE is 2 to 65536, not 65537"),
        ("0 0 0\nLUT_3D_SIZE 3\n", "line 1: rows begin before LUT_3D_SIZE or LUT_1D_SIZE says how many"),
        ("LUT_1D_SIZE 2\n0 0 0\nTITLE x\n", "line 3: TITLE stands behind rows: keywords come before all rows"),
        ("LUT_1D_SIZE 2\n0 0 0\n", "ends after 1 of 2 rows: it is cut off, get the whole file"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 0 0\n1 1 1\n", "line 4: there are more rows than the 2 that the sizes ask for"),
        ("LUT_1D_SIZE 2\n0 nan 0\n", "line 2: nan is no number"), ("LUT_1D_SIZE 2\nNaN 0 0\n", "line 2: NaN is no number"),
        ("LUT_1D_SIZE 2\n0 -inf 0\n", "line 2: -inf is no number"), ("LUT_1D_SIZE 2\n0 1e99 0\n", "line 2: 1e99 is no number"),
        ("LUT_1D_SIZE 2\n0 0x1p2 0\n", "line 2: 0x1p2 is no number"),
        ("LUT_1D_SIZE 2\n0 0.1.2 0\n", "line 2: 0.1.2 is no number"),
        ("LUT_1D_SIZE 2\n0 0,5 0\n", "line 2: 0,5 is no number"), ("LUT_1D_SIZE 2\n0 0 -\n", "line 2: - is no number"),
        ("LUT_1D_SIZE 2\n0 0\n", "line 2: there are 2 numbers, and 3 belong here"),
        ("LUT_1D_SIZE 2\n0 0 0 0\n", "line 2: there are 4 numbers, and 3 belong here"),
        (
            "LUT_1D_SIZE 2\nDOMAIN_MIN 0 2 0\n0 0 0\n1 1 1",
            "has a domain or range that is empty: its end lies beyond its beginning for each colour"
        ),
        (
            "LUT_IN_VIDEO_RANGE\n",
            "line 1: LUT_IN_VIDEO_RANGE is no keyword that is known here: delete the line if the table is right without it"
        ),
    ]

    @Test(arguments: faults)
    func aFaultSaysWhereItIs(text: String, wanted: String) { #expect(fault(text) == wanted) }

    /// Every length that a transfer may have ended at.
    @Test func aFileThatIsCutOffIsNoTable() {
        let whole = "LUT_3D_SIZE 3\n" + plain(3)
        for count in 0..<whole.utf8.count - 2 where count % 7 == 0 {
            #expect(fault(String(whole.prefix(count))) != nil, "\(count)")
        }
    }

    @Test(arguments: ["0", "-0.5", "1e-3", "123.456", "0.33333333333333333333", "12345678901234567890e-20", ".5", "5.", "1E+2"])
    func numbersAreThoseOfFoundation(text: String) throws {
        let found = try #require(CubeReader.number(Array(text.utf8)[...]))
        #expect(abs(found - Float(text.hasSuffix(".") ? text + "0" : text)!) <= 1e-6 * abs(found))
    }

    @Test func aFileThatWasReadAgainIsAnother() throws {
        var file = try #require(CubeFile(path: "/srv/a.cube"))
        let unread = file
        file.table = try CubeReader.read(Array(jumping(5).utf8))
        #expect(file.table?.size == 5 && file != unread && file == file)
        var again = unread
        again.table = try CubeReader.read(Array(jumping(5).utf8))
        // Its contents may have changed.
        #expect(again != file)
        var controls = ColorControls()
        controls.lut = unread
        #expect(controls.isNeutral)
        controls.lut = file
        #expect(!controls.isNeutral)
        for path in ["", "a.png", "a\n.cube", String(repeating: "a", count: 5000) + ".cube"] {
            #expect(CubeFile(path: path) == nil)
        }
    }
}
