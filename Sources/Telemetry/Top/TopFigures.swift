import Media
import Schedule

/// What `burnish top` shows of a stream at one moment, computed from its telemetry map. Times are in milliseconds. The names of
/// the properties are the JSON keys, so they are public.
public struct TopFigures: Encodable, Sendable {
    /// Quantiles over the frames of the last ``window``; nil where there was none.
    public struct Stage: Encodable, Sendable {
        public var name: String
        public var p50, p99: Double?
    }

    public struct Leg: Encodable, Sendable {
        public var connected: Bool
        public var connections: Int64
        public var bitsPerSecond: Double
        public var roundTripTime, window: Double
        public var packetsBuffered, packetsLost, packetsRetransmitted, packetsDropped: Int64
        /// Packets that were found missing since the figures before these.
        public var packetsLostLately: Int64
    }

    /// One output, in the order of the stream's URLs.
    public struct Output: Encodable, Sendable {
        public var state: String
        public var receivers: Int64
        public var link: Leg
        public var unitsOffered, unitsSent, unitsQueued: UInt64
        public var unitsDropped: [String: UInt64]
        public var unitsBalance: Bool
    }

    public struct Drops: Encodable, Sendable {
        public var reason: String
        public var total: UInt64
        /// Within the last ``window``.
        public var lately: Int
    }

    /// How far back quantiles and recent counts reach.
    public static let window = Nanoseconds.seconds(5)
    /// The latency series: as many steps of so long.
    static let steps = 60
    static let step = Nanoseconds.milliseconds(500.0)

    public var stream: String
    public var process: Int32
    /// Since the worker began.
    public var seconds: Double
    /// Since the worker last wrote its figures. More than a second or two means that it has ended or stands still.
    public var secondsSinceWritten: Double
    public var restarts: UInt64
    public var inputSize, outputSize: String?
    public var framesPerSecond: Double
    public var rung: String?
    /// The encoder's preset; nil where the output is not chosen to fit the machine.
    public var preset: String?
    public var coresLeast, coresSynthesising: Double
    public var latency: Stage
    public var latencyP95: Double?
    public var deadlineMisses: UInt64
    /// The largest latency in each half second, oldest first; nil where no frame was sent.
    public var latencySeries: [Double?]
    public var stages: [Stage]
    /// The share of the originals that were sent lately, by tier.
    public var tiers: [String: Double]
    /// Tiles for each of these originals.
    public var tilesComputed, tilesReused: Double
    public var drops: [Drops]
    /// The input, and the first output.
    public var input, output: Leg
    public var outputs: [Output]
    public var books: String
    public var booksBalance: Bool
    public var units: String
    /// Values and records that no worker writes, or that were written while they were read.
    public var faults: Int

    /// - Parameters:
    ///   - former: an earlier snapshot, for what happened since; nil where there is none.
    ///   - frames: the last records, all that there are.
    ///   - torn: how many records could not be read.
    public init(
        stream: String, _ snapshot: StreamSnapshot, former: StreamSnapshot? = nil, frames: [ClosedFrame], torn: Int = 0,
        now: MonotonicTime
    ) {
        self.stream = stream
        process = snapshot.process
        seconds = max(0, (now - snapshot.startedAt).seconds)
        secondsSinceWritten = max(0, (now - snapshot.gauges.writtenAt).seconds)
        restarts = max(1, snapshot.writers) - 1
        func size(_ size: PictureSize) -> String? { size.width > 0 && size.height > 0 ? size.description : nil }
        inputSize = size(snapshot.gauges.inputSize)
        outputSize = size(snapshot.gauges.outputSize)
        framesPerSecond = snapshot.gauges.rate
        rung = snapshot.gauges.rung.flatMap { Int($0) < Rung.all.count ? Rung.all[Int($0)].name : nil }
        preset = snapshot.gauges.output?.preset.rawValue
        coresLeast = snapshot.gauges.coresLeast
        coresSynthesising = snapshot.gauges.coresSynthesising
        deadlineMisses = snapshot.latency.misses

        let recent = frames.filter { frame in
            frame.record.newestStamp.map { $0 > now - Self.window && $0 <= now } ?? false
        }
        let sent = recent.filter { $0.fate.isSent && $0.record.kind != .repeated }
        func quantiles(_ name: String, _ times: [Nanoseconds]) -> (stage: Stage, p95: Double?) {
            let sorted = times.sorted()
            func quantile(_ share: Double) -> Double? {
                sorted.isEmpty ? nil : sorted[Int(share * Double(sorted.count - 1))].milliseconds
            }
            return (Stage(name: name, p50: quantile(0.5), p99: quantile(0.99)), quantile(0.95))
        }
        (latency, latencyP95) = quantiles("latency", sent.compactMap { $0.record.time(from: .lastPacket, to: .sent) })
        stages = TraceTrack.allCases.compactMap { track in
            track.stamps.map { from, to in
                quantiles(track.name, sent.compactMap { $0.record.time(from: from, to: to) }).stage
            }
        }
        var series = [Double?](repeating: nil, count: Self.steps)
        for frame in frames where frame.fate.isSent && frame.record.kind != .repeated {
            guard let at = frame.record[.sent], let time = frame.record.time(from: .lastPacket, to: .sent), at <= now else {
                continue
            }
            let age = (now - at).count / Self.step.count
            guard age < Self.steps else { continue }
            let place = Self.steps - 1 - Int(age)
            series[place] = max(series[place] ?? 0, time.milliseconds)
        }
        latencySeries = series

        let originals = sent.filter { $0.record.kind == .original }
        var tiers: [String: Double] = [:]
        for tier in Tier.allCases {
            let count = originals.count { $0.record.tier == tier.rawValue }
            if count > 0 { tiers[tier.name] = Double(count) / Double(originals.count) }
        }
        self.tiers = tiers
        func mean(_ count: (FrameRecord) -> Int32) -> Double {
            originals.isEmpty ? 0 : originals.reduce(0) { $0 + Double(count($1.record)) } / Double(originals.count)
        }
        tilesComputed = mean(\.tilesComputed)
        tilesReused = mean(\.tilesReused)
        drops = DropReason.allCases.compactMap { reason in
            let total = snapshot.books[reason]
            let lately = recent.count { $0.fate == .dropped(reason) }
            return total == 0 && lately == 0 ? nil : Drops(reason: reason.name, total: total, lately: lately)
        }

        let elapsed = former.map { (snapshot.gauges.writtenAt - $0.gauges.writtenAt).seconds } ?? 0
        func leg(_ leg: LegFigures, _ former: LegFigures?, _ bytes: KeyPath<LegFigures, Int64>) -> Leg {
            let moved = max(0, leg[keyPath: bytes] - (former?[keyPath: bytes] ?? leg[keyPath: bytes]))
            return Leg(
                connected: leg.isConnected, connections: leg.connections,
                bitsPerSecond: elapsed > 0 ? Double(moved) * 8 / elapsed : 0,
                roundTripTime: leg.roundTripTime.milliseconds, window: leg.window.milliseconds,
                packetsBuffered: leg.packetsBuffered, packetsLost: leg.packetsLost,
                packetsRetransmitted: leg.packetsRetransmitted, packetsDropped: leg.packetsDropped,
                packetsLostLately: max(0, leg.packetsLost - (former?.packetsLost ?? leg.packetsLost)))
        }
        input = leg(snapshot.inputLeg, former?.inputLeg, \.bytesReceived)
        output = leg(snapshot.outputLeg, former?.outputLeg, \.bytesSent)
        outputs = snapshot.outputs.enumerated().map { index, now in
            let before = former.flatMap { index < $0.outputs.count ? $0.outputs[index].leg : nil }
            let reasons = OutputDropReason.allCases.map { ($0.name, now.books[$0]) }.filter { $0.1 > 0 }
            return Output(
                state: now.state.name, receivers: now.receivers, link: leg(now.leg, before, \.bytesSent),
                unitsOffered: now.books.offered, unitsSent: now.books.sent, unitsQueued: now.books.queued,
                unitsDropped: Dictionary(uniqueKeysWithValues: reasons), unitsBalance: now.books.balance)
        }
        books = snapshot.books.description
        booksBalance = snapshot.books.balance
        let units = snapshot.output
        self.units = "offered \(units.offered) = sent \(units.sent) + dropped \(units.dropped) + queued \(units.queued)"
        faults = snapshot.faults + torn
    }
}
