import TestSupport
import Testing

@testable import Bitstream

@Suite struct AV1UnitTests {
    private typealias Part = AV1Stream.Part

    private func units(_ units: [[Part]], piece: Int) -> (found: [[UInt8]], expected: [[UInt8]]) {
        let expected = units.map { $0.flatMap(\.bytes) }
        return (ScannedUnits(expected.flatMap { $0 }, .av1, piece: piece).units, expected)
    }

    /// A hidden frame goes with the frame that is shown behind it, also where its tiles come in units of their own.
    @Test(arguments: [1, 2, 3, 7, 64, 10_000]) func unitsAreTheSameHoweverTheStreamGrows(piece: Int) {
        let (found, expected) = units(
            [
                [.delimiter, .hiddenFrame, .tiles, .tiles, .shownFrame], [.delimiter, .storedFrame],
                [.delimiter, .shownHeader, .tiles, .tiles], [.delimiter, .hiddenFrame, .tiles, .shownHeader, .tiles],
                [.delimiter, .shownFrame, .tiles], [.delimiter, .storedFrame],
            ], piece: piece)
        #expect(found == expected)
    }

    /// A unit of six bytes is known for what it is when its last byte has come.
    @Test func aUnitThatShowsAStoredFrameNeedsNoBytesBehindIt() {
        var scanner = AccessUnitScanner(.av1)
        let bytes = Part.storedFrame.bytes
        for count in 3...bytes.count {
            let finding = bytes[..<count].withUnsafeBytes { unsafe scanner.scan($0) }
            #expect(finding == (count == bytes.count ? .unitStart(0) : .nothing), "\(count) bytes")
        }
        #expect(scanner.picture.hasSlice)
    }

    /// The size of a unit may have any number of bytes, and none of them ends.
    @Test func anEndlessSizeIsRead() {
        var scanner = AccessUnitScanner(.av1)
        let bytes: [UInt8] = [0, 0, 1, 0x32] + [UInt8](repeating: 0xFF, count: 64)
        #expect(bytes.withUnsafeBytes { unsafe scanner.scan($0) } != .unitEnd(0))
    }
}
