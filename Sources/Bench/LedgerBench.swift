import Glibc
import Media
import Schedule
import Telemetry

/// What a frame's books cost: the stamps of one frame are there, it is opened and closed, with and without a telemetry map. In
/// turns, so that both meet the same machine.
public struct LedgerBench {
    /// Frames of a kind of question.
    public var frames = 20_000
    /// How much memory is written between two frames, for the frames that find nothing in the caches: a stream's pictures do
    /// the same.
    public var evictedBytes = 8 << 20

    public init() {}

    /// - Returns: rows in pairs, without and with a map; nil where there is no shared memory.
    public func run() -> [PlanBench.Row]? {
        guard let descriptor = try? TelemetryMap.create() else { return nil }
        defer { close(descriptor) }
        guard let map = try? TelemetryMap.Writer(descriptor) else { return nil }
        let subjects = [("without a map", Ledger()), ("with a map", Ledger(map: map))]
        var clock = (0..<1000).map { _ in
            let start = MonotonicTime.now()
            return MonotonicTime.now() - start
        }
        clock.sort()
        var rows: [PlanBench.Row] = []
        var memory = [UInt8](repeating: 0, count: evictedBytes)
        for isCold in [false, true] {
            let count = isCold ? frames / 20 : frames
            var times = subjects.map { _ in [Nanoseconds]() }
            for n in 0..<count {
                for (index, subject) in subjects.enumerated() {
                    if isCold { for at in stride(from: n & 63, to: memory.count, by: 64) { memory[at] &+= 1 } }
                    let time = Self.closing(of: subject.1, n)
                    times[index].append(max(time - clock[500], .zero))
                }
            }
            for index in subjects.indices {
                let name = "close a frame \(subjects[index].0)" + (isCold ? ", caches cold" : "")
                rows.append(PlanBench.row(name, &times[index]))
            }
        }
        return rows
    }

    /// The time of closing one frame, which passed every stage.
    private static func closing(of ledger: Ledger, _ n: Int) -> Nanoseconds {
        var frame = ledger.open(n % 2 == 0 ? .original : .synthesised, presentation: MediaTime(ticks: Int64(n)))
        var time = MonotonicTime(nanoseconds: Int64(n) * 16_666_667)
        for stamp in Stamp.allCases {
            frame.stamp(stamp, at: time)
            time = time + .microseconds(Int64(n % 4000 + stamp.rawValue * 100))
        }
        frame.record.deadline = time
        let start = MonotonicTime.now()
        ledger.close(frame, as: .emitted)
        return MonotonicTime.now() - start
    }
}
