import Container
import Foundation
import Glibc
import Media

/// Pushes each file in messages of 1,316 bytes. The first round shows how the ends of units were known. Many rounds show
/// the speed, and how often malloc was called after the first two. That should be never: otherwise the exit code is 1.
/// tools/check/count_allocations.c must be preloaded, because it counts.
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
    var unitsByEvidence = [Int](repeating: 0, count: EndEvidence.allCases.count)
    let count: TransportStreamDemuxer.Handler = { event in
        guard case .unit(let unit) = event else { return }
        units += 1
        if unit.isMainVideo { unitsByEvidence[Int(unit.evidence.rawValue)] += 1 }
    }
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
    let evidence = EndEvidence.allCases.map { "\($0) \(unitsByEvidence[Int($0.rawValue)])" }.joined(separator: ", ")
    round()
    let (allocationsBefore, unitsBefore) = (allocationsBySwift() + allocationsByOthers(), units)
    let rounds = max(1, 100_000_000 / bytes.count)
    let start = processorSeconds()
    countAllocations(1)
    for _ in 0..<rounds { round() }
    countAllocations(0)
    let seconds = processorSeconds() - start
    let rate = Double(rounds * bytes.count) / seconds / 1e6
    let mallocs = allocationsBySwift() + allocationsByOthers() - allocationsBefore
    print("\(name): \(evidence); \(Int(rate)) MB/s; \(mallocs) mallocs in \(units - unitsBefore) units")
    if mallocs > 0 { exit(1) }
}

/// What this process has used, which other programs on the machine change less than the time that passes.
func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
