import Testing

@testable import Bitstream

@Suite struct AccessUnitScannerTests {
    /// Cuts a byte stream into access units while it grows by pieces.
    private func units(_ stream: [UInt8], piece: Int) -> [[UInt8]] {
        var scanner = AccessUnitScanner()
        var units: [[UInt8]] = []
        var (start, end) = (0, 0)
        while end < stream.count {
            end = min(end + piece, stream.count)
            var isDone = false
            while !isDone {
                let finding = stream[start..<end].withUnsafeBytes {
                    unsafe scanner.scan($0, isEnd: end == stream.count)
                }
                switch finding {
                case .nothing: isDone = true
                case .continuation: break
                case .unitStart(let at):
                    scanner.discard(before: at)
                    start += at
                case .unitEnd(let at):
                    units.append(Array(stream[start..<start + at]))
                    scanner.cut(at: at)
                    start += at
                }
            }
        }
        return units + [Array(stream[start...])]
    }

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
