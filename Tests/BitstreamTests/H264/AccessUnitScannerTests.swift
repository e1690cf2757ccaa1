import Testing

@testable import Bitstream

@Suite struct AccessUnitScannerTests {
    private func units(_ stream: [UInt8], piece: Int) -> [[UInt8]] { ScannedUnits(stream, .h264, piece: piece).units }

    @Test(arguments: [1, 2, 3, 5, 64, 10_000]) func unitsAreTheSameHoweverTheStreamGrows(piece: Int) {
        let expected = [
            H264Stream.delimiter + H264Stream.parameterSets() + H264Stream.slice(frame: 0, isRefresh: true)
                + H264Stream.slice(frame: 0, firstMacroblock: 24, isRefresh: true),
            H264Stream.recoveryPoint + H264Stream.slice(frame: 1),
            H264Stream.slice(frame: 2) + H264Stream.slice(frame: 2, firstMacroblock: 24),
            H264Stream.delimiter + H264Stream.slice(frame: 3),
        ]
        #expect(units(expected.flatMap { $0 }, piece: piece) == expected)
    }

    @Test(arguments: [1, 7, 10_000]) func bothFieldsOfAFrameAreOneUnit(piece: Int) {
        let sets = H264Stream.parameterSets(isProgressive: false)
        let expected = (0..<4).map { frame in
            (frame == 0 ? sets : []) + H264Stream.slice(frame: frame, isBottom: false)
                + H264Stream.slice(frame: frame, isBottom: true)
        }
        #expect(units(expected.flatMap { $0 }, piece: piece) == expected)
    }
}
