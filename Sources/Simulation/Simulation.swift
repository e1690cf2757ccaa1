import Media
import Schedule

/// Runs the relay's pipeline in virtual time, with any policy.
///
/// Stages are threads. They share the machine's cores evenly with each other, with other streams and with other programs
/// (processor sharing). Deterministic: the same load and policy give the same outcome on every machine.
public enum Simulation {
    /// Simulates a synthetic load with the relay's planner.
    public static func run(_ load: Load, until end: MonotonicTime? = nil, timeline: Bool = false) -> [StreamOutcome] {
        run(load, until: end, timeline: timeline) { Planner($0) }
    }

    /// Simulates a synthetic load with any policy.
    /// - Parameters:
    ///   - end: stop at this time, with frames in flight. Nil to continue until the last frame is emitted.
    ///   - makePolicy: called once for each stream.
    /// - Returns: an outcome for each stream.
    public static func run<P: Policy>(
        _ load: Load, until end: MonotonicTime? = nil, timeline: Bool = false,
        policy makePolicy: (Planner.Configuration) -> P
    ) -> [StreamOutcome] {
        var streams = (0..<load.streams).map {
            SimulatedStream(
                FrameSource(load, stream: $0), policy: makePolicy(load.configuration), order: load.order,
                workers: load.workers, encoders: min(load.encoders, load.cores), keepsTimeline: timeline,
                overstated: load.overstated, output: SimulatedOutput(load))
        }
        play(&streams, load, cores: load.cores, threads: max(load.workers, load.encoders), until: end)
        return streams.map(\.outcome)
    }

    /// Replays recorded frames against a policy.
    /// - Parameter frames: in order of arrival, with costs on free cores.
    public static func replay<P: Policy>(
        _ frames: [FrameLoad], policy: P, order: SynthesisOrder = .beforeOriginal, cores: Int = 2, workers: Int = 2,
        encoders: Int = 1, timeline: Bool = false
    ) -> StreamOutcome {
        var streams = [
            SimulatedStream(
                FrameSource(frames), policy: policy, order: order, workers: workers, encoders: min(encoders, cores),
                keepsTimeline: timeline)
        ]
        play(&streams, nil, cores: cores, threads: max(workers, encoders), until: nil)
        return streams[0].outcome
    }

    private static func play<P: Policy>(
        _ streams: inout [SimulatedStream<P>], _ load: Load?, cores: Int, threads: Int, until end: MonotonicTime?
    ) {
        var moment = Moment()
        var meter = CoreMeter(streams: streams.count, cores: cores, threads: threads)
        var pool = OptionalPool()
        let cores = Double(cores)
        var lost: UInt64 = 0
        if load?.isSupervised == true {
            for index in streams.indices { streams[index].use(Cores(dealt: cores, spare: cores, optional: 0)) }
        }
        while true {
            let others = load?.otherThreads(at: moment.time) ?? 0
            var threads = others
            var nextEnd = Double.infinity
            var nextTime = load?.nextChange(after: moment.time) ?? MonotonicTime(nanoseconds: .max)
            var isBusy = false
            for index in streams.indices {
                streams[index].settle(moment, load)
                threads += streams[index].threads
                nextEnd = min(nextEnd, streams[index].nextEnd)
                if let arrival = streams[index].nextArrival {
                    nextTime = min(nextTime, arrival)
                    isBusy = true
                }
                if let stop = streams[index].nextStop { nextTime = min(nextTime, stop) }
            }
            if nextEnd == .infinity, !isBusy { break }
            let speed = threads <= cores ? 1 : cores / threads
            if nextEnd < .infinity {
                let wait = ((nextEnd - moment.work) / speed).rounded(.up)
                nextTime = min(nextTime, moment.time + Nanoseconds(Int64(max(wait, 1))))
            }
            if let end, nextTime > end { break }
            nextTime = max(nextTime, moment.time)
            for index in streams.indices { meter.add(index, streams[index].threads * speed, nextTime - moment.time) }
            meter.addOthers(others * speed, nextTime - moment.time)
            meter.recordRunning(threads, for: nextTime - moment.time)
            if let length = meter.length(at: nextTime) {
                if load?.isSupervised == true {
                    let flowing = streams.indices.filter { !streams[$0].isBypassed }
                    let claims = flowing.map { CoreDeal.Claim(least: streams[$0].demand?.least ?? 0) }
                    let deal = CoreDeal(cores: cores)
                    let others = meter.usedByOthers(length)
                    let size = pool.update(
                        idle: cores - meter.busy(length), cores: cores, estimate: deal.leftover(claims, usedByOthers: others),
                        seconds: length.seconds, streams: changes(in: streams, at: nextTime, &lost))
                    for (index, cores) in zip(flowing, deal.deal(claims, usedByOthers: others, pool: size)) {
                        streams[index].use(cores)
                        streams[index].chooseOutput(at: nextTime, cores: cores)
                    }
                    let newcomers = streams.count - flowing.count
                    let share = deal.dealForNewcomer(beside: claims, newcomers: newcomers, usedByOthers: others)
                    for index in streams.indices where streams[index].isBypassed {
                        streams[index].chooseOutput(at: nextTime, cores: share)
                    }
                } else {
                    for index in streams.indices {
                        let cores = meter.available(index, length)
                        streams[index].use(cores)
                        streams[index].chooseOutput(at: nextTime, cores: cores)
                    }
                }
                meter.restart(at: nextTime)
            }
            moment.work += Double((nextTime - moment.time).count) * speed
            moment.time = nextTime
        }
        for index in streams.indices { streams[index].close() }
    }
}

extension Simulation {
    /// What a supervisor sees of its streams. All of them begin at the beginning.
    /// - Parameter lost: originals that were dropped up to the last call.
    private static func changes<P: Policy>(
        in streams: [SimulatedStream<P>], at time: MonotonicTime, _ lost: inout UInt64
    ) -> OptionalPool.Streams {
        var changes = OptionalPool.Streams()
        let now = streams.reduce(UInt64(0)) { $0 + UInt64($1.outcome.dropped(.late) + $1.outcome.dropped(.overload)) }
        changes.haveLost = now > lost
        changes.areSettling = time - MonotonicTime(nanoseconds: 0) < OptionalPool.settlingTime
        changes.areNew = changes.areSettling
        lost = now
        return changes
    }
}

/// Measures the cores for each simulated stream, as `MachineMeter` does for a relay.
private struct CoreMeter {
    private var shares: [CoreShare]
    private var used: [Double]
    private var usedByPrograms = 0.0
    private var fewestThreads = Double.infinity
    private var start = MonotonicTime(nanoseconds: 0)

    init(streams: Int, cores: Int, threads: Int) {
        shares = Array(repeating: CoreShare(cores: cores, threads: threads), count: streams)
        used = Array(repeating: 0, count: streams)
    }

    mutating func add(_ stream: Int, _ threads: Double, _ time: Nanoseconds) {
        used[stream] += threads * Double(time.count)
    }
    mutating func addOthers(_ threads: Double, _ time: Nanoseconds) { usedByPrograms += threads * Double(time.count) }
    mutating func recordRunning(_ threads: Double, for time: Nanoseconds) {
        if time > .zero { fewestThreads = min(fewestThreads, threads) }
    }

    /// The length of the present sample; nil while it is shorter than ``CoreShare/samplePeriod``.
    func length(at time: MonotonicTime) -> Nanoseconds? {
        time - start >= CoreShare.samplePeriod ? time - start : nil
    }

    /// The cores that programs other than the streams kept busy.
    func usedByOthers(_ length: Nanoseconds) -> Double { usedByPrograms / Double(length.count) }

    /// The cores that everything together kept busy.
    func busy(_ length: Nanoseconds) -> Double { (usedByPrograms + used.reduce(0, +)) / Double(length.count) }

    mutating func available(_ stream: Int, _ length: Nanoseconds) -> Cores {
        let others = usedByPrograms + used.reduce(0, +) - used[stream]
        return shares[stream].update(usedByOthers: others / Double(length.count), fewestRunning: Int(fewestThreads + 1e-9))
    }

    mutating func restart(at time: MonotonicTime) {
        for index in used.indices { used[index] = 0 }
        usedByPrograms = 0
        fewestThreads = .infinity
        start = time
    }
}
