import TestSupport
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

    /// A stream that ends behind one field has begun the next picture's parameter sets.
    @Test func halfAParameterSetIsNotKept() {
        let sets = H264Stream.parameterSets(isProgressive: false)
        let field = sets + H264Stream.slice(frame: 0, isRefresh: true, isBottom: false)
        func kept(behind stream: [UInt8]) -> [UInt8] {
            var scanner = AccessUnitScanner()
            stream.withUnsafeBytes { bytes in while unsafe scanner.scan(bytes, isEnd: true) != .nothing {} }
            return scanner.keptSets.bytes
        }
        #expect(kept(behind: field + H264Stream.delimiter + sets.dropLast()) == kept(behind: field))
        #expect(!kept(behind: field).isEmpty)
    }

    /// A parameter set that has lost bytes is not read.
    @Test func aParameterSetWithAGapIsNotKept() {
        let sets = H264Stream.parameterSets()
        var stream = sets + H264Stream.slice(frame: 0, isRefresh: true)
        var scanner = AccessUnitScanner()
        func scan(isEnd: Bool = false) {
            while true {
                switch stream.withUnsafeBytes({ unsafe scanner.scan($0, isEnd: isEnd) }) {
                case .nothing: return
                case .unitStart, .continuation: break
                case .unitEnd(let at):
                    scanner.cut(at: at)
                    stream.removeFirst(at)
                }
            }
        }
        scan()
        let kept = scanner.keptSets.bytes
        stream += H264Stream.slice(frame: 1) + sets.dropLast(10)
        scan()
        scanner.recordLoss()
        stream += H264Stream.slice(frame: 2)
        scan(isEnd: true)
        #expect(scanner.keptSets.bytes == kept && !kept.isEmpty)
    }
}
