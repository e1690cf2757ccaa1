import Media
import Schedule

/// Runs the relay's pipeline in virtual time, with any policy in command.
///
/// Stages are threads that share the machine's cores with each other, with other streams and with other programs, by
/// processor sharing. Deterministic: the same load and policy give the same outcome on every machine.
public enum Simulation {
    /// Simulates a synthetic load with Burnish's own planner.
    public static func run(_ load: Load, until end: MonotonicTime? = nil, timeline: Bool = false) -> [StreamOutcome] {
        run(load, until: end, timeline: timeline) { Planner($0) }
    }

    /// Simulates a synthetic load with any policy.
    /// - Parameters:
    ///   - end: stop then, with frames under way; nil to go on until the last one is out.
    ///   - makePolicy: called for each stream.
    /// - Returns: an outcome per stream.
    public static func run<P: Policy>(
        _ load: Load, until end: MonotonicTime? = nil, timeline: Bool = false,
        policy makePolicy: (Planner.Configuration) -> P
    ) -> [StreamOutcome] {
        var streams = (0..<load.streams).map {
            SimulatedStream(
                FrameSource(load, stream: $0), policy: makePolicy(load.configuration), order: load.order,
                workers: load.workers, encoders: min(load.encoders, load.cores), keepsTimeline: timeline)
        }
        play(&streams, load, cores: load.cores, threads: max(load.workers, load.encoders), until: end)
        return streams.map(\.outcome)
    }

    /// Replays recorded frames against a policy.
    /// - Parameter frames: in order of arrival; their costs are those of free cores.
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
        let cores = Double(cores)
        while true {
            let foreign = load?.otherThreads(at: moment.time) ?? 0
            var threads = foreign
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
            meter.addOthers(foreign * speed, nextTime - moment.time)
            meter.recordRunning(threads, for: nextTime - moment.time)
            if let length = meter.length(at: nextTime) {
                for index in streams.indices { streams[index].use(meter.available(index, length)) }
                meter.restart(at: nextTime)
            }
            moment.work += Double((nextTime - moment.time).count) * speed
            moment.time = nextTime
        }
        for index in streams.indices { streams[index].close() }
    }
}

/// Tells each simulated stream what the others and other programs leave of the machine, as a relay reads it from the
/// operating system.
private struct CoreMeter {
    private var shares: [CoreShare]
    private var used: [Double]
    private var foreign = 0.0
    private var fewestThreads = Double.infinity
    private var start = MonotonicTime(nanoseconds: 0)

    init(streams: Int, cores: Int, threads: Int) {
        shares = Array(repeating: CoreShare(cores: cores, threads: threads), count: streams)
        used = Array(repeating: 0, count: streams)
    }

    mutating func add(_ stream: Int, _ threads: Double, _ time: Nanoseconds) {
        used[stream] += threads * Double(time.count)
    }
    mutating func addOthers(_ threads: Double, _ time: Nanoseconds) { foreign += threads * Double(time.count) }
    mutating func recordRunning(_ threads: Double, for time: Nanoseconds) {
        if time > .zero { fewestThreads = min(fewestThreads, threads) }
    }

    /// How long the sample has become; nil while that is too short.
    func length(at time: MonotonicTime) -> Nanoseconds? {
        time - start >= CoreShare.samplePeriod ? time - start : nil
    }

    mutating func available(_ stream: Int, _ length: Nanoseconds) -> Cores {
        let others = foreign + used.reduce(0, +) - used[stream]
        return shares[stream].update(usedByOthers: others / Double(length.count), fewestRunning: Int(fewestThreads + 1e-9))
    }

    mutating func restart(at time: MonotonicTime) {
        for index in used.indices { used[index] = 0 }
        foreign = 0
        fewestThreads = .infinity
        start = time
    }
}
