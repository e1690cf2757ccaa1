import Testing

@testable import Bitstream

@Suite struct AccessUnitSummaryTests {
    private func read(_ unit: [UInt8], _ detector: inout FrameNumberGapDetector) -> AccessUnitSummary {
        unit.withUnsafeBytes { unsafe AccessUnitSummary($0, &detector) }
    }

    @Test func headersBeforeTheFirstSliceAreRead() {
        var detector = FrameNumberGapDetector()
        let key = read(
            H264Stream.delimiter + H264Stream.parameterSets() + H264Stream.slice(frame: 0, isRefresh: true), &detector)
        #expect(key.hasSlice && key.isRefresh && key.isReference && key.isCleanStart && !key.followsGap)
        #expect(detector.reordering == 0)
        let recovery = read(H264Stream.recoveryPoint + H264Stream.slice(frame: 1), &detector)
        #expect(!recovery.isRefresh && recovery.recoveryFrameCount == 0 && recovery.isCleanStart)
        let plain = read(H264Stream.slice(frame: 2, isReference: false), &detector)
        #expect(plain.hasSlice && !plain.isReference && !plain.isCleanStart && plain.recoveryFrameCount == nil)
        #expect(read([1, 2, 3, 0, 0, 1], &detector) == AccessUnitSummary())
    }

    @Test func aMissingReferencePictureIsFound() {
        var detector = FrameNumberGapDetector()
        func followsGap(_ unit: [UInt8]) -> Bool { read(unit, &detector).followsGap }
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
        detector.reset()
        #expect(!followsGap(H264Stream.slice(frame: 9)))
        #expect(!followsGap(H264Stream.parameterSets(allowsGaps: true) + H264Stream.slice(frame: 12)))
    }
}
