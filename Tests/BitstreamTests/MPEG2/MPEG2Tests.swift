import Media
import TestSupport
import Testing

@testable import Bitstream

@Suite struct MPEG2Tests {
    private typealias Stream = MPEG2Stream

    @Test(arguments: [1, 2, 3, 7, 64, 10_000]) func unitsAreTheSameHoweverTheStreamGrows(piece: Int) {
        let expected = [
            Stream.sequence() + Stream.group(isClosed: true) + Stream.picture(place: 0, kind: 1),
            Stream.picture(place: 1, kind: 2),
            Stream.picture(place: 2, kind: 2, rows: 3),
            Stream.sequence() + Stream.picture(place: 3, kind: 1),
        ]
        let found = ScannedUnits(expected.flatMap { $0 }, .mpeg2Video, piece: piece)
        #expect(found.units == expected)
        #expect(found.entryPoints == [true, false, false, true])
    }

    @Test(arguments: [1, 5, 10_000]) func bothFieldsOfAFrameAreOneUnit(piece: Int) {
        let expected = (0..<4).map { place in
            (place == 0 ? Stream.sequence(isProgressive: false) : [])
                + Stream.picture(place: place, kind: place == 0 ? 1 : 2, structure: 1)
                + Stream.picture(place: place, kind: 2, structure: 2)
        }
        let found = ScannedUnits(expected.flatMap { $0 }, .mpeg2Video, piece: piece)
        #expect(found.units == expected && found.entryPoints == [true, false, false, false])
    }

    @Test func aFieldWithoutItsOtherIsAUnit() {
        let expected = [
            Stream.sequence(isProgressive: false) + Stream.picture(place: 0, kind: 1, structure: 1),
            Stream.picture(place: 1, kind: 2, structure: 1) + Stream.picture(place: 1, kind: 2, structure: 2),
        ]
        #expect(ScannedUnits(expected.flatMap { $0 }, .mpeg2Video, piece: 9).units == expected)
    }

    @Test func mpeg1HasNoExtensions() throws {
        let expected = [
            Stream.sequence(isMPEG1: true) + Stream.picture(place: 0, kind: 1, structure: nil),
            Stream.picture(place: 1, kind: 2, structure: nil),
        ]
        let found = ScannedUnits(expected.flatMap { $0 }, .mpeg2Video, piece: 9)
        #expect(found.units == expected && found.entryPoints == [true, false])
        #expect(found.parameters?.size == PictureSize(width: 720, height: 576))
    }

    @Test func parametersAreRead() throws {
        let found = ScannedUnits(Stream.sequence(isLowDelay: true) + Stream.picture(place: 0, kind: 1), .mpeg2Video, piece: 99)
        let parameters = try #require(found.parameters)
        #expect(parameters.codec == .mpeg2Video && parameters.size == PictureSize(width: 720, height: 576))
        #expect(parameters.frameRate == Rational(25) && parameters.reordering == 0 && parameters.isProgressive)
        #expect(parameters.color.sampleAspectRatio == Rational(64, 45) && parameters.chromaFormat == 1)
        #expect(found.kept == Stream.sequence(isLowDelay: true).split4())
    }

    private func read(_ units: [[UInt8]]) -> [AccessUnitSummary] {
        var reader = MPEG2UnitReader()
        return units.map { $0.withUnsafeBytes { unsafe reader.read($0) } }
    }

    @Test func picturesThatReferToNothingAreKnown() {
        let all = read([
            Stream.picture(place: 5, kind: 2), Stream.picture(place: 4, kind: 3),
            Stream.sequence() + Stream.group(isClosed: false) + Stream.picture(place: 2, kind: 1),
            Stream.picture(place: 0, kind: 3), Stream.picture(place: 1, kind: 3), Stream.picture(place: 5, kind: 2),
            Stream.picture(place: 3, kind: 3),
        ])
        #expect(all.map(\.precedesEntryPoint) == [true, true, false, true, true, false, false])
        #expect(all.map(\.isReference) == [true, false, true, false, false, true, false])
        #expect(all.map(\.isCleanStart) == [false, false, true, false, false, false, false])
        #expect(all.map(\.displayPlace) == [5, 4, 2, 0, 1, 5, 3] && all[2].beginsGroup)
        #expect(all.map(\.leads) == [false, false, false, true, true, false, false])
    }

    @Test func aClosedGroupBeginsWithPicturesOfItsOwn() {
        let all = read([
            Stream.sequence() + Stream.group(isClosed: true) + Stream.picture(place: 1, kind: 1),
            Stream.picture(place: 0, kind: 3),
        ])
        #expect(all.map(\.precedesEntryPoint) == [false, false])
    }

    /// Nothing is known of an extension that makes no sense: neither its size nor that pictures are interlaced.
    @Test func aBrokenExtensionChangesNothing() throws {
        var broken = Stream.sequence(isProgressive: false)
        let extended = broken.count - 10
        #expect(broken[extended + 3] == 0xB5)
        // `chroma_format` 0.
        broken[extended + 5] &= ~0x06
        let found = ScannedUnits(broken + Stream.picture(place: 0, kind: 1), .mpeg2Video, piece: 99)
        let parameters = try #require(found.parameters)
        #expect(parameters.chromaFormat == 1 && parameters.isProgressive && parameters.frameRate == Rational(25))
    }

    @Test func brokenHeadersAreRefused() {
        var empty = Stream.sequence()
        for at in 4...6 { empty[at] = 0 }
        #expect(ScannedUnits(empty + Stream.picture(place: 0, kind: 1), .mpeg2Video, piece: 99).parameters == nil)
        #expect(read([[0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 0xB3, 1], []]).allSatisfy { $0 == AccessUnitSummary() })
    }
}

extension [UInt8] {
    /// With start codes of four bytes, as kept parameter sets have them.
    fileprivate func split4() -> [UInt8] {
        var out: [UInt8] = []
        for (at, byte) in enumerated() {
            if at + 2 < count, byte == 0, self[at + 1] == 0, self[at + 2] == 1 { out.append(0) }
            out.append(byte)
        }
        return out
    }
}
