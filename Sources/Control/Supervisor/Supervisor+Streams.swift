import Foundation
import Logging
import Media
import Schedule
import ServiceConfiguration
import Settings
import Telemetry
import WorkerProtocol

// What the supervisor does with streams: makes them what the configuration and the API say.
extension Supervisor {
    /// Tells a stream's lifecycle what happened, and does what it says.
    func tell(_ stream: SupervisedStream, _ input: StreamLifecycle.Input) {
        let needed = stream.lifecycle.needsWorker
        for action in stream.lifecycle.handle(input, at: .now()) { perform(action, stream) }
        if needed != stream.lifecycle.needsWorker, let worker = workers[stream.worker] { updateNeed(of: worker) }
        setTimer()
    }

    private func perform(_ action: StreamLifecycle.Action, _ stream: SupervisedStream) {
        guard let worker = workers[stream.worker] else { return }
        switch action {
        case .start: startStream(stream, worker)
        case .stop:
            // What the worker was not told to start ends at once.
            guard worker.started.contains(stream.name) else { return tell(stream, .ended(code: 0, reason: "stopped")) }
            send(.stop(stream: stream.name), to: worker)
        case .backOff(let wait, _):
            stream.restarts += 1
            if wait > .zero { record(.backingOff, stream: stream.name, "it is started again in \(wait.seconds) s") }
        case .stopped(let reason):
            admission.forget(stream.name)
            record(.stopped, stream: stream.name, "it is not started again: \(reason)")
        }
    }

    func startStream(_ stream: SupervisedStream, _ worker: SupervisedWorker) {
        // A process that has opened what it needs gives up its rights. So a stream gets a new process, unless others are in it.
        if worker.hasStarted, streams(of: worker).count == 1 {
            return tell(worker, .replace)
        }
        // It is started when the one of its name has ended.
        if worker.leaving.contains(stream.name) { return }
        stream.starts += 1
        let (name, start, definition, configured) = (stream.name, stream.starts, stream.definition, stream.configured)
        let (folders, free) = (configuration.folders, freeFiles(of: stream))
        guard StreamFiles.areNeeded(for: definition) else { return begin(name, start, .success([])) }
        // A disk or a network file system may take its time.
        StageThread(name: "files") { [weak self, loop] in
            let files = Result { () throws(StreamFiles.Fault) in
                try StreamFiles.open(of: definition, configured: configured, free: free, below: folders)
            }
            loop.execute { [weak self] in self?.assumeIsolated { $0.begin(name, start, files) } }
        }.detach()
    }

    /// The files of settings that a stream has by the configuration file, and the usual font.
    private func freeFiles(of stream: SupervisedStream) -> Set<String> {
        let files = (stream.configured?.values.files ?? []) + configuration.defaults.files
        return Set(files.map(\.path) + StreamValues.usualFiles)
    }

    /// Opens all files that new settings name, on a thread of its own. Calls back in this actor.
    /// - Parameter opened: gets nothing where the changes name none.
    func openFiles(
        for changes: [String: String?], _ definition: StreamDefinition, of stream: SupervisedStream,
        _ opened: @escaping @Sendable (Result<[PassedDescriptor], ServiceFault>) -> Void
    ) {
        let files = definition.values.files
        guard !files.isEmpty, !StreamValues.fileKeys.isDisjoint(with: changes.keys) else { return opened(.success([])) }
        let (folders, free) = (configuration.folders, freeFiles(of: stream))
        StageThread(name: "files") { [loop] in
            let files = Result { () throws(ServiceFault) in try StreamFiles.open(files, free: free, below: folders) }
            loop.execute { opened(files) }
        }.detach()
    }

    /// Has the worker start a stream whose files are open.
    /// - Parameter start: the number of the attempt. Meanwhile there may have been another, or none is wanted any more.
    private func begin(_ name: String, _ start: Int, _ files: Result<[PassedDescriptor], StreamFiles.Fault>) {
        guard let stream = supervised[name], stream.starts == start, stream.lifecycle.state == .starting,
            let worker = workers[stream.worker], worker.isGreeted
        else { return }
        switch files {
        case .success(let files):
            worker.started.insert(name)
            worker.hasStarted = true
            var assignment = stream.definition.assignment
            assignment.callsPerSecond = configuration.limits.srtCalls
            send(
                .start(assignment), to: worker,
                descriptors: [stream.map.descriptor] + files.map(\.number))
            if supervised.count > 1 {
                let share = CoreSharing.first(on: capacity.cores, streams: supervised.count)
                send(.share(stream: name, dealt: share.dealt, optional: share.optional, room: share.room), to: worker)
            }
        case .failure(let fault):
            record(.ended, stream: name, fault.description)
            stream.condition.ended(fault.description)
            tell(stream, .ended(code: 69, reason: fault.description))
        }
    }

    // MARK: Definitions

    /// Makes the streams what a configuration says. Streams of the API stay, and what the API changed stays where the file has
    /// not changed.
    func apply(_ new: ServiceConfiguration) {
        configuration = new
        postponed = []
        let names = Set(new.streams.map(\.name))
        for stream in Array(supervised.values) where stream.configured != nil && !names.contains(stream.name) {
            remove(stream, "the configuration does not name it any more")
        }
        for definition in new.streams {
            if let stream = supervised[definition.name] {
                let isNews = stream.configured != definition
                if stream.configured == nil { giveWay(stream) }
                stream.configured = definition
                if isNews { redefine(stream, definition) }
            } else if configuredBefore[definition.name] != definition {
                if add(definition, configured: definition) != nil { postponed.append(definition) }
            }
        }
        configuredBefore = Dictionary(uniqueKeysWithValues: new.streams.map { ($0.name, $0) })
        regroup()
    }

    /// Tries again to add what could not be added.
    func addPostponed() {
        guard !postponed.isEmpty, !isEnding else { return }
        let before = postponed.count
        // One that the API added meanwhile has taken the name.
        postponed.removeAll { supervised[$0.name] != nil || add($0, configured: $0, isFirstTry: false) == nil }
        if postponed.count < before { regroup() }
    }

    /// Call ``regroup()`` afterwards.
    func add(_ definition: StreamDefinition, configured: StreamDefinition?, isFirstTry: Bool = true) -> ServiceFault? {
        do throws(TelemetryMapError) {
            let stream = SupervisedStream(definition, worker: 0, map: try surroundings.makeMap(definition.name))
            stream.configured = configured
            supervised[definition.name] = stream
            if let fault = surroundings.runtime?.publish(stream.name, map: stream.map.descriptor) {
                logger.warning(
                    "burnish top --stream will not find the stream: \(fault)", metadata: ["stream": "\(stream.name)"])
            }
            record(
                .added, stream: definition.name,
                "\(definition.input) to \(definition.outputs.map(\.description).joined(separator: ", "))")
            return nil
        } catch {
            if isFirstTry { record(.refused, stream: definition.name, "it cannot be added: \(error)") }
            return ServiceFault(.unavailable, "\(error)")
        }
    }

    func remove(_ stream: SupervisedStream, _ reason: String) {
        supervised[stream.name] = nil
        admission.forget(stream.name)
        surroundings.runtime?.withdraw(stream.name)
        record(.removed, stream: stream.name, reason)
        guard let worker = workers[stream.worker] else { return }
        stop(stream, in: worker)
        // Those that stay may all have been stopped for good.
        updateNeed(of: worker)
    }

    /// Stops a stream that does not belong to the worker any more. The worker goes on if others are in it.
    private func stop(_ stream: SupervisedStream, in worker: SupervisedWorker) {
        guard worker.started.remove(stream.name) != nil else { return }
        worker.leaving.insert(stream.name)
        send(.stop(stream: stream.name), to: worker)
    }

    /// Changes what may change while the stream runs, or restarts it.
    func redefine(_ stream: SupervisedStream, _ definition: StreamDefinition) {
        let difference = stream.definition.difference(to: definition)
        stream.definition = definition
        if difference.needsRestart {
            record(.changed, stream: stream.name, "restarts with another \(difference.restart.joined(separator: ", "))")
            self.restart(stream)
        } else if !difference.live.isEmpty {
            record(.changed, stream: stream.name, Self.words(difference.live))
            let (name, changes) = (stream.name, difference.live)
            openFiles(for: changes, definition, of: stream) { [weak self] files in
                self?.assumeIsolated { $0.tell(name, changes, files) }
            }
            restartIfStopped(stream)
        }
    }

    /// Tells a stream's worker of other settings. Nobody waits for the answer.
    private func tell(
        _ name: String, _ changes: [String: String?], _ files: Result<[PassedDescriptor], ServiceFault>
    ) {
        guard let stream = supervised[name], let worker = workers[stream.worker], worker.started.contains(name) else { return }
        switch files {
        case .success(let files):
            send(.change(id: 0, stream: name, settings: changes), to: worker, descriptors: files.map(\.number))
        case .failure(let fault):
            record(.message, stream: name, "settings stay as they were: \(fault.key ?? "files"): \(fault.text)")
        }
    }

    /// A stream that was stopped for good may work with other settings.
    func restartIfStopped(_ stream: SupervisedStream) {
        if stream.condition.isStoppedOnPurpose { return }
        if case .stopped = stream.lifecycle.state { restart(stream) }
    }

    static func words(_ changes: [String: String?]) -> String {
        changes.keys.sorted().map { "\($0) \((changes[$0] ?? nil) ?? "default")" }.joined(separator: ", ")
    }

    /// Restarts a stream: in a new process, unless others are in its worker.
    func restart(_ stream: SupervisedStream) {
        admission.forget(stream.name)
        stream.condition.beginAnew()
        guard let worker = workers[stream.worker] else { return }
        if streams(of: worker).count == 1, stream.lifecycle.state == .running || stream.lifecycle.state == .starting {
            tell(worker, .replace)
        } else {
            tell(stream, .restart)
            // Whoever asks for a restart does not want to wait for the next attempt.
            if case .backingOff = worker.lifecycle.state { tell(worker, .replace) }
        }
    }

    /// Starts a stream again with the least work: its pictures keep their size and nothing is synthesised.
    /// - Returns: false where it does the least already.
    func lower(_ stream: SupervisedStream, because figures: String) -> Bool {
        let least = ["scale": "1", "interpolate": "1", "fps": nil, "tier": "base"]
        guard
            let definition = try? configuration.stream(
                stream.definition, changedBy: least, beside: supervised.values.map(\.definition)),
            stream.definition.difference(to: definition).needsRestart
        else { return false }
        stream.definition = definition
        record(.changed, stream: stream.name, "starts again at its own size: \(figures)")
        restart(stream)
        return true
    }

    /// Gives every stream its worker.
    func regroup() {
        guard !isEnding else { return }
        let all = supervised.values.sorted { $0.name < $1.name }
        var current: [String: Int] = [:]
        for stream in all where workers[stream.worker] != nil { current[stream.name] = stream.worker }
        let assigned = WorkerGroups.assign(all.map { ($0.name, $0.definition.sharedPorts) }, current: current) {
            newWorker().number
        }
        var touched: Set<Int> = []
        for stream in all {
            guard let number = assigned[stream.name], number != stream.worker else { continue }
            let old = workers[stream.worker]
            touched.formUnion([stream.worker, number])
            if let old { stop(stream, in: old) }
            stream.worker = number
            tell(stream, .workerGone)
            if let worker = workers[number], worker.isGreeted { tell(stream, .workerReady) }
        }
        for number in touched.sorted() { workers[number].map(updateNeed) }
    }

    // MARK: What is seen from outside

    /// What a stream's condition follows from.
    func facts(of stream: SupervisedStream) -> StreamCondition.Facts {
        var facts = StreamCondition.Facts(lifecycle: stream.lifecycle.state)
        if case .backingOff(let until)? = workers[stream.worker]?.lifecycle.state { facts.workerRestart = until }
        facts.flow = stream.flow
        facts.isInputConnected = stream.isInputConnected
        facts.outputs = stream.definition.outputs.count
        return facts
    }

    func state(of stream: SupervisedStream) -> StreamStatus.State { stream.condition.state(facts(of: stream)) }
    func reason(of stream: SupervisedStream) -> String { stream.condition.reason(facts(of: stream), at: .now()) }

    func status(of stream: SupervisedStream) -> StreamStatus {
        let definition = stream.definition
        var status = StreamStatus(
            name: stream.name, state: state(of: stream),
            input: StreamDefinition.shown(definition.input, port: stream.inputPort),
            outputs: definition.outputs.enumerated().map { index, leg in
                StreamDefinition.shown(leg, port: index < stream.outputPorts.count ? stream.outputPorts[index] : nil)
            },
            settings: definition.values.allTexts)
        status.reason = reason(of: stream)
        status.ends = definition.ends(inputPort: stream.inputPort, outputPorts: stream.outputPorts)
        status.description = stream.description
        status.bitRateIn = stream.meters.bitRateIn
        status.frameRateIn = stream.meters.frameRateIn
        status.bitRatesOut = definition.outputs.indices.map { stream.meters.bitRateOut($0) }
        status.isFromFile = stream.configured != nil
        status.kept = stream.isKept ? keeper?.path : nil
        status.process = workers[stream.worker]?.process?.identifier
        status.restarts = stream.restarts
        status.startedAt = stream.startedAt
        return status
    }
}
