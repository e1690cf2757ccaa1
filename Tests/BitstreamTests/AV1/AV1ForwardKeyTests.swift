import Foundation
import TestSupport
import Testing

@testable import Bitstream

/// A keyframe that is stored, and shown later. Encoders use it for open groups of pictures.
@Suite struct AV1ForwardKeyTests {
    /// A unit with its size; the bytes of its header.
    private static func unit(_ kind: UInt8, _ payload: [UInt8]) -> [UInt8] { [kind << 3 | 2, UInt8(payload.count)] + payload }

    /// A keyframe that is not shown and takes all places.
    private static let hiddenKey = unit(6, [0x0F] + [UInt8](repeating: 0xFF, count: 24))
    /// It replaces no stored frame.
    private static let shownInter = unit(6, [0x30] + [UInt8](repeating: 0, count: 24))
    private static let storedKey = unit(3, [0x80])

    @Test func decodingBeginsWithAKeyframeThatIsShownLater() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let file = try Data(contentsOf: tests.appending(path: "GoldenStreams/av1.ivf"))
        let first = AV1Stream.units(ofIVF: [UInt8](file))[0]
        // A delimiter of two bytes, and the sequence header.
        let sequence = Array(first[2..<(2 + 2 + Int(first[3]))])
        #expect(sequence[0] >> 3 & 15 == 1)
        var reader = AV1UnitReader()
        func read(_ unit: [UInt8]) -> AccessUnitSummary { unit.withUnsafeBytes { unsafe reader.read($0) } }

        #expect(read(sequence + Self.shownInter).precedesEntryPoint)
        // The decoder gets the keyframe, and what is shown with it may fail.
        let hidden = read(sequence + Self.hiddenKey + Self.shownInter)
        #expect(!hidden.precedesEntryPoint && !hidden.isRefresh && !hidden.isHidden)
        #expect(read(Self.storedKey).isRefresh)
        #expect(!read(Self.shownInter).precedesEntryPoint)
        // Shown once more, it is no refresh.
        #expect(!read(Self.storedKey).isRefresh)
        reader.reset()
        #expect(read(Self.storedKey).precedesEntryPoint)
    }
}
