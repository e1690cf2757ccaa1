import Endpoint
import Media
import Packets
import Schedule
import Telemetry

/// The report of a relay, printed at its end and written by `--report` and `--json`. Times are in milliseconds. The names of
/// the properties are the JSON keys, so they are public.
public struct RelayReport: Encodable, Sendable {
    public struct Stage: Codable, Sendable {
        public var name: String
        public var time: Quantiles
    }

    /// What a step did: pictures that it changed, and milliseconds for one of them on average.
    public struct Step: Codable, Sendable {
        public var pictures: UInt64
        public var meanTime: Double
    }

    public struct Totals: Codable, Sendable {
        public var originals, synthesised, repeated, emitted, bypassed, dropped, inFlight: UInt64
        public var droppedByReason: [String: UInt64]
        /// How many of the dropped frames were originals.
        public var originalsDroppedByReason: [String: UInt64]
        public var balance: Bool
    }

    /// A leg: each row of ``LegFigureTable`` under its name, times in milliseconds.
    @dynamicMemberLookup public struct Leg: Encodable, Sendable {
        public var url: String
        public var figures: LegFigures
        /// The output's books over its coded units of video; nil on an input.
        public var units: Units?

        public subscript<Value>(dynamicMember path: KeyPath<LegFigures, Value>) -> Value { figures[keyPath: path] }

        public struct Units: Codable, Sendable {
            public var offered, sent, dropped, queued: UInt64
            /// By the names of ``OutputDropReason``.
            public var droppedByReason: [String: UInt64]
            public var balance: Bool
        }

        init(url: StreamURL, _ figures: LegFigures, units: OutputBooks? = nil) {
            self.url = url.description
            self.figures = figures
            self.units = units.map {
                Units(
                    offered: $0.offered, sent: $0.sent, dropped: $0.dropped, queued: $0.queued,
                    droppedByReason: $0.droppedByReason, balance: $0.balance)
            }
        }

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            func key(_ name: String) -> Key { Key(stringValue: name) }
            try members.encode(url, forKey: key("url"))
            try members.encode(figures.isConnected, forKey: key("connected"))
            for (place, row) in LegFigureTable.rows.enumerated() {
                if row.isTime {
                    try members.encode(Nanoseconds(figures[place]).milliseconds, forKey: key(row.name))
                } else {
                    try members.encode(figures[place], forKey: key(row.name))
                }
            }
            let refused = RefusalReason.allCases.map { ($0.rawValue, figures.refusals[$0]) }.filter { $0.1 > 0 }
            try members.encode(Dictionary(uniqueKeysWithValues: refused), forKey: key("callersRefused"))
            if figures.earlyIngest != .unused { try members.encode(figures.earlyIngest.name, forKey: key("earlyIngest")) }
            try members.encodeIfPresent(units, forKey: key("units"))
        }
    }

    /// The rungs of the stream, and the cores that it needs.
    public struct Schedule: Codable, Sendable {
        /// The rung of the last frame; nil when there was none, and while pictures are bypassed.
        public var rung: String?
        public var rungChanges: UInt64
        /// By the names of ``Rung/all``. Rungs that the stream was never on are missing.
        public var secondsOnRung: [String: Double]
        /// The ``Capacity/Demand`` of the stream with its present costs, and the cores of the machine.
        public var coresLeast, coresSynthesising: Double?
        public var cores: Int
        /// What the output is made like, in words, and how many better choices there are; nil where nothing limits it.
        public var output: String?
        public var outputStep: Int?
        /// How often another choice took its place.
        public var outputChanges: Int

        init(_ record: RungRecord, _ demand: Capacity.Demand?, cores: Int, _ chosen: ChosenOutput) {
            let place = chosen.place
            output = place?.text
            outputStep = place?.step
            outputChanges = chosen.changes
            let now = MonotonicTime.now()
            let times = Rung.all.map { ($0.name, record.time(on: $0, until: now).seconds) }.filter { $0.1 > 0 }
            rung = record.rung?.name
            rungChanges = record.changes
            secondsOnRung = Dictionary(uniqueKeysWithValues: times)
            coresLeast = demand?.least
            coresSynthesising = demand?.synthesising
            self.cores = cores
        }
    }

    /// Seconds since the relay began to run.
    public var seconds: Double
    public var frames: Totals
    /// Frames a second in the output: the requested rate (nil where the output follows the input), and the average rate.
    public var targetRate: Double?
    public var outputRate: Double
    /// From the arrival of an original's last packet to its emission.
    public var latencyOriginal: Quantiles
    /// From the arrival of the last packet of the original that completed the pair to the synthesised frame's emission.
    public var latencySynthesised: Quantiles
    public var deadlineSlack: Quantiles
    public var deadlineMisses: UInt64
    public var stages: [Stage]
    public var schedule: Schedule
    public var counters: [String: UInt64]
    /// By the names of the table of steps. Those that changed no picture are left out.
    public var steps: [String: Step] = [:]
    public var input: Leg
    /// The first output.
    public var output: Leg
    /// All outputs, the first one included.
    public var outputs: [Leg]

    init(
        seconds: Double, ledger: Ledger, counters: StreamCounters, targetRate: Rational?, schedule: Schedule, input: Leg,
        outputs: [Leg]
    ) {
        self.seconds = seconds
        self.targetRate = targetRate?.value
        let books = ledger.books
        outputRate = seconds > 0 ? Double(books.emitted + books.bypassed) / seconds : 0
        func byReason(_ count: (DropReason) -> UInt64) -> [String: UInt64] {
            let counts = DropReason.allCases.map { ($0.name, count($0)) }.filter { $0.1 > 0 }
            return Dictionary(uniqueKeysWithValues: counts)
        }
        frames = Totals(
            originals: books.originals, synthesised: books.synthesised, repeated: books.repeated,
            emitted: books.emitted, bypassed: books.bypassed, dropped: books.dropped, inFlight: books.inFlight,
            droppedByReason: byReason { books[$0] }, originalsDroppedByReason: byReason(books.originalsDropped),
            balance: books.balance)
        (latencyOriginal, latencySynthesised, deadlineSlack, deadlineMisses, stages) = ledger.withLatency { latency in
            (
                Quantiles(latency.original), Quantiles(latency.synthesised), Quantiles(latency.slack), latency.misses,
                latency.stages.filter { $0.histogram.count > 0 }.map { Stage(name: $0.name, time: Quantiles($0.histogram)) }
            )
        }
        let counted = StreamCounters.Counter.allCases.map { ($0.name, counters[$0]) }.filter { $0.1 > 0 }
        self.counters = Dictionary(uniqueKeysWithValues: counted)
        for kind in StepKind.allCases where counters[kind].pictures > 0 {
            let figures = counters[kind]
            steps[kind.name] = Step(
                pictures: figures.pictures, meanTime: figures.time.milliseconds / Double(figures.pictures))
        }
        self.schedule = schedule
        self.input = input
        output = outputs[0]
        self.outputs = outputs
    }
}

extension RelayReport {
    /// The report as text for people.
    public var text: String {
        func row(_ name: String, _ q: Quantiles) -> String {
            let figures = [q.p50, q.p95, q.p99, q.max].map { padded(tenths($0), to: 9) }.joined()
            return "  " + name.padding(to: 24) + padded("\(q.count)", to: 8) + figures
        }
        var lines = ["latency in ms               frames      p50      p95      p99      max"]
        lines.append(row("original frames", latencyOriginal))
        if latencySynthesised.count > 0 { lines.append(row("synthesised frames", latencySynthesised)) }
        lines += stages.map { row("· " + $0.name.replacing("_", with: " "), $0.time) }
        func list(_ counts: [String: UInt64]) -> String {
            counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        }
        let originals = frames.originalsDroppedByReason
        let reasons =
            list(frames.droppedByReason)
            + (frames.droppedByReason == originals || frames.dropped == 0
                ? "" : "; of them originals: \(originals.isEmpty ? "none" : list(originals))")
        lines.append(
            "books: in \(frames.originals) + synthesised \(frames.synthesised) + repeated \(frames.repeated)"
                + " = emitted \(frames.emitted)" + (frames.bypassed > 0 ? " + bypassed \(frames.bypassed)" : "")
                + " + dropped \(frames.dropped)"
                + (reasons.isEmpty ? "" : " (\(reasons))")
                + " + in flight \(frames.inFlight)" + (frames.balance ? "" : "  DO NOT BALANCE"))
        let slates = counters[StreamCounters.Counter.slates.name] ?? 0
        lines.append(
            "output rate: \(hundredths(outputRate)) frames a second"
                + (targetRate.map { " (asked for \(hundredths($0)))" } ?? "")
                + (slates > 0 ? ", \(slates) of them the slate" : ""))
        lines.append("deadlines missed: \(deadlineMisses)")
        let losses = StreamCounters.Counter.losses.compactMap { counter in
            counters[counter.name].map { "\(counter.name.replacing("_", with: " ")) \($0)" }
        }
        if !losses.isEmpty { lines.append("not received: \(losses.joined(separator: ", "))") }
        if outputs.count > 1 { lines += outputs.enumerated().map { $1.line(number: $0 + 1) } }
        let rungs = Rung.all.compactMap { rung in schedule.secondsOnRung[rung.name].map { "\(rung.name) \(tenths($0)) s" } }
        if let output = schedule.output {
            let worse = (schedule.outputStep ?? 0) > 0 ? ", which fits the machine" : ""
            lines.append("output: \(output)\(worse); changes \(schedule.outputChanges)")
        }
        if !rungs.isEmpty { lines.append("rungs: \(rungs.joined(separator: ", ")); changes \(schedule.rungChanges)") }
        return lines.joined(separator: "\n")
    }
}

extension RelayReport.Leg {
    /// One of several outputs.
    fileprivate func line(number: Int) -> String {
        var text = "output \(number) (\(url)): \(figures.isConnected ? "up" : "down")"
        guard let units else { return text }
        text += ", units \(units.offered) = sent \(units.sent) + dropped \(units.dropped)"
        let reasons = units.droppedByReason.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        if !reasons.isEmpty { text += " (\(reasons.joined(separator: ", ")))" }
        return text + " + queued \(units.queued)" + (units.balance ? "" : "  DO NOT BALANCE")
    }
}

extension OutputBooks {
    fileprivate var droppedByReason: [String: UInt64] {
        let counts = OutputDropReason.allCases.map { ($0.name, self[$0]) }.filter { $0.1 > 0 }
        return Dictionary(uniqueKeysWithValues: counts)
    }
}

extension StreamCounters.Counter {
    /// The counters that show missing input.
    fileprivate static let losses: [Self] = [
        .inputGaps, .inputMessagesLost, .inputPacketsLost, .inputPacketsBroken, .inputPacketsScrambled,
        .inputUnitsOversized, .inputUnitsTorn,
    ]
}

private func tenths(_ value: Double) -> String {
    let rounded = Int((value * 10).rounded())
    return "\(rounded / 10).\(abs(rounded % 10))"
}

private func hundredths(_ value: Double) -> String {
    let rounded = Int((value * 100).rounded())
    return "\(rounded / 100).\(rounded / 10 % 10)\(rounded % 10)"
}

private func padded(_ text: String, to width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension RelayStatus {
    /// The status on one line: time, frames in and out, the present output rate, repeated frames and frames left out for the
    /// rate (where there are any), drops, the median latency of the last five seconds, and losses. Losses are the packets that the input leg found
    /// missing and the transport packets that are missing in the messages that it delivered.
    public var line: String {
        let leftOut = books[.cadence]
        let made = chosen.map { " \($0)," } ?? ""
        let schedule =
            if let rung, let demand {
                made + " \(rung.name), needs \(tenths(demand.least)) to \(tenths(demand.synthesising)) of \(cores) cores,"
            } else { made }
        return "\(tenths(seconds)) s: in \(books.originals), out \(books.emitted + books.bypassed) (\(tenths(rate))/s),"
            + (books.bypassed > 0 ? " bypassed \(books.bypassed)," : "")
            + (books.repeated > 0 ? " repeated \(books.repeated)," : "")
            + (leftOut > 0 ? " left out \(leftOut)," : "")
            + " dropped \(books.dropped - leftOut), latency \(latency.map { tenths($0.milliseconds) } ?? "–") ms,\(schedule)"
            + " input \(input.isConnected ? "up" : "down") rtt \(tenths(input.roundTripTime.milliseconds)) ms"
            + " lost \(UInt64(max(0, input.packetsLost)) + packetsLost), "
            + (outputs > 1 ? "outputs up \(outputsConnected) of \(outputs)" : "output \(output.isConnected ? "up" : "down")")
    }
}
