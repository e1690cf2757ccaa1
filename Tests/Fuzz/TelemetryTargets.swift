import Media
import Schedule

@testable import Telemetry

/// The input is what a worker wrote into its map: words at places, of 16 bits and 64, over an empty map. Places go round, so
/// that a few bytes reach everything.
func fuzzTelemetryMap(_ input: UnsafeRawBufferPointer) {
    var words = [UInt64](repeating: 0, count: TelemetryLayout.wordCount)
    (words[0], words[1], words[2]) = (TelemetryLayout.magic, TelemetryLayout.version, UInt64(TelemetryLayout.byteCount))
    var at = 0
    while at + 10 <= input.count {
        let place = Int(input.loadUnaligned(fromByteOffset: at, as: UInt16.self))
        let value = input.loadUnaligned(fromByteOffset: at + 2, as: UInt64.self)
        words[3 + place % (TelemetryLayout.wordCount - 3)] = value
        // Records have whole words only where a sequence number fits, which the fuzzer would not guess.
        if value & 0xFF == 0x55, place < TelemetryLayout.recordCount {
            words[TelemetryLayout.records + place * TelemetryLayout.recordStride] = UInt64(place + 1) * 2
        }
        at += 10
    }
    let reader = TelemetryMap.Reader(words: words)
    let snapshot = reader.snapshot()
    _ = snapshot.books.description + "\(snapshot.books.balance) \(snapshot.output.balance)"
    for series in Latency.Series.allCases {
        _ = Quantiles(snapshot.latency[series])
        _ = snapshot.latency[series].mean
        _ = snapshot.latency[series].counts(upTo: [.zero, .milliseconds(1.0), .seconds(10)])
    }
    _ = reader.resumePoint()
    let (frames, torn) = reader.records()
    precondition(frames.count + torn <= TelemetryLayout.recordCount)
    _ = reader.records(lastSeconds: 5)
    _ = RecordTable.text(of: frames)
    for frame in frames { _ = Trace.line(TraceRecord(frame.record, frame.fate)) }
    _ = PerfettoTrace.bytes(of: frames, name: "fuzz", process: snapshot.process, wallOffset: snapshot.wallOffset)
    let now = MonotonicTime(nanoseconds: Int64(input.first ?? 0) << 48)
    let figures = TopFigures(stream: "fuzz", snapshot, former: snapshot, frames: frames, torn: torn, now: now)
    precondition(TopScreen().lines(figures).allSatisfy { $0.count <= 80 })
    // The input itself as a file is refused, or read.
    _ = try? TelemetryMap.Reader(bytes: Array(input))
}
