import Glibc
import Logging
import Media
import ServiceConfiguration
import WorkerProtocol

// What the supervisor does with processes, and what it hears from them.
extension Supervisor {
    /// Messages a second from one worker. More are an attack or a defect.
    private static let mostMessages = 5000
    /// Messages that are read before others have their turn.
    private static let messagesAtOnce = 64

    /// Tells a worker's lifecycle what happened, and does what it says.
    func tell(_ worker: SupervisedWorker, _ input: WorkerLifecycle.Input) {
        worker.inputs.append(input)
        // What an action leads to waits until the actions before it are done.
        guard !worker.isTelling else { return }
        worker.isTelling = true
        while !worker.inputs.isEmpty {
            for action in worker.lifecycle.handle(worker.inputs.removeFirst(), at: .now()) { perform(action, worker) }
        }
        worker.isTelling = false
        if worker.lifecycle.state == .absent, !supervised.values.contains(where: { $0.worker == worker.number }) || isEnding {
            workers[worker.number] = nil
            workerLeft()
        }
        setTimer()
    }

    private func perform(_ action: WorkerLifecycle.Action, _ worker: SupervisedWorker) {
        switch action {
        case .start: startProcess(of: worker)
        case .ping(let id): send(.ping(id: id), to: worker)
        case .end: send(.end, to: worker)
        case .signal(let number): worker.process?.signal(number)
        case .crashed(let reason): crashed(worker, reason)
        case .ended: leave(worker)
        case .backOff(let wait):
            for stream in streams(of: worker) {
                record(.backingOff, stream: stream.name, "the worker is started again in \(wait.seconds) s")
            }
        }
    }

    func streams(of worker: SupervisedWorker) -> [SupervisedStream] {
        supervised.values.filter { $0.worker == worker.number }.sorted { $0.name < $1.name }
    }

    /// Whether a worker is wanted follows from its streams.
    func updateNeed(of worker: SupervisedWorker) {
        let isWanted = !isEnding && supervised.values.contains { $0.worker == worker.number && $0.lifecycle.needsWorker }
        tell(worker, .wanted(isWanted))
    }

    private func startProcess(of worker: SupervisedWorker) {
        let process: WorkerProcess
        do throws(WorkerProcess.Fault) {
            process = try WorkerProcess(
                executable: surroundings.worker, arguments: ["worker", "--control-descriptor", "3"],
                environment: surroundings.environment.map { "\($0)=\($1)" })
        } catch {
            return tell(worker, .cannotStart(error.description))
        }
        worker.process = process
        worker.startedAt = .now()
        worker.lines = LineReader()
        worker.isGreeted = false
        worker.started = []
        worker.leaving = []
        worker.hasStarted = false
        worker.messages = 0
        let number = worker.number
        loop.watch(process.exitDescriptor) { [weak self] _ in self?.assumeIsolated { $0.exitIsReady(number) } }
        loop.watch(process.errorDescriptor) { [weak self] _ in self?.assumeIsolated { $0.errorIsReady(number) } }
        loop.watch(process.channel.descriptor) { [weak self] ready in
            self?.assumeIsolated { $0.channelIsReady(number, ready) }
        }
        send(.hello(version: MessageCoding.version), to: worker)
    }

    /// Lets go of a process that has ended, or never was.
    private func leave(_ worker: SupervisedWorker) {
        if let process = worker.process {
            loop.forget(process.exitDescriptor)
            loop.forget(process.errorDescriptor)
            loop.forget(process.channel.descriptor)
        }
        worker.process = nil
        worker.isGreeted = false
        worker.started = []
        worker.leaving = []
        requests.failAll(of: worker.number, ServiceFault(.unavailable, "the stream's worker has ended: try again"))
        failClips(of: worker)
        calls.endAll(of: worker.number)
        for stream in streams(of: worker) {
            stream.inputPort = nil
            stream.outputPorts = []
            stream.description = nil
            tell(stream, .workerGone)
        }
    }

    private func crashed(_ worker: SupervisedWorker, _ reason: String) {
        let uptime = worker.process == nil ? 0 : (MonotonicTime.now() - worker.startedAt).seconds
        for stream in streams(of: worker) {
            stream.restarts += 1
            record(.crashed, stream: stream.name, "the worker ended after \(Int(uptime)) s: \(reason)")
            stream.condition.ended("its worker has ended: \(reason)")
            guard let process = worker.process, let reports else { continue }
            let events = events.events.filter { $0.stream == stream.name }.suffix(50)
            let report = CrashReports.Report(
                stream: stream.name, time: events.last?.time ?? 0, reason: reason, process: process.identifier, uptime: uptime,
                events: events.map { .init(number: $0.number, time: $0.time, kind: $0.kind, text: $0.text) },
                standardError: worker.lines.kept)
            // Copied now: the next worker writes into the same map.
            reports.keep(report, map: stream.map.bytes())
        }
        leave(worker)
    }

    // MARK: Descriptors

    private func exitIsReady(_ number: Int) {
        guard let worker = workers[number], let process = worker.process, let exit = process.reap() else { return }
        // What it said before it ended counts.
        readMessages(of: worker, process, atMost: 10 * Self.messagesAtOnce)
        readErrors(of: worker, process)
        for line in worker.lines.finish() { log(line, worker) }
        // What was read may have led to another process already.
        if worker.process === process { tell(worker, .exited(exit)) }
    }

    private func errorIsReady(_ number: Int) {
        guard let worker = workers[number], let process = worker.process else { return }
        readErrors(of: worker, process)
    }

    private func readErrors(of worker: SupervisedWorker, _ process: WorkerProcess) {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        for _ in 0..<4 {
            let count = unsafe read(process.errorDescriptor, &bytes, bytes.count)
            if count > 0 {
                for line in worker.lines.read(bytes[..<count], at: MonotonicTime.now().seconds) { log(line, worker) }
            } else {
                if count == 0 { loop.forget(process.errorDescriptor) }
                return
            }
        }
    }

    private func log(_ line: String, _ worker: SupervisedWorker) {
        let names = streams(of: worker).map(\.name).joined(separator: ",")
        logger.info("\(line)", metadata: ["stream": "\(names)", "process": "\(worker.process?.identifier ?? 0)"])
    }

    private func channelIsReady(_ number: Int, _ ready: Int16) {
        guard let worker = workers[number], let process = worker.process else { return }
        if ready & Int16(POLLOUT) != 0 {
            process.channel.flush()
            watchChannel(of: process)
        }
        readMessages(of: worker, process, atMost: Self.messagesAtOnce)
    }

    private func readMessages(of worker: SupervisedWorker, _ process: WorkerProcess, atMost limit: Int) {
        for _ in 0..<limit {
            guard worker.process === process, let arrival = process.channel.receive() else { return }
            worker.messages += 1
            switch arrival {
            case .message(let message, _) where worker.messages <= Self.mostMessages: hear(message, from: worker)
            case .message: distrust(worker, "it sends more than \(Self.mostMessages) messages a second")
            case .malformed(let fault): distrust(worker, fault.description)
            case .closed:
                loop.forget(process.channel.descriptor)
                tell(worker, .closed)
                return
            }
        }
    }

    /// Hears no more of a worker, and replaces it.
    private func distrust(_ worker: SupervisedWorker, _ reason: String) {
        if let process = worker.process { loop.forget(process.channel.descriptor) }
        tell(worker, .broken(reason))
    }

    /// Sends a message, if there is a process.
    func send(_ message: SupervisorMessage, to worker: SupervisedWorker, descriptors: [Int32] = []) {
        guard let process = worker.process else { return }
        process.channel.send(message, descriptors: descriptors)
        watchChannel(of: process)
    }

    private func watchChannel(of process: WorkerProcess) {
        loop.watch(process.channel.descriptor, for: Int32(POLLIN) | (process.channel.hasBacklog ? Int32(POLLOUT) : 0))
    }

    // MARK: Messages

    private func hear(_ message: WorkerMessage, from worker: SupervisedWorker) {
        if case .hello(let version) = message { return greet(worker, version) }
        guard worker.isGreeted else { return distrust(worker, "it spoke before its hello") }
        switch message {
        case .hello: break
        case .alive(let id, let stalled): tell(worker, .alive(id: id, stalled: stalled.prefix(16).map(Self.line)))
        case .resolve(let id, let host, let port): resolve(id, host, port, for: worker)
        case .picture(let id, let byteCount, let fault):
            let result: Result<Int, ServiceFault> =
                fault.map { .failure(ServiceFault(.unavailable, Self.line($0))) } ?? .success(byteCount)
            requests.answerPicture(id, worker: worker.number, result)
        case .still(let id, let byteCount, let frame):
            requests.answerStill(id, worker: worker.number, .success((byteCount, frame)))
        case .refusedPast(let id, let refusal):
            requests.answerStill(id, worker: worker.number, .failure(ServiceFault(refusal)))
            hear(refusal, ofClip: id, from: worker)
        case .clipBegun(let id, let late):
            clips.begin(id, worker: worker.number, late: late)
            requests.answerChange(id, worker: worker.number, .success(()))
        case .clip(let id, _, let pictures, let seconds): hear(pictures, seconds, ofClip: id, from: worker)
        case .wantsRecording(let id, let name):
            guard let stream = stream(name, of: worker) else { return }
            openRecording(of: stream, id, for: worker)
        case .callers(let id, let part, let isLast):
            requests.answerCallers(id, worker: worker.number, part, isLast: isLast)
        case .answered(let id, let description): hear(.success(description), toCall: id, from: worker)
        case .refusedCall(let id, let refusal): hear(.failure(ServiceFault(refusal)), toCall: id, from: worker)
        case .endedCall(let id): calls.end(number: id, worker: worker.number)
        case .changed(let id, let fault):
            let result: Result<Void, ServiceFault> =
                fault.map { .failure(ServiceFault(.refused, Self.line($0))) } ?? .success(())
            requests.answerChange(id, worker: worker.number, result)
        case .started(let name, let inputPort, let outputPorts):
            guard let stream = stream(name, of: worker), stream.lifecycle.state == .starting else { return }
            stream.inputPort = inputPort
            stream.outputPorts = Array(outputPorts.prefix(stream.definition.outputs.count))
            stream.startedAt = .now()
            stream.condition.started()
            tell(stream, .started)
            let ends = stream.definition.places(inputPort: inputPort, outputPorts: stream.outputPorts)
            record(.started, stream: name, "\(ends) (process \(worker.process?.identifier ?? 0))")
        case .ended(let name, let code, let reason):
            worker.started.remove(name)
            calls.endAll(of: name, worker: worker.number)
            if worker.leaving.remove(name) != nil {
                // One of this name was added or moved here meanwhile, and waits for it.
                if let stream = stream(name, of: worker), stream.lifecycle.state == .starting { startStream(stream, worker) }
                return
            }
            // A process that was asked to end ends its streams. They start again with the next one, if there is to be one.
            guard worker.lifecycle.state == .running, let stream = stream(name, of: worker) else { return }
            record(.ended, stream: name, "\(Self.line(reason)) (code \(code))")
            stream.condition.ended(Self.line(reason))
            tell(stream, .ended(code: code, reason: Self.line(reason)))
        case .troubles(let name, let troubles):
            guard let stream = stream(name, of: worker) else { return }
            let count = stream.definition.outputs.count
            let own = troubles.filter { ($0.output.map { (0..<count).contains($0) }) ?? true }
            stream.condition.hear(own.map { StreamTrouble(output: $0.output, $0.kind, Self.line($0.text)) }, at: .now())
            settle()
        case .described(let name, let description):
            stream(name, of: worker)?.description = description.bounded
        case .event(let name, let event):
            guard let stream = stream(name, of: worker) else { return }
            let event = EventGate.Event(kind: EventKind(event.kind), text: Self.line(event.text), isUsual: event.isUsual)
            record(stream.gate.receive(event, at: .now()), of: stream)
        }
    }

    func record(_ events: [EventGate.Event], of stream: SupervisedStream) {
        for event in events { record(event.kind, stream: stream.name, event.text, isUsual: event.isUsual) }
    }

    /// The stream, if it is one of this worker's. A message about another is too late, or a lie.
    private func stream(_ name: String, of worker: SupervisedWorker) -> SupervisedStream? {
        supervised[name].flatMap { $0.worker == worker.number ? $0 : nil }
    }

    private func greet(_ worker: SupervisedWorker, _ version: Int) {
        if let fault = MessageCoding.fault(ofVersion: version) { return distrust(worker, fault) }
        tell(worker, .hello)
        guard worker.lifecycle.state == .running else { return }
        worker.isGreeted = true
        for stream in streams(of: worker) { tell(stream, .workerReady) }
    }

    private func resolve(_ id: UInt64, _ host: String, _ port: UInt16, for worker: SupervisedWorker) {
        // A worker that was taken over must not learn or tell anything by the names that it asks for.
        guard streams(of: worker).contains(where: { $0.definition.hosts.contains(host) }) else {
            return send(.resolved(id: id, addresses: [], fault: "no stream of this worker names this host"), to: worker)
        }
        let (number, process) = (worker.number, worker.process?.identifier)
        resolver.resolve(host, for: number) { [weak self] answer in
            guard let self else { return }
            loop.execute { [weak self] in
                self?.assumeIsolated {
                    guard let worker = $0.workers[number], worker.process?.identifier == process else { return }
                    $0.send(.resolved(id: id, addresses: answer.addresses, fault: answer.fault), to: worker)
                }
            }
        }
    }

    /// What a worker says, as one line of bounded length.
    static func line(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(500).map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}

extension StreamDescription {
    /// With texts and lists of bounded length: a worker's word is not trusted.
    fileprivate var bounded: StreamDescription {
        func short(_ text: String?) -> String? { text.map { String(Supervisor.line($0).prefix(64)) } }
        var own = self
        (own.codec, own.profile, own.level, own.outputCodec) = (short(codec), short(profile), short(level), short(outputCodec))
        own.sounds = sounds.prefix(Self.mostSounds).map { sound in
            var own = sound
            own.codec = short(sound.codec) ?? ""
            return own
        }
        return own
    }
}

extension MonotonicTime {
    var seconds: Double { Double(nanoseconds) / 1e9 }
}
