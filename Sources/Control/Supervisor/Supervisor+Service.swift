import Foundation
import Logging
import Machine
import Media
import Schedule
import ServiceConfiguration
import ServiceLifecycle
import Settings
import Telemetry
import WorkerProtocol

extension Supervisor: StreamService {
    public func streams() -> [StreamStatus] { supervised.values.sorted { $0.name < $1.name }.map(status) }

    public func stream(_ name: String) throws(ServiceFault) -> StreamStatus { status(of: try find(name)) }

    func find(_ name: String) throws(ServiceFault) -> SupervisedStream {
        guard let stream = supervised[name] else { throw ServiceFault(.notFound, "there is no stream of this name") }
        return stream
    }

    func worker(of stream: SupervisedStream) throws(ServiceFault) -> SupervisedWorker {
        guard let worker = workers[stream.worker], worker.started.contains(stream.name) else {
            throw ServiceFault(.unavailable, "the stream does not run: \(state(of: stream).rawValue)")
        }
        return worker
    }

    public func add(_ name: String, _ values: [String: String]) async throws(ServiceFault) -> StreamStatus {
        guard !isEnding else { throw ServiceFault(.unavailable, "the service ends") }
        guard supervised[name] == nil else {
            throw ServiceFault(.exists, "there is a stream of this name already: change or remove it")
        }
        guard supervised.count < configuration.limits.streams else {
            throw ServiceFault(.noRoom, "there are \(supervised.count) streams already, as many as limits.streams allows")
        }
        if configuration.admission == .refuse, let fullness = admission.fullness(capacity) {
            throw ServiceFault(.noRoom, "the machine is full: \(fullness); remove a stream or make one smaller")
        }
        let definition: StreamDefinition
        do throws(SettingFault) {
            definition = try configuration.stream(name, values, beside: supervised.values.map(\.definition))
        } catch {
            throw ServiceFault(.invalid, key: error.key, error.text)
        }
        if let fault = add(definition, configured: nil) { throw fault }
        regroup()
        let stream = try find(name)
        stream.given = Set(values.keys.filter { StreamKeys.named($0) != nil })
        await keep()
        return status(of: stream)
    }

    public func change(
        _ name: String, _ values: [String: String?], restarting: Bool
    ) async throws(ServiceFault) -> StreamStatus {
        let stream = try find(name)
        let definition: StreamDefinition
        do throws(SettingFault) {
            definition = try configuration.stream(
                stream.definition, changedBy: values, beside: supervised.values.map(\.definition))
        } catch {
            throw ServiceFault(.invalid, key: error.key, error.text)
        }
        let difference = stream.definition.difference(to: definition)
        if let key = difference.restart.first {
            guard restarting else {
                throw ServiceFault(
                    .refused, key: key, "can only change by a restart of the stream: ask again with ?restart=true")
            }
            stream.definition = definition
            stream.note(given: values)
            let keys = (difference.restart + difference.live.keys.sorted()).joined(separator: ", ")
            record(.changed, stream: name, "restarts with another \(keys)")
            regroup()
            restart(stream)
        } else if !difference.live.isEmpty {
            try await change(stream, definition, difference.live)
            stream.note(given: values)
        }
        if stream.configured == nil, !difference.isEmpty { await keep() }
        return status(of: stream)
    }

    /// Changes settings of a running stream. They hold when this returns.
    private func change(
        _ stream: SupervisedStream, _ definition: StreamDefinition, _ changes: [String: String?]
    ) async throws(ServiceFault) {
        let files = try await withCheckedContinuation { waiter in
            openFiles(for: changes, definition, of: stream) { waiter.resume(returning: $0) }
        }.get()
        if let worker = workers[stream.worker], worker.started.contains(stream.name) {
            let result = await withCheckedContinuation { (waiter: PendingRequests.Waiter<Void>) in
                guard let id = requests.addChange(waiter, worker: worker.number, now: .now()) else { return }
                send(.change(id: id, stream: stream.name, settings: changes), to: worker, descriptors: files.map(\.number))
                setTimer()
            }
            try result.get()
        }
        // The stream may have been changed or removed meanwhile.
        guard supervised[stream.name] === stream else { return }
        let others = supervised.values.map(\.definition)
        stream.definition = (try? configuration.stream(stream.definition, changedBy: changes, beside: others)) ?? definition
        record(.changed, stream: stream.name, Self.words(changes))
        restartIfStopped(stream)
    }

    public func remove(_ name: String) async throws(ServiceFault) {
        let stream = try find(name)
        let wasKept = stream.configured == nil || leftOut.contains { $0.name == name }
        leftOut.removeAll { $0.name == name }
        remove(stream, "it was removed by the API")
        if wasKept { await keep() }
    }

    public func restart(_ name: String) async throws(ServiceFault) {
        let stream = try find(name)
        record(.restarted, stream: name, "a restart was asked for")
        let wasStopped = stream.condition.isStoppedOnPurpose
        restart(stream)
        if wasStopped, stream.configured == nil { await keep() }
    }

    public func stop(_ name: String) async throws(ServiceFault) -> StreamStatus {
        let stream = try find(name)
        if !stream.condition.isStoppedOnPurpose {
            record(.stopped, stream: name, "it was stopped by the API", isUsual: true)
            stopOnPurpose(stream)
            if stream.configured == nil { await keep() }
        }
        return status(of: stream)
    }

    public func callers(of name: String) async throws(ServiceFault) -> [CallerStatus] {
        let stream = try find(name)
        // A stream that does not run has none.
        guard let worker = workers[stream.worker], worker.started.contains(name) else { return [] }
        let result = await withCheckedContinuation { (waiter: PendingRequests.Waiter<[Caller]>) in
            guard let id = requests.addCallers(waiter, worker: worker.number, now: .now()) else { return }
            send(.listCallers(id: id, stream: name), to: worker)
            setTimer()
        }
        let freezes = calls.freezes(of: name)
        return try result.get().map { caller in
            var status = CallerStatus(caller)
            if caller.id >= Caller.firstCall { status.freezes = freezes[caller.id - Caller.firstCall] }
            return status
        }
    }

    public func kick(_ caller: UInt64, of name: String) async throws(ServiceFault) {
        guard let known = try await callers(of: name).first(where: { $0.id == caller }) else {
            throw ServiceFault(.notFound, "the stream has no caller of this number")
        }
        let worker = try worker(of: try find(name))
        record(.message, stream: name, "\(known.peer) is disconnected, as the API asked for")
        guard caller < Caller.firstCall else { return send(.hangUp(id: caller - Caller.firstCall), to: worker) }
        send(.kick(stream: name, caller: caller, seconds: Self.kickSeconds), to: worker)
    }

    /// How long a caller that was disconnected is kept out.
    private static let kickSeconds = 60.0

    public nonisolated func snapshot(of name: String) async throws(ServiceFault) -> StreamSnapshot? {
        try await map(of: name).reader.snapshot()
    }

    public nonisolated func records(of name: String, last seconds: Double) async throws(ServiceFault) -> [ClosedFrame] {
        try await map(of: name).reader.records(lastSeconds: seconds).frames
    }

    public func history(of name: String, last seconds: Double) throws(ServiceFault) -> [HistorySample] {
        try find(name).history.samples(last: seconds)
    }

    private func map(of name: String) throws(ServiceFault) -> StreamMap { try find(name).map }

    /// The largest picture, in bytes.
    private static let largestPicture = 4 << 20

    public func picture(of name: String, side: PictureSide, width: Int) async throws(ServiceFault) -> [UInt8]? {
        let stream = try find(name)
        guard let worker = workers[stream.worker], worker.started.contains(name) else { return nil }
        guard let number = MemoryFile.create(name: "burnish-picture", byteCount: Self.largestPicture) else {
            throw ServiceFault(.unavailable, "there is no memory for a picture")
        }
        let memory = PassedDescriptor(owning: number)
        let result = await withCheckedContinuation { (waiter: PendingRequests.Waiter<Int>) in
            guard let id = requests.addPicture(waiter, worker: worker.number, now: .now()) else { return }
            send(.showPicture(id: id, stream: name, side: side, width: width), to: worker, descriptors: [number])
            setTimer()
        }
        let count = try result.get()
        if count == 0 { return nil }
        guard (1...Self.largestPicture).contains(count) else { throw ServiceFault(.unavailable, "the worker gave no picture") }
        var bytes = [UInt8](repeating: 0, count: count)
        guard unsafe pread(memory.number, &bytes, count, 0) == count else {
            throw ServiceFault(.unavailable, "the picture cannot be read")
        }
        return bytes
    }

    public nonisolated func events(since number: UInt64) -> AsyncStream<ServiceEvent> { events.events(since: number) }

    public func answer() {}

    public func health() -> ServiceHealth {
        var health = ServiceHealth()
        health.lastReloadWasGood = lastReload.isGood
        health.lastReload = lastReload.time
        health.cores = capacity.cores
        health.deferred = deferredFigures
        health.rooms = rooms()
        health.coresUsed = workers.values.reduce(0) { $0 + $1.usage.cores }
        health.checks.append(
            ServiceHealth.Check(
                "configuration", isGood: lastReload.isGood,
                lastReload.isGood ? "the last reload was good" : "the last reload failed: \(lastReload.reason)"))
        let now = MonotonicTime.now()
        for stream in supervised.values.sorted(by: { $0.name < $1.name }) {
            health.coresNeeded += stream.coresNeeded
            let facts = facts(of: stream)
            let reason = stream.condition.reason(facts, at: now)
            let state = stream.condition.state(facts).rawValue
            health.checks.append(
                ServiceHealth.Check(
                    "stream \(stream.name)", isGood: stream.condition.isGood(facts, at: now),
                    reason.isEmpty ? state : "\(state): \(reason)", counts: stream.configured != nil))
        }
        return health
    }

    public func reload() async throws(ServiceFault) {
        // One after the other: the file that was read last must be the one that is applied last.
        await reloadTurn.begin()
        defer { reloadTurn.end() }
        guard !isEnding else { throw ServiceFault(.unavailable, "the service ends") }
        manager.isReloading()
        defer { manager.isReady(status: statusLine) }
        let loaded: ServiceConfiguration
        do throws(ConfigurationFaults) {
            loaded = try await surroundings.load()
        } catch {
            let more = error.faults.count > 1 ? " (and \(error.faults.count - 1) more)" : ""
            throw refuseReload((error.faults.first.map(Self.words) ?? "it cannot be read") + more)
        }
        guard !isEnding else { throw ServiceFault(.unavailable, "the service ends") }
        do throws(ServiceFault) {
            try follow?(loaded)
        } catch {
            throw refuseReload(error.text)
        }
        let difference = configuration.difference(to: loaded)
        apply(loaded)
        lastReload = ReloadOutcome(isGood: true, time: Date().timeIntervalSince1970)
        lastReload.reason = Self.words(difference)
        record(.reloaded, lastReload.reason)
        let later = difference.service.filter(\.needsRestart).map(\.path)
        if !later.isEmpty {
            logger.warning("\(later.joined(separator: ", ")): the new value holds after the next start of the service")
        }
    }

    /// Each stream that does not work, with its reason.
    private var troubles: [String] {
        let now = MonotonicTime.now()
        return supervised.values.sorted { $0.name < $1.name }.compactMap { stream in
            let facts = facts(of: stream)
            let reason = stream.condition.reason(facts, at: now)
            let isAtWork = stream.condition.state(facts) == .flowing || stream.condition.state(facts) == .waiting
            // That no source has come yet is no news after a reload.
            let isNews = stream.condition.hasTroubles || !isAtWork
            return isNews && !reason.isEmpty ? "stream \(stream.name): \(reason)" : nil
        }
    }

    /// Waits until it is known of each stream whether it works, but not for long.
    private func settled() async {
        let due = MonotonicTime.now() + Self.settlingTime
        await withCheckedContinuation { waiter in
            settlers.append((due, waiter))
            settle()
        }
    }

    private func refuseReload(_ reason: String) -> ServiceFault {
        lastReload = ReloadOutcome(isGood: false, time: Date().timeIntervalSince1970, reason: reason)
        record(.reloadFailed, "the configuration has faults, so the old one stays: \(reason)")
        return ServiceFault(.invalid, "the configuration has faults, so the old one stays: \(reason)")
    }

    private static func words(_ fault: ConfigurationFault) -> String {
        "line \(fault.line): " + (fault.key.isEmpty ? fault.text : "\(fault.key): \(fault.text)")
    }

    private static func words(_ difference: ConfigurationDifference) -> String {
        let parts = [
            (difference.added.count, "added"), (difference.removed.count, "removed"), (difference.live.count, "changed"),
            (difference.restarted.count, "restarted"),
        ]
        let words = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "the configuration was read again: " + (words.isEmpty ? "no stream changed" : "streams: " + words)
    }
}

extension SupervisedStream {
    /// Remembers which settings the API has given.
    fileprivate func note(given values: [String: String?]) {
        for (key, value) in values where StreamKeys.named(key) != nil {
            if value == nil { given.remove(key) } else { given.insert(key) }
        }
    }
}

extension Supervisor: Service {
    /// Starts the streams, and ends them when the service is to end.
    public func run() async throws {
        surroundings.runtime?.socket.start(on: loop) { [weak self] request in
            await self?.answer(request) ?? ControlSocket.Answer(isGood: false, text: "the service ends")
        }
        start()
        manager.isReady(status: statusLine)
        try? await gracefulShutdown()
        manager.isStopping()
        surroundings.runtime?.socket.stop()
        await end()
    }

    func answer(_ request: String) async -> ControlSocket.Answer {
        switch request {
        case "hello": return ControlSocket.Answer(isGood: true, text: statusLine)
        case "reload":
            do throws(ServiceFault) {
                try await reload()
                await settled()
                return ControlSocket.Answer(isGood: true, text: ([lastReload.reason] + troubles).joined(separator: "\n"))
            } catch {
                return ControlSocket.Answer(isGood: false, text: error.text)
            }
        default:
            return await capture(request) ?? ControlSocket.Answer(isGood: false, text: "the service does not know this request")
        }
    }
}

extension CallerStatus {
    init(_ caller: Caller) {
        var figures = caller.figures
        (figures.isConnected, figures.connections) = (true, 1)
        self.init(
            id: caller.id, leg: caller.leg.rawValue, transport: caller.transport.rawValue, peer: Supervisor.line(caller.peer),
            streamID: Supervisor.line(caller.streamID),
            figures: figures)
        // The worker's word is not trusted: a time or a share that cannot be is none.
        let now = MonotonicTime.now()
        if (0...now.nanoseconds).contains(caller.connectedAt) {
            connectedAt = MonotonicTime(nanoseconds: caller.connectedAt)
            since = Date().timeIntervalSince1970 - Double(now.nanoseconds - caller.connectedAt) / 1e9
        }
        bitRate = caller.bitRate.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
        loss = caller.loss.flatMap { (0...1).contains($0) ? $0 : nil }
        layer = caller.layer
        capacity = caller.capacity.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
    }
}
