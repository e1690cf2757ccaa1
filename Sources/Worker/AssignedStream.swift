import Codec
import Endpoint
import Media
import Overlays
import Packets
import Relay
import SRT
import Schedule
import Settings
import Synchronization
import Telemetry
import WorkerProtocol

/// One stream of a worker, from its assignment to its end.
///
/// ``run()`` belongs to the stream's observer thread. Everything else comes from the control thread.
final class AssignedStream: Sendable {
    private struct State {
        var values: StreamValues
        /// Nil before both ends are open.
        var relay: Relay?
        /// What the supervisor has dealt before there was a relay.
        var share: Cores?
        /// At the last second.
        var rung: Rung?
        /// What the supervisor was told last; nil before that.
        var troubles: [StreamTrouble]?
        var callerRates = CallerRates()
        var descriptions = StreamDescriptions()
        var description: StreamDescription?
        /// Pictures pass as they came.
        var isBypassed = false
        var isStopping = false
        var isClosing = false
    }

    let name: String
    private let assignment: WorkerAssignment
    private let descriptors: [PassedDescriptor]
    private let control: WorkerChannel
    private let desk: (any CallDesk)?
    private let state = Lock(State(values: StreamValues()))
    let recordings: RecordingRequests

    init(
        _ assignment: WorkerAssignment, _ descriptors: [PassedDescriptor], _ control: WorkerChannel, _ desk: (any CallDesk)?
    ) {
        name = assignment.stream
        self.assignment = assignment
        self.descriptors = descriptors
        self.control = control
        self.desk = desk
        recordings = RecordingRequests(assignment.stream, control)
    }

    // MARK: The observer thread

    /// Opens both ends and relays until the stream ends.
    /// - Returns: how it ended, as ``WorkerMessage/ended(stream:code:reason:)`` says it. Its ends are closed then.
    func run() -> StreamEnd {
        defer {
            state.withLock { $0.relay = nil }
            desk?.close(name)
        }
        do throws(StreamEnd) {
            let relay = try open()
            guard begin(relay) else { return .stopped }
            control.send(
                .started(stream: name, inputPort: relay.inputPort, outputPorts: relay.outputPorts))
            do throws(RelayFailure) {
                _ = try relay.run { observe($0) }
            } catch {
                throw StreamEnd(error.reason)
            }
            return state.withLock { $0.isStopping } ? .stopped : .finished
        } catch {
            return error
        }
    }

    private func open() throws(StreamEnd) -> Relay {
        var configuration: RelayConfiguration
        do throws(SettingFault) {
            var values = try StreamValues(assignment.settings)
            state.withLock { $0.values = values }
            try readFiles(of: &values, descriptors)
            // Others may have been set meanwhile.
            state.withLock { [values] in $0.values.settings.steps.adoptFiles(of: values.settings.steps) }
            configuration = try RelayConfiguration(assignment, values, files: descriptors.dropFirst())
        } catch {
            throw StreamEnd(error)
        }
        configuration.telemetry = try openMap()
        configuration.openRecording = { [recordings] _ in recordings.next() }
        if let limit = assignment.callsPerSecond { CallerLimit.perSecond = limit }
        do throws(TransportError) {
            try desk?.open(name, &configuration)
            return try Relay(configuration)
        } catch {
            throw StreamEnd(.transport(error))
        }
    }

    /// Reads the files that settings name, from the last of some descriptors.
    private func readFiles(of values: inout StreamValues, _ descriptors: [PassedDescriptor]) throws(SettingFault) {
        let files = values.files
        let own = descriptors.suffix(files.count)
        do throws(FileSettingFault) {
            try values.settings.steps.readFiles(stream: name) { path, most throws(SmallFile.Fault) in
                guard own.count == files.count, let index = files.firstIndex(where: { $0.path == path }) else {
                    throw SmallFile.Fault("did not come with the settings")
                }
                return try SmallFile.read(descriptor: own[own.startIndex + index].number, most: most)
            }
        } catch {
            throw SettingFault(error.key, error.text)
        }
    }

    /// The stream's telemetry map, with what a worker before this one left there.
    private func openMap() throws(StreamEnd) -> TelemetryMap.Writer? {
        guard let descriptor = descriptors.first else { return nil }
        do throws(TelemetryMapError) {
            return try TelemetryMap.Writer(descriptor.number)
        } catch {
            guard error.kind == .otherVersion else {
                throw StreamEnd(code: SysExit.software, reason: "the telemetry map that burnishd passed: \(error)")
            }
            // Other figures than these nobody could read. The stream is worth more.
            control.send(
                .event(
                    stream: name,
                    StreamEvent(.message, "runs without figures, because burnishd is of another version: restart it (\(error))")
                ))
            return nil
        }
    }

    /// - Returns: false when the stream was stopped while its ends were opened.
    private func begin(_ relay: Relay) -> Bool {
        state.withLock { state in
            state.relay = relay
            // They may have changed meanwhile. Under the lock, so that the newest settings come last.
            relay.change(state.values.settings)
            if let share = state.share.take() { relay.use(share) }
            return !state.isStopping
        }
    }

    private func observe(_ observation: Observation) {
        switch observation {
        case .event(let event):
            let outputs = relay?.configuration.outputs ?? []
            control.send(.event(stream: name, StreamEvent(event, outputs: outputs)))
        case .second(let status):
            report(status.rung)
            report(status.troubles.prefix(StreamTrouble.most).map(StreamTrouble.init))
            describe(status)
            let callers = presentCallers
            state.withLock {
                $0.callerRates.observe(callers, at: .now())
                $0.isBypassed = status.isBypassed
            }
            endReactions()
        }
    }

    /// Says where the stream stands on the ladder when that has changed.
    private func report(_ rung: Rung?) {
        guard let rung else { return }
        let former = state.withLock { state in
            defer { state.rung = rung }
            return state.rung
        }
        guard rung != former else { return }
        control.send(.event(stream: name, StreamEvent(.rung, former.map { "\(rung.name), after \($0.name)" } ?? rung.name)))
    }

    /// Says what keeps the ends from their peers when that has changed. What was lost is said again.
    private func report(_ troubles: [StreamTrouble]) {
        guard state.withLock({ $0.troubles }) != troubles else { return }
        let isSent = control.send(.troubles(stream: name, troubles)) == .sent
        state.withLock { $0.troubles = isSent ? troubles : nil }
    }

    /// Says what the input is like when that has changed.
    private func describe(_ status: RelayStatus) {
        let (description, former) = state.withLock { state in
            let now = state.descriptions.describe(status.format, isBypassed: status.isBypassed, at: .now())
            return (now, state.description)
        }
        guard description != former else { return }
        let isSent = control.send(.described(stream: name, description)) == .sent
        state.withLock { $0.description = isSent ? description : nil }
    }

    // MARK: The control thread

    var relay: Relay? { state.withLock { $0.relay } }

    /// Ends the stream cleanly.
    func stop() {
        let relay = state.withLock { state in
            state.isStopping = true
            return state.relay
        }
        relay?.stop()
    }

    /// Begins to close both ends, without waiting for what is still on its way.
    func beginClosing() {
        stop()
        relay?.beginClosing()
    }

    /// Closes both ends: the peers know of it when this returns.
    func close() {
        desk?.close(name)
        relay?.close()
    }

    /// Changes settings between two frames.
    /// - Parameters: as ``SupervisorMessage/change(id:stream:settings:)`` has them.
    /// - Returns: why nothing was changed; nil when all was.
    func change(_ changes: [String: String?], _ descriptors: [PassedDescriptor]) -> String? {
        state.withLock { state in
            do throws(SettingFault) {
                var new = try state.values.applying(changes)
                if !StreamValues.fileKeys.isDisjoint(with: changes.keys) { try readFiles(of: &new, descriptors) }
                let difference = state.values.difference(to: new)
                if let key = difference.restart.first {
                    throw SettingFault(key, "holds for as long as the stream runs: restart the stream")
                }
                state.values = new
                state.relay?.change(new.settings)
                return nil
            } catch {
                return "\(error.key): \(error.text)"
            }
        }
    }

    /// Lets a reaction fly over the pictures.
    /// - Returns: why it does not; nil where it does.
    func react(_ asked: StreamReaction) -> String? {
        guard let kind = Reaction.Kind(rawValue: asked.kind), Reaction.lengths.contains(asked.seconds) else {
            return "there is no such reaction"
        }
        let now = MonotonicTime.now()
        let fault: String? = state.withLock { state in
            guard state.values.settings.allowsReactions else { return "reactions are off: set reactions, as on" }
            guard !state.isBypassed else { return "the pictures pass as they came: nothing flies over them" }
            var running = state.values.settings.steps.reactions.filter { $0.ends > now }
            guard running.count < Reaction.most else { return "\(Reaction.most) reactions run: wait until one has ended" }
            running.append(
                Reaction(
                    kind, x: asked.x, y: asked.y, length: .seconds(asked.seconds), begins: now,
                    seed: UInt64(bitPattern: now.nanoseconds)))
            state.values.settings.steps.reactions = running
            state.relay?.change(state.values.settings)
            return nil
        }
        if fault == nil { control.send(.event(stream: name, StreamEvent(.reaction, "\(kind.rawValue) begins", isUsual: true))) }
        return fault
    }

    /// Takes away the reactions that have ended.
    private func endReactions() {
        let now = MonotonicTime.now()
        let ended: [Reaction] = state.withLock { state in
            let all = state.values.settings.steps.reactions
            let ended = all.filter { $0.ends <= now }
            guard !ended.isEmpty else { return [] }
            state.values.settings.steps.reactions = all.filter { $0.ends > now }
            state.relay?.change(state.values.settings)
            return ended
        }
        for reaction in ended {
            control.send(.event(stream: name, StreamEvent(.reaction, "\(reaction.kind.rawValue) ends", isUsual: true)))
        }
    }

    /// A stage that has not turned for so long is stalled. The longest work on one frame is far shorter.
    private static let stallLimit = Nanoseconds.seconds(2)

    /// The names of the stages that are stalled.
    var stalledStages: [String] { relay?.stalledStages(limit: Self.stallLimit).map(\.rawValue) ?? [] }

    /// Sets the cores that the stream may count on.
    /// - Parameters:
    ///   - dealt: for its originals.
    ///   - optional: for optional work, on average.
    ///   - room: for its originals, when its output becomes larger.
    func share(dealt: Double, optional: Double, room: Double) {
        let cores = Cores(dealt: max(0, dealt), spare: max(0, dealt), optional: max(0, optional), room: max(0, room))
        state.withLock { state in
            if let relay = state.relay { relay.use(cores) } else { state.share = cores }
        }
    }

    /// Ends one connection. One that is over already is no fault.
    func kick(_ caller: UInt64, seconds: Double) {
        // No longer than a year, so that no sum overflows. NaN is no time at all.
        let time = min(max(seconds, 0), 31_536_000)
        _ = relay?.kick(caller, for: time.isNaN ? .zero : .seconds(time))
    }

    /// The present connections of all ends, with what they carry.
    var callers: [Caller] {
        let callers = presentCallers
        return state.withLock { state in callers.map { state.callerRates.rated($0) } }
    }

    private var presentCallers: [Caller] {
        guard let relay else { return [] }
        let peers = relay.inputPeers.map { Caller($0, .input) } + relay.outputPeers.map { Caller($0, .output) }
        let calls = (desk?.callers(of: name) ?? []).map { call in
            guard call.leg == .input else { return call }
            // One publishes at a time, so the input's figures are theirs.
            var call = call
            call.figures = relay.inputStatistics
            return call
        }
        return Array((peers + calls).prefix(Caller.mostOfStream))
    }

    /// Writes a picture of the next frame into a file, as JPEG.
    /// - Parameter answer: called once, on any thread, with the number of bytes, or 0 and why there will be no picture; no reason where
    ///   there only is none now.
    func showPicture(
        _ side: PictureSide, width: Int, in descriptor: PassedDescriptor, answer: @escaping @Sendable (Int, String?) -> Void
    ) {
        guard let relay else { return answer(0, nil) }
        relay.requestPicture(side == .before ? .before : .after, width: width) { result in
            switch result {
            case .failure(let fault): answer(0, fault.mayPass ? nil : fault.description)
            case .success(let picture):
                let fault = descriptor.write(picture.jpeg)
                answer(fault == nil ? picture.jpeg.count : 0, fault)
            }
        }
    }
}

extension Caller {
    init(_ peer: ConnectedPeer, _ leg: Leg) {
        self.init(
            id: peer.id, leg: leg, peer: peer.peer, streamID: String(peer.streamID.prefix(Self.longestStreamID)),
            connectedAt: peer.connectedAt.nanoseconds)
        figures = peer.statistics
    }
}

/// How a stream ended.
struct StreamEnd: Error, Hashable {
    /// An exit code of sysexits.h.
    var code: Int32
    var reason: String

    static let stopped = StreamEnd(code: SysExit.ok, reason: "stopped")
    static let finished = StreamEnd(code: SysExit.ok, reason: "the input has ended")

    init(code: Int32, reason: String) {
        self.code = code
        self.reason = reason
    }

    init(_ fault: SettingFault) { self.init(code: SysExit.badConfiguration, reason: "\(fault.key): \(fault.text)") }

    init(_ error: RelayError) {
        let code =
            switch error {
            case .transport(let error):
                switch error.code {
                case .badURL: SysExit.badConfiguration
                case .system: SysExit.software
                default: SysExit.unavailable
                }
            case .codec(let error):
                switch error.kind {
                case .cannotOpen, .writeFailed: SysExit.unavailable
                case .noVideo, .invalidData, .unsupportedFormat, .unsupportedCodec: SysExit.badInput
                case .outOfMemory, .library: SysExit.software
                }
            case .input: SysExit.badInput
            }
        self.init(code: code, reason: error.description)
    }
}
