import Media
import WorkerProtocol

/// How a stream is, and why: `reason` in the API, `/readyz`, the page and `burnishd reload` all read it here.
///
/// A pure value: it is told what happened and when.
struct StreamCondition: Hashable, Sendable {
    /// What is known of the stream elsewhere.
    struct Facts: Hashable, Sendable {
        var lifecycle: StreamLifecycle.State
        /// When its worker is started again; nil where that is not waited for.
        var workerRestart: MonotonicTime?
        var flow = FlowObserver()
        /// Whether a source is connected.
        var isInputConnected = false
        /// How many outputs the stream has.
        var outputs = 1
    }

    /// What keeps an end from its peer.
    private struct Trouble: Hashable {
        var trouble: StreamTrouble
        /// When that end began to have troubles.
        var since: MonotonicTime

        /// Whether it counts against the service.
        var isFault: Bool { Self.isFault(trouble) }

        static func isFault(_ trouble: StreamTrouble) -> Bool {
            switch trouble.kind {
            case .unresolvable, .refused, .unusable, .broken: true
            // A source may be switched off. An output is there to be reached.
            case .unreachable: trouble.output != nil
            // Anybody can call with a wrong passphrase.
            case .callerRefused: false
            }
        }
    }

    /// A trouble counts against the service when it has lasted for so long.
    static let grace = Nanoseconds.seconds(10)

    private var troubles: [Trouble] = []
    /// Why the stream or its worker has ended; nil once it runs again.
    private var lastEnd: String?
    /// The worker has said once what keeps the ends from their peers.
    private(set) var hasHeard = false
    /// Somebody has asked for the stream to stop: that is no fault.
    private(set) var isStoppedOnPurpose = false

    // MARK: What happens

    /// It has ended, or its worker has, although it should not have.
    mutating func ended(_ reason: String) { lastEnd = reason }

    /// Its ends are open.
    mutating func started() {
        lastEnd = nil
        hasHeard = false
    }

    /// The worker says what keeps the ends from their peers now: all of it.
    mutating func hear(_ present: [StreamTrouble], at now: MonotonicTime) {
        hasHeard = true
        let before = troubles
        troubles = present.prefix(StreamTrouble.most).map { trouble in
            let former = before.first { $0.trouble.output == trouble.output && $0.isFault == Trouble.isFault(trouble) }
            return Trouble(trouble: trouble, since: former?.since ?? now)
        }
    }

    /// It is to begin anew: by a restart, or with other ends.
    mutating func beginAnew() { self = StreamCondition() }

    mutating func stopOnPurpose() {
        self = StreamCondition()
        isStoppedOnPurpose = true
    }

    // MARK: What follows

    var hasTroubles: Bool { !troubles.isEmpty }

    /// Whether it is known by now if it works: its ends have been open for a second, and each output that calls is connected or has
    /// failed once.
    /// - Parameter calling: the outputs that call and are not connected.
    func isSettled(_ facts: Facts, calling: [Int]) -> Bool {
        switch facts.lifecycle {
        case .running: hasHeard && calling.allSatisfy { output in troubles.contains { $0.trouble.output == output } }
        case .stopped: true
        case .backingOff: lastEnd != nil
        case .waitingForWorker, .starting, .stopping: facts.workerRestart != nil
        }
    }

    func state(_ facts: Facts) -> StreamStatus.State {
        switch facts.lifecycle {
        case .stopped: .stopped
        case .backingOff: .backingOff
        case .running: facts.flow.isFlowing ? .flowing : .waiting
        case .waitingForWorker, .starting, .stopping: facts.workerRestart == nil ? .starting : .backingOff
        }
    }

    /// Why it is in its state, and what does not work although it flows: one line, empty where there is nothing to say.
    func reason(_ facts: Facts, at now: MonotonicTime) -> String {
        switch facts.lifecycle {
        case .stopped(let reason): return reason
        case .backingOff(let until): return Self.restart(at: until, after: lastEnd, now)
        case .running:
            var parts = troubles.filter { $0.trouble.output == nil }.map { Self.words($0.trouble, facts) }
            // A caller that was refused explains why there is no source. Other troubles are the reason themselves.
            if !facts.flow.isFlowing, troubles.allSatisfy({ $0.trouble.output != nil || $0.trouble.kind == .callerRefused }) {
                parts.insert(Self.absence(facts, now), at: 0)
            }
            let outputs = troubles.filter { $0.trouble.output != nil }
            parts += outputs.map { Self.words($0.trouble, facts) }
            return parts.joined(separator: "; ")
        case .waitingForWorker, .starting, .stopping:
            if let restart = facts.workerRestart { return Self.restart(at: restart, after: lastEnd, now) }
            return lastEnd.map { "it is started again: \($0)" } ?? ""
        }
    }

    /// Whether it works as far as this service can see to it. A source that has not come yet is no fault. One that has gone is,
    /// and so is what keeps an end from its peer for longer than ``grace``.
    func isGood(_ facts: Facts, at now: MonotonicTime) -> Bool {
        guard troubles.allSatisfy({ !$0.isFault || now - $0.since < Self.grace }) else { return false }
        switch state(facts) {
        case .flowing: return true
        case .waiting: return facts.flow.last == nil
        case .stopped: return isStoppedOnPurpose
        case .starting, .backingOff: return false
        }
    }

    private static func restart(at time: MonotonicTime, after end: String?, _ now: MonotonicTime) -> String {
        let wait = "it is started again in \(max(Int((time - now).seconds.rounded(.up)), 0)) s"
        return end.map { "\($0); \(wait)" } ?? wait
    }

    private static func absence(_ facts: Facts, _ now: MonotonicTime) -> String {
        if let last = facts.flow.last { return "no frame has come for \(Int((now - last).seconds)) s" }
        return facts.isInputConnected ? "a source is connected, and no picture has come yet" : "no source has come yet"
    }

    private static func words(_ trouble: StreamTrouble, _ facts: Facts) -> String {
        let end = trouble.output.map { facts.outputs > 1 || $0 > 0 ? "output \($0 + 1)" : "output" } ?? "input"
        let refused = trouble.kind == .callerRefused ? "the last caller was refused: " : ""
        return "\(end): \(refused)\(trouble.text)"
    }
}
