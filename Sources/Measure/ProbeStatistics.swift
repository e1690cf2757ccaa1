import Media

/// What a receiver of the test source saw: counts every picture and makes a ``ProbeReport``. Pictures that come within the
/// warm-up after the first one are not counted. A pure value.
public struct ProbeStatistics: Sendable {
    private let warmUp: Int64
    private var firstArrival: WallTime?
    private var countedFrom: WallTime?
    private var lastArrival: WallTime?

    private var size: PictureSize?
    /// Pictures counted so far.
    public private(set) var received = 0
    /// Pictures of the warm-up, which are not counted.
    public private(set) var inWarmUp = 0
    private var blended = 0
    private var damaged = 0
    private var absent = 0
    private var repeated = 0
    private var outOfOrder = 0
    private var bytes = 0

    private var span = NumberSpan()
    private var latencies: [Int64] = []
    private var gaps: [Int64] = []
    private var newPictureGaps: [Int64] = []
    private var lastNewPicture: WallTime?
    private var ptsSteps: [Int64] = []
    private var lastTimestamp: MediaTime?
    private var sync = SyncStatistics()

    /// - Parameter warmUp: how long after the first picture counting begins, in microseconds.
    public init(warmUp: Int64 = 0) { self.warmUp = warmUp }

    /// Counts a picture that came.
    /// - Parameters:
    ///   - arrived: when it was ready to be shown.
    ///   - timestamp: its presentation time stamp, where there is one.
    public mutating func recordPicture(
        _ reading: TimeCodeReading, size: PictureSize, arrived: WallTime, timestamp: MediaTime? = nil
    ) {
        let first = firstArrival ?? arrived
        firstArrival = first
        guard arrived - first >= warmUp else {
            inWarmUp += 1
            return
        }
        if countedFrom == nil { countedFrom = arrived }
        if let lastArrival { gaps.append(arrived - lastArrival) }
        if let timestamp, let lastTimestamp { ptsSteps.append(timestamp - lastTimestamp) }
        lastArrival = arrived
        lastTimestamp = timestamp ?? lastTimestamp
        self.size = size
        received += 1
        var isNew = true
        switch reading {
        case .code(let code):
            switch span.insert(code) {
            case .next: latencies.append(arrived - code.captured)
            case .late:
                outOfOrder += 1
                latencies.append(arrived - code.captured)
            case .repeated:
                repeated += 1
                isNew = false
            case .tooOld:
                outOfOrder += 1
                isNew = false
            }
            if let timestamp, isNew { sync.recordVideo(timestamp, captured: code.captured) }
        case .blended: blended += 1
        case .damaged: damaged += 1
        case .absent: absent += 1
        }
        if isNew {
            if let lastNewPicture { newPictureGaps.append(arrived - lastNewPicture) }
            lastNewPicture = arrived
        }
    }

    /// Counts bytes of the stream that came.
    public mutating func recordBytes(_ count: Int) { if countedFrom != nil { bytes += count } }

    /// Counts a piece of the test source's audio that came.
    public mutating func recordAudio(_ timestamp: MediaTime, captured: WallTime) {
        if countedFrom != nil { sync.recordAudio(timestamp, captured: captured) }
    }

    /// The figures so far.
    /// - Parameter until: the end of the measurement. A picture that should have come by then and did not is a freeze.
    public func report(until: WallTime? = nil) -> ProbeReport {
        let seconds =
            if let countedFrom, let end = until ?? lastArrival { Double(end - countedFrom) / 1e6 } else { 0.0 }
        let interval = span.interval
        var waits = newPictureGaps
        if let until, let lastNewPicture, until > lastNewPicture { waits.append(until - lastNewPicture) }
        let freezes = interval == 0 ? [] : waits.filter { $0 > 2 * interval }
        let quarter = latencies.count / 4
        return ProbeReport(
            seconds: seconds, width: size?.width ?? 0, height: size?.height ?? 0,
            framesPerSecond: gaps.isEmpty ? 0 : 1e6 * Double(gaps.count) / Double(gaps.reduce(0, +)),
            bitsPerSecond: seconds > 0 ? Double(bytes) * 8 / seconds : 0,
            received: received, unique: span.unique, lost: span.lost, repeated: repeated, synthesised: blended,
            damaged: damaged, withoutCode: absent, outOfOrder: outOfOrder,
            latency: Distribution(latencies, scale: 1e-3),
            latencyGrowth: quarter == 0
                ? 0
                : Distribution(latencies.suffix(quarter), scale: 1e-3).p50
                    - Distribution(latencies.prefix(quarter), scale: 1e-3).p50,
            arrivalGaps: Distribution(gaps, scale: 1e-3), timestampSteps: Distribution(ptsSteps, scale: 1.0 / 90),
            sourceInterval: Double(interval) / 1e3, freezes: freezes.count,
            frozen: Double(freezes.reduce(0) { $0 + $1 - interval }) / 1e3, audioOffset: sync.offset)
    }
}

/// Which frame numbers have been seen, over a window that is long compared with any reordering.
private struct NumberSpan: Sendable {
    enum Verdict { case next, late, repeated, tooOld }

    private static let window = 4096
    private var seen = [Bool](repeating: false, count: window)
    private var lowest: Int64 = 0
    private var highest: Int64 = 0
    private var earliest: WallTime?
    private var latest: WallTime?
    private(set) var unique = 0

    /// Frames of the source between the first and the last one seen that never came.
    var lost: Int { unique == 0 ? 0 : Int(highest - lowest) + 1 - unique }

    /// Microseconds between two frames of the source, according to their codes.
    var interval: Int64 {
        guard let earliest, let latest, highest > lowest else { return 0 }
        return (latest - earliest) / (highest - lowest)
    }

    mutating func insert(_ code: TimeCode) -> Verdict {
        guard unique > 0 else {
            lowest = Int64(code.number)
            highest = lowest
            (earliest, latest) = (code.captured, code.captured)
            seen[slot(lowest)] = true
            unique = 1
            return .next
        }
        let number = highest + Int64(Int16(truncatingIfNeeded: Int64(code.number) - highest))
        if number > highest {
            for skipped in max(highest + 1, number - Int64(Self.window) + 1)...number { seen[slot(skipped)] = false }
            highest = number
            latest = code.captured
            seen[slot(number)] = true
            unique += 1
            return .next
        }
        // Older than the first counted one, or than the window: it may be a repetition.
        if number < lowest || highest - number >= Int64(Self.window) { return .tooOld }
        if seen[slot(number)] { return .repeated }
        seen[slot(number)] = true
        unique += 1
        return .late
    }

    private func slot(_ number: Int64) -> Int { Int(number & Int64(Self.window - 1)) }
}
