import Media
import Packets
import Synchronization
import WorkerProtocol

/// The worker process: runs the streams that a supervisor assigns to it over a socket pair.
///
/// ``run()`` belongs to the process's control thread. Each stream has an observer thread and its stages beside it, so that no
/// message of the supervisor ever holds up a frame.
public final class Worker: Sendable {
    private struct State {
        var streams: [String: AssignedStream] = [:]
        /// The streams' observer threads, by numbers that are given out once, and those that have nothing left to do.
        var threads: [Int: StageThread] = [:]
        var newestThread = 0
        var endedThreads: [Int] = []
        var isEnding = false
    }

    private let control: WorkerChannel
    private let names: SupervisorNames
    private let desk: (any CallDesk)?
    private let state = Lock(State())

    /// - Parameter desk: answers WebRTC offers; without one they are refused.
    public init(control: WorkerChannel, desk: (any CallDesk)? = nil) {
        self.control = control
        self.desk = desk
        names = SupervisorNames(control)
        desk?.onEnd { control.send(.endedCall(id: $0)) }
        desk?.onEvent { control.send(.event(stream: $0, $1)) }
    }

    /// From now on the supervisor looks up all names for this process.
    public func resolveNames() { NameResolution.use(names) }

    /// Does what the supervisor says until it says that all is to end, or is gone.
    ///
    /// When the supervisor is gone, all legs are closed when this returns: peers know it, and ports are free as soon as the
    /// process has ended. The caller ends the process then.
    /// - Returns: the process's exit code (sysexits.h), with a line that says why if it is not 0.
    public func run() -> (code: Int32, fault: String?) {
        control.send(.hello(version: MessageCoding.version))
        if let fault = awaitHello() { return (SysExit.software, fault) }
        while true {
            joinEnded()
            if state.withLock({ $0.isEnding && $0.streams.isEmpty }) {
                sendRest()
                return (SysExit.ok, nil)
            }
            switch control.receive(until: nil) {
            case .message(let message, let descriptors): follow(message, descriptors)
            case .malformed(let fault):
                closeLegs()
                return (SysExit.software, "the supervisor's message is wrong: \(fault)")
            case .closed:
                closeLegs()
                return (SysExit.ok, nil)
            case nil: break  // a stream has ended
            }
        }
    }

    /// Ends all streams cleanly, and then ``run()``. Thread-safe.
    public func end() {
        let streams = state.withLock { state in
            state.isEnding = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.stop() }
        control.wake()
    }

    /// Closes all legs and ends ``run()``, as when the supervisor is gone. So a supervisor that did not ask for the end sees one
    /// that it has to make good, and starts another worker. Thread-safe.
    public func interrupt() { control.close() }

    /// Waits until the threads of all streams have ended. Call it after ``run()``, where the process goes on.
    public func join() {
        let threads = state.withLock { state in
            defer { state.threads = [:] }
            return Array(state.threads.values)
        }
        for thread in threads { thread.join() }
    }

    /// Frees the threads of streams that have ended.
    private func joinEnded() {
        let threads = state.withLock { state in
            defer { state.endedThreads = [] }
            return state.endedThreads.compactMap { state.threads.removeValue(forKey: $0) }
        }
        for thread in threads { thread.join() }
    }

    /// Waits until the supervisor has the last messages, but not for long.
    private func sendRest() {
        let limit = MonotonicTime.now() + .seconds(1)
        while control.hasBacklog, .now() < limit, case .message = control.receive(until: limit) {}
    }

    /// - Returns: why the supervisor cannot be worked for; nil when it can.
    private func awaitHello() -> String? {
        switch control.receive(until: nil) {
        case .message(.hello(let version), _): MessageCoding.fault(ofVersion: version)
        case .message, .malformed: "the supervisor's first message is no hello"
        // The loop sees the end again.
        case .closed, nil: nil
        }
    }

    private func follow(_ message: SupervisorMessage, _ descriptors: [PassedDescriptor]) {
        switch message {
        case .hello: break
        case .start(let assignment): start(assignment, descriptors)
        case .change(let id, let name, let settings):
            let fault = if let stream = stream(name) { stream.change(settings, descriptors) } else { Self.unknown(name) }
            control.send(.changed(id: id, fault: fault))
            if let fault, id == 0 {
                // Nobody waits for the answer.
                control.send(.event(stream: name, StreamEvent(.message, "settings stay as they were: \(fault)")))
            } else if fault == nil {
                let words = settings.keys.sorted().map { "\($0) \((settings[$0] ?? nil) ?? "default")" }
                control.send(.event(stream: name, StreamEvent(.settings, "in force: " + words.joined(separator: ", "))))
            }
        case .stop(let name): stream(name)?.stop()
        case .kick(let name, let caller, let seconds): stream(name)?.kick(caller, seconds: seconds)
        case .listCallers(let id, let name): list(stream(name)?.callers ?? [], id)
        case .resolved(let id, let addresses, let fault): names.receive(id, addresses, fault: fault)
        case .showPicture(let id, let name, let side, let width):
            let answer = control
            guard let stream = stream(name), let descriptor = descriptors.first else {
                control.send(.picture(id: id, byteCount: 0, fault: Self.unknown(name)))
                return
            }
            stream.showPicture(side, width: width, in: descriptor) { count, fault in
                answer.send(.picture(id: id, byteCount: count, fault: fault))
            }
        case .showPast(let id, let name, let side, let place, let format, let width, let keepsUnits):
            let answer = control
            guard let stream = stream(name), let descriptor = descriptors.first, !keepsUnits || descriptors.count > 1 else {
                control.send(.refusedPast(id: id, PastRefusal(.busy, Self.unknown(name))))
                return
            }
            let units = keepsUnits ? descriptors[1] : nil
            stream.showPast(side, place, format, width: width, in: descriptor, units: units) { result in
                switch result {
                case .success(let still): answer.send(.still(id: id, byteCount: still.byteCount, frame: still.frame))
                case .failure(let refusal): answer.send(.refusedPast(id: id, refusal))
                }
            }
        case .cutClip(let id, let name, let from, let to, let format, let ofInput):
            let answer = control
            guard let stream = stream(name), let descriptor = descriptors.first else {
                control.send(.refusedPast(id: id, PastRefusal(.busy, Self.unknown(name))))
                return
            }
            stream.cutClip(id, from: from, to: to, format, ofInput: ofInput, into: descriptor, answer)
        case .react(let id, let name, let reaction):
            control.send(.changed(id: id, fault: stream(name).map { $0.react(reaction) } ?? Self.unknown(name)))
        case .recording(let id, let name, let path, let fault):
            stream(name)?.recordings.receive(id, path, descriptors.first, fault: fault)
        case .share(let name, let dealt, let optional, let room):
            stream(name)?.share(dealt: dealt, optional: optional, room: room)
        case .offer(let id, let name, let side, let description, let takesOver, let layer, let profile):
            offer(
                OfferedCall(
                    number: id, stream: name, side: side, description: description, takesOver: takesOver, layer: layer,
                    profile: profile))
        case .restartCall(let id, let call, let userFragment, let password):
            restart(RestartedCall(number: call, userFragment: userFragment, password: password), id)
        case .chooseLayer(let call, let layer): desk?.choose(layer, forCall: call)
        case .hangUp(let id): desk?.hangUp(id)
        case .ping(let id): control.send(.alive(id: id, stalled: stalledStages))
        case .end: end()
        }
    }

    /// Sends a list of callers in parts, each of which is one message.
    private func list(_ callers: [Caller], _ id: UInt64) {
        var rest = callers[...]
        repeat {
            let part = rest.prefix(Caller.most)
            rest = rest.dropFirst(Caller.most)
            control.send(.callers(id: id, Array(part), isLast: rest.isEmpty))
        } while !rest.isEmpty
    }

    private func offer(_ offer: OfferedCall) {
        let control = control
        func refuse(_ text: String) {
            control.send(.refusedCall(id: offer.number, CallRefusal(.unavailable, text)))
        }
        guard stream(offer.stream) != nil else { return refuse(Self.unknown(offer.stream)) }
        guard let desk else { return refuse(Self.noDesk) }
        desk.answer(offer) { control.send(Self.reply(offer.number, $0)) }
    }

    private func restart(_ call: RestartedCall, _ id: UInt64) {
        let control = control
        guard let desk else {
            control.send(.refusedCall(id: id, CallRefusal(.unavailable, Self.noDesk)))
            return
        }
        desk.restart(call) { control.send(Self.reply(id, $0)) }
    }

    private static let noDesk = "this worker answers no calls"

    private static func reply(_ id: UInt64, _ result: Result<String, CallRefusal>) -> WorkerMessage {
        switch result {
        case .success(let description): .answered(id: id, description: description)
        case .failure(let refusal): .refusedCall(id: id, refusal)
        }
    }

    private func stream(_ name: String) -> AssignedStream? { state.withLock { $0.streams[name] } }

    private static func unknown(_ name: String) -> String { "no stream \(name) runs in this worker" }

    private var stalledStages: [String] {
        let streams = state.withLock { Array($0.streams.values) }
        return streams.flatMap { stream in stream.stalledStages.map { "\(stream.name)/\($0)" } }.sorted()
    }

    private func start(_ assignment: WorkerAssignment, _ descriptors: [PassedDescriptor]) {
        let name = assignment.stream
        let stream = AssignedStream(assignment, descriptors, control, desk)
        let isNew = state.withLock { state in
            guard !state.isEnding, state.streams[name] == nil else { return false }
            state.streams[name] = stream
            return true
        }
        guard isNew else {
            let text = "the stream was not started: one of this name runs already, or the worker is ending"
            control.send(.event(stream: name, StreamEvent(.message, text)))
            return
        }
        let number = state.withLock { state in
            state.newestThread += 1
            return state.newestThread
        }
        let thread = StageThread(name: "observer") { [self] in
            let end = stream.run()
            // The supervisor may start a stream of this name as soon as it hears of the end.
            state.withLock { $0.streams[name] = nil }
            control.send(.ended(stream: name, code: end.code, reason: end.reason))
            state.withLock { $0.endedThreads.append(number) }
            control.wake()
        }
        state.withLock { $0.threads[number] = thread }
    }

    /// Tells every peer that the connection is over, without waiting for what is still on its way.
    private func closeLegs() {
        let streams = state.withLock { state in
            state.isEnding = true
            return Array(state.streams.values)
        }
        // All at once, then the wait for all.
        for stream in streams { stream.beginClosing() }
        for stream in streams { stream.close() }
    }
}

/// Exit codes of sysexits.h.
public enum SysExit {
    public static let ok: Int32 = 0
    public static let badInput: Int32 = 65
    public static let unavailable: Int32 = 69
    public static let software: Int32 = 70
    public static let badConfiguration: Int32 = 78
}
