import Testing

@testable import Bitstream

@Suite struct HEVCUnitTests {
    /// `nal_unit_type` of table 7-1.
    private enum Kind: UInt8 { case trailing = 1, decodable = 7, skipped = 9, refresh = 19, open = 21, endOfSequence = 36 }

    /// A slice that is the first of its picture, or the end of a sequence.
    private static func unit(_ kinds: Kind...) -> [UInt8] {
        kinds.flatMap { kind in
            [0, 0, 1, kind.rawValue << 1, 1] + (kind == .endOfSequence ? [] : [0x80] + [UInt8](repeating: 0x55, count: 20))
        }
    }

    private func read(_ units: [UInt8]...) -> [AccessUnitSummary] {
        var reader = HEVCUnitReader()
        return units.map { $0.withUnsafeBytes { unsafe reader.read($0) } }
    }

    /// Pictures that lead an open group can be decoded where the group before was.
    @Test func leadingPicturesAreKnown() {
        let all = read(Self.unit(.refresh), Self.unit(.open), Self.unit(.skipped), Self.unit(.decodable), Self.unit(.trailing))
        #expect(all.map { $0.leads ?? false } == [false, false, true, true, false])
        #expect(all.allSatisfy { !$0.precedesEntryPoint })
        let joined = read(Self.unit(.trailing), Self.unit(.open), Self.unit(.skipped), Self.unit(.decodable))
        #expect(joined.map(\.precedesEntryPoint) == [true, false, true, false])
    }

    enum Place: CaseIterable { case behind, before, alone }

    /// What ends a sequence counts behind a unit, before the next where the first was delivered early, and alone.
    @Test(arguments: Place.allCases) func theEndOfASequenceIsSeen(place: Place) {
        let all =
            switch place {
            case .behind: read(Self.unit(.refresh, .endOfSequence), Self.unit(.open), Self.unit(.skipped))
            case .before: read(Self.unit(.refresh), Self.unit(.endOfSequence, .open), Self.unit(.skipped))
            case .alone: read(Self.unit(.refresh), Self.unit(.endOfSequence), Self.unit(.open), Self.unit(.skipped))
            }
        #expect(all.last?.precedesEntryPoint == true)
    }
}
