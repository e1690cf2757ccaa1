import Testing
@testable import Media

/// What becomes of colours, one by one.
@Suite struct ColorConversionTests {
    static let pq = ColorConversionTests.description(transfer: ColorDescription.pq)
    static let hlg = ColorConversionTests.description(transfer: ColorDescription.hlg)

    static func description(
        primaries: UInt8 = 9, transfer: UInt8, matrix: UInt8 = 9, range: ColorDescription.Range = .limited
    ) -> ColorDescription {
        var color = ColorDescription()
        (color.primaries, color.transfer, color.matrix, color.range) = (primaries, transfer, matrix, range)
        return color
    }

    /// A grey of so many cd/m², as PQ.
    private func grey(_ light: Double) -> ColorVector { [16 + 219 * TransferCurves.pq(light: light), 128, 128] }

    @Test func whatUsualScreensShowIsLeftAlone() {
        for color in [
            ColorDescription(), Self.description(primaries: 1, transfer: 1, matrix: 1),
            Self.description(primaries: 6, transfer: 6, matrix: 6),
            Self.description(primaries: 1, transfer: 13, matrix: 1, range: .full),
        ] {
            #expect(ColorConversion(of: color) == nil)
        }
        // Nobody has tables for these.
        #expect(ColorConversion(of: Self.description(transfer: 16, matrix: 14)) == nil)
        #expect(ColorConversion(of: Self.description(transfer: 16, matrix: 10)) == nil)
        // Who writes HDR and no more means BT.2020.
        #expect(ColorConversion(of: Self.description(primaries: 2, transfer: 16, matrix: 2)) != nil)
        #expect(ColorConversion(of: Self.description(primaries: 12, transfer: 13, matrix: 1))?.kind == .wide)
    }

    @Test(arguments: [(nil, 1000.0), (0, 1000), (4000, 4000), (99, 1000), (.nan, 1000)] as [(Double?, Double)])
    func anAbsurdPeakIsTheUsualOne(peak: Double?, used: Double) {
        #expect(ColorConversion(of: Self.pq, peak: peak)?.kind == .pq(peak: used))
    }

    /// Dark light comes out as it is, reference white and more is brought down, and the peak becomes white.
    @Test(arguments: [100.0, 600, 1000, 4000, 10_000]) func greysKeepTheirOrder(peak: Double) throws {
        let map = try #require(ColorConversion(of: Self.pq, peak: peak)).makeMapper()
        var last = 0.0
        for light in stride(from: 0.0, through: peak, by: peak / 500) {
            let shown = map(grey(light))
            #expect(abs(shown.y - 128) < 1e-6 && abs(shown.z - 128) < 1e-6)
            #expect(shown.x >= last - 1e-9)
            last = shown.x
        }
        if peak >= 203 { #expect(abs(last - 235) < 0.01) }
        let dark = map(grey(20))
        #expect(abs(dark.x - (16 + 219 * TransferCurves.sdr(light: 20.0 / 203))) < 0.01)
    }

    /// A colour of BT.709 that is dark enough is the same as before.
    @Test(arguments: [
        ColorVector(0.2, 0.1, 0.05), ColorVector(0.3, 0, 0), ColorVector(0, 0.3, 0.3), ColorVector(0.02, 0.02, 0.3),
    ])
    func coloursOfTheTargetStay(light: ColorVector) throws {
        let wide = ColorPrimaries.bt2020.toXYZ.inverse * ColorPrimaries.bt709.toXYZ * light * 203
        let coded = ColorVector(
            TransferCurves.pq(light: wide.x), TransferCurves.pq(light: wide.y), TransferCurves.pq(light: wide.z))
        let yuv = LumaWeights.bt2020.yuv(coded)
        let map = try #require(ColorConversion(of: Self.pq)).makeMapper()
        let found = map([16 + 219 * yuv.x, 128 + 224 * yuv.y, 128 + 224 * yuv.z])
        let wanted = LumaWeights.bt709.yuv([
            TransferCurves.sdr(light: light.x), TransferCurves.sdr(light: light.y), TransferCurves.sdr(light: light.z),
        ])
        #expect(abs(found.x - 16 - 219 * wanted.x) < 0.5)
        #expect(abs(found.y - 128 - 224 * wanted.y) < 0.5 && abs(found.z - 128 - 224 * wanted.z) < 0.5)
    }

    /// The full range, and HLG, whose middle grey BT.2408 lays at 38 % (26 cd/m²).
    @Test func otherRangesAndHLG() throws {
        let full = try #require(ColorConversion(of: Self.description(transfer: 16, range: .full))).makeMapper()
        let limited = try #require(ColorConversion(of: Self.pq)).makeMapper()
        let value = TransferCurves.pq(light: 50)
        #expect(abs(full([255 * value, 128, 128]).x - limited([16 + 219 * value, 128, 128]).x) < 1e-9)
        let hlg = try #require(ColorConversion(of: Self.hlg)).makeMapper()
        #expect(abs(hlg([16 + 219 * 0.38, 128, 128]).x - (16 + 219 * TransferCurves.sdr(light: 26.0 / 203))) < 1)
        #expect(abs(hlg([235, 128, 128]).x - 235) < 0.01)
    }

    @Test func theResultIsDescribed() {
        let shown = ColorConversion.described(Self.hlg)
        #expect(ColorConversion(of: shown) == nil && shown.range == .limited && shown.primaries == 1)
        #expect(Self.hlg.colorsInWords == "HLG, BT.2020" && Self.pq.colorsInWords == "PQ, BT.2020")
    }
}
