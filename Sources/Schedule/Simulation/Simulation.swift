import Media

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
                workers: load.workers, keepsTimeline: timeline)
        }
        play(&streams, load, cores: load.cores, until: end)
        return streams.map(\.outcome)
    }

    /// Replays recorded frames against a policy.
    /// - Parameter frames: in order of arrival; their costs are those of free cores.
    public static func replay<P: Policy>(
        _ frames: [FrameLoad], policy: P, order: SynthesisOrder = .beforeOriginal, cores: Int = 2, workers: Int = 2,
        timeline: Bool = false
    ) -> StreamOutcome {
        var streams = [
            SimulatedStream(
                FrameSource(frames), policy: policy, order: order, workers: workers, keepsTimeline: timeline)
        ]
        play(&streams, nil, cores: cores, until: nil)
        return streams[0].outcome
    }

    private static func play<P: Policy>(
        _ streams: inout [SimulatedStream<P>], _ load: Load?, cores: Int, until end: MonotonicTime?
    ) {
        var moment = Moment()
        let cores = Double(cores)
        while true {
            var threads = load?.foreignThreads(at: moment.time) ?? 0
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
            moment.work += Double((nextTime - moment.time).count) * speed
            moment.time = nextTime
        }
        for index in streams.indices { streams[index].close() }
    }
}
