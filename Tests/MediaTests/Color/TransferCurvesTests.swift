import Testing
@testable import Media

/// The curves against those of PyPI's `colour-science` 0.4 (`eotf_ST2084`, `oetf_inverse_BT2100_HLG`, `eotf_BT2100_HLG`).
@Suite struct TransferCurvesTests {
    @Test(arguments: [
        (0, 0), (0.01, 0.00231), (0.1, 0.324566), (0.25, 5.154176), (0.5, 92.245709), (0.58, 201.666262), (0.75, 983.377856),
        (0.9, 3905.644653), (1, 10000),
    ])
    func pqIsLight(value: Double, light: Double) {
        #expect(abs(TransferCurves.light(pq: value) - light) <= 1e-6 * max(light, 1))
        #expect(abs(TransferCurves.pq(light: light) - value) < 1e-4)
        #expect(TransferCurves.light(pq: -value) == -TransferCurves.light(pq: value))
    }

    @Test(arguments: [
        (0.01, 0.00003333), (0.1, 0.00333333), (0.25, 0.02083333), (0.5, 0.08333333), (0.58, 0.11696309), (0.75, 0.26496256),
        (0.9, 0.58183759), (1, 1.00000003),
    ])
    func hlgIsLightInTheScene(value: Double, light: Double) {
        #expect(abs(TransferCurves.scene(hlg: value) - light) < 1e-6)
    }

    @Test(arguments: [
        (ColorVector(0.5, 0.5, 0.5), ColorVector(50.69703, 50.69703, 50.69703)),
        (ColorVector(0.7, 0.3, 0.2), ColorVector(122.87401, 17.88365, 7.94829)),
        (ColorVector(0.9, 0.8, 0.1), ColorVector(480.8352, 283.27931, 2.75469)),
    ])
    func hlgIsLightOfADisplay(coded: ColorVector, light: ColorVector) {
        let scene = ColorVector(
            TransferCurves.scene(hlg: coded.x), TransferCurves.scene(hlg: coded.y), TransferCurves.scene(hlg: coded.z))
        let y = (ColorPrimaries.bt2020.luminance * scene).sum()
        let found = scene * TransferCurves.hlgFactor(luminance: y, peak: 1000)
        for channel in 0..<3 { #expect(abs(found[channel] - light[channel]) < 0.02) }
    }

    @Test func gamutsAreMatrices() {
        func expect(_ found: ColorMatrix, _ rows: [ColorVector]) {
            for (row, wanted) in zip(found.rows, rows) {
                for column in 0..<3 { #expect(abs(row[column] - wanted[column]) < 1e-4) }
            }
        }
        expect(
            ColorPrimaries.bt709.toXYZ.inverse * ColorPrimaries.bt2020.toXYZ,
            [[1.660491, -0.587641, -0.07285], [-0.12455, 1.1329, -0.008349], [-0.018151, -0.100579, 1.11873]])
        expect(
            ColorPrimaries.bt709.toXYZ.inverse * ColorPrimaries.displayP3.toXYZ,
            [[1.22494, -0.22494, 0], [-0.042057, 1.042057, 0], [-0.019638, -0.078636, 1.098274]])
    }
}
