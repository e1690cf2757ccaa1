import Container
import Media
import TestSupport
import Testing

@testable import Relay

/// When it is said that parameter sets are missing.
struct ParameterSetWatchTests {
    /// Units of RTP packets with one NAL unit each, given to a watch.
    private func watch(_ payloads: [[UInt8]], sets: [[UInt8]] = []) -> ParameterSetWatch {
        var watch = ParameterSetWatch()
        var demuxer = RTPDemuxer([RTPStreamDescription(id: 0, format: .h264, parameterSets: sets)])
        for (index, payload) in payloads.enumerated() {
            let stamp = UInt32(index * 3_000)
            let packet = RTPPacketFacts(
                stream: 0, format: .h264, timestamp: stamp, presentation: MediaTime(ticks: Int64(stamp)), isMarked: true,
                arrival: MonotonicTime(nanoseconds: 0))
            payload.withUnsafeBytes {
                demuxer.push($0, packet) { if case .unit(let unit) = $0 { watch.observe(unit) } }
            }
        }
        demuxer.finish { if case .unit(let unit) = $0 { watch.observe(unit) } }
        return watch
    }

    private static let sets = H264Stream.parameterSets()
    private static let sequenceSet = Array(sets[4..<(sets.count - 8)])
    private static let pictureSet = Array(sets.suffix(4))
    private static let refresh = Array(H264Stream.slice(frame: 0, isRefresh: true).dropFirst(3))
    private static let other = Array(H264Stream.slice(frame: 1).dropFirst(3))
    private let soon = MonotonicTime(nanoseconds: 2_999_999_999)
    private let then = MonotonicTime(nanoseconds: 3_000_000_000)

    @Test func whatIsMissingIsNamedOnce() {
        var watch = watch([Self.refresh, Self.other, Self.refresh])
        #expect(watch.claim(at: soon) == nil)
        #expect(watch.claim(at: then) == ["SPS", "PPS"])
        #expect(watch.claim(at: then + .seconds(60)) == nil)
        var half = self.watch([Self.sequenceSet, Self.refresh])
        #expect(half.claim(at: then) == ["PPS"])
    }

    @Test func nothingIsSaidWhereTheyCome() {
        var inBand = watch([Self.refresh, Self.sequenceSet, Self.pictureSet, Self.refresh])
        #expect(inBand.claim(at: then) == nil)
        var described = watch([Self.refresh], sets: [Self.sequenceSet, Self.pictureSet])
        #expect(described.claim(at: then) == nil)
        // No decoder could begin anyway.
        var without = watch([Self.other, Self.other])
        #expect(without.claim(at: then) == nil)
    }
}
