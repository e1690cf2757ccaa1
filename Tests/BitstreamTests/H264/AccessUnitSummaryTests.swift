import TestSupport
import Testing

@testable import Bitstream

@Suite struct AccessUnitSummaryTests {
    private func read(_ unit: [UInt8], _ reader: inout H264UnitReader) -> AccessUnitSummary {
        unit.withUnsafeBytes { unsafe reader.read($0) }
    }

    @Test func headersBeforeTheFirstSliceAreRead() {
        var reader = H264UnitReader()
        let key = read(
            H264Stream.delimiter + H264Stream.parameterSets() + H264Stream.slice(frame: 0, isRefresh: true), &reader)
        #expect(key.hasSlice && key.isRefresh && key.isReference && key.isCleanStart && !key.followsGap)
        #expect(reader.reordering == 0)
        let recovery = read(H264Stream.recoveryPoint + H264Stream.slice(frame: 1), &reader)
        #expect(!recovery.isRefresh && recovery.recoveryFrameCount == 0 && recovery.isCleanStart)
        let plain = read(H264Stream.slice(frame: 2, isReference: false), &reader)
        #expect(plain.hasSlice && !plain.isReference && !plain.isCleanStart && plain.recoveryFrameCount == nil)
        #expect(read([1, 2, 3, 0, 0, 1], &reader) == AccessUnitSummary())
    }

    @Test func aMissingReferencePictureIsFound() {
        var reader = H264UnitReader()
        func followsGap(_ unit: [UInt8]) -> Bool { read(unit, &reader).followsGap }
        #expect(!followsGap(H264Stream.slice(frame: 9)), "no parameter sets yet")
        #expect(!followsGap(H264Stream.parameterSets() + H264Stream.slice(frame: 0, isRefresh: true)))
        for frame in 1...20 { #expect(!followsGap(H264Stream.slice(frame: frame & 15)), "frame \(frame)") }
        // Two pictures that nothing refers to have the number of the reference picture after them.
        #expect(!followsGap(H264Stream.slice(frame: 5, isReference: false)))
        #expect(!followsGap(H264Stream.slice(frame: 5, isReference: false)))
        #expect(!followsGap(H264Stream.slice(frame: 5)))
        #expect(followsGap(H264Stream.slice(frame: 7)))
        #expect(!followsGap(H264Stream.slice(frame: 8)))
        #expect(!followsGap(H264Stream.slice(frame: 0, isRefresh: true)))
        reader.reset()
        #expect(!followsGap(H264Stream.slice(frame: 9)))
        #expect(!followsGap(H264Stream.parameterSets(allowsGaps: true) + H264Stream.slice(frame: 12)))
    }
}
