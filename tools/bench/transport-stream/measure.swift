import Container
import Foundation
import Glibc
import Media

/// Pushes each file given in messages of 1,316 bytes: how the ends of units were known; and over and over again: speed,
/// and how often malloc was called after the first two rounds, which should be never (else the
/// exit code is 1). tools/check/count_allocations.c must be preloaded: it counts.
@_silgen_name("burnish_count") func countAllocations(_ on: CInt)
@_silgen_name("burnish_counted_swift") func allocationsBySwift() -> Int
@_silgen_name("burnish_counted_others") func allocationsByOthers() -> Int

@main struct Measure {
    static func main() throws { for name in CommandLine.arguments.dropFirst() { try measure(name) } }
}

func measure(_ name: String) throws {
    let bytes = try Array(Data(contentsOf: URL(filePath: name)))
    var demuxer = TransportStreamDemuxer()
    var units = 0
    let count: TransportStreamDemuxer.Handler = { if case .unit = $0 { units += 1 } }
    func round() {
        bytes.withUnsafeBytes { all in
            for at in stride(from: 0, to: all.count, by: 1316) {
                demuxer.push(
                    UnsafeRawBufferPointer(rebasing: all[at..<min(at + 1316, all.count)]),
                    arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: count)
            }
        }
    }
    round()
    let counters = demuxer.counters
    let evidence = EndEvidence.allCases.map { "\($0) \(counters[$0])" }.joined(separator: ", ")
    round()
    let (allocationsBefore, unitsBefore) = (allocationsBySwift() + allocationsByOthers(), units)
    let rounds = max(1, 100_000_000 / bytes.count)
    let start = MonotonicTime.now()
    countAllocations(1)
    for _ in 0..<rounds { round() }
    countAllocations(0)
    let seconds = (MonotonicTime.now() - start).seconds
    let rate = Double(rounds * bytes.count) / seconds / 1e6
    let mallocs = allocationsBySwift() + allocationsByOthers() - allocationsBefore
    print("\(name): \(evidence); \(Int(rate)) MB/s; \(mallocs) mallocs in \(units - unitsBefore) units")
    if mallocs > 0 { exit(1) }
}
