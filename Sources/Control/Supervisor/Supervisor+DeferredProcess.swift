import Foundation
import Glibc
import Logging
import Machine
import Media
import ServiceConfiguration
import WorkerProtocol

// The one process that makes, of files of coded units, what was asked for: when there is time, and with what time is left over.
extension Supervisor {
    /// Takes up what an earlier process of the service left. May block: for the start of the service.
    func findDeferred() {
        let folder = captureRoot.map { DeferredFolder($0) }
        guard folder != deferred.folder else { return }
        // Files of the one before stay, and are made when the configuration names that folder again.
        stopDeferred("the folder has changed")
        deferred.folder = folder
        guard let folder else { return deferred.queue.replace([]) }
        let (entries, unusable) = folder.scan()
        deferred.queue.replace(entries)
        for _ in 0..<unusable { deferred.queue.count(.failed) }
        if unusable > 0 { record(.message, "\(unusable) files in \(folder.path) were damaged and have been removed") }
    }

    /// Called each second.
    func tickDeferred(idle: Double?, lost: UInt64, at now: MonotonicTime) {
        findDeferred()
        deferred.judge.observe(idle: idle, lost: lost)
        deferred.usage.observe(deferred.process.flatMap { ProcessUsage.seconds(of: $0.identifier) }, at: now)
        for entry in deferred.queue.expire(at: Date().timeIntervalSince1970, except: deferred.current) {
            leaveAsItIs(entry, "there was no time for it in a day")
        }
        if let process = deferred.process {
            let mustPause = configuration.whenBusy == .wait && deferred.judge.isTight
            if mustPause != deferred.isPaused {
                deferred.isPaused = mustPause
                process.signal(mustPause ? SIGSTOP : SIGCONT)
            }
            if deferred.isPaused { deferred.startedAt = deferred.startedAt + Self.tickInterval }
            let limit = DeferredWork.longestRun(of: deferred.current?.job.kind ?? .still)
            if now - deferred.startedAt > limit { stopDeferred("it took too long") }
        }
        turnDeferred()
        tellReadiness()
    }

    /// Starts the next one where there is one and time for it, and answers those whose time is over.
    func turnDeferred() {
        let now = MonotonicTime.now()
        answerWaiters { $0.due <= now }
        guard !isEnding, deferred.current == nil, let entry = deferred.queue.next(at: now) else { return }
        let isBusy = !deferred.judge.isIdle
        if isBusy, configuration.whenBusy == .wait { return }
        DeferredFolder.clean(entry)
        let process: WorkerProcess
        do throws(WorkerProcess.Fault) {
            process = try WorkerProcess(
                executable: surroundings.worker,
                arguments: ["deferred", "--job", entry.path, "--output", entry.resultPath] + (isBusy ? ["--lower"] : []),
                environment: surroundings.environment.map { "\($0)=\($1)" })
        } catch {
            return failed(entry, error.description)
        }
        (deferred.process, deferred.current, deferred.startedAt, deferred.isPaused) = (process, entry, now, false)
        (deferred.complaint, deferred.lines) = (nil, LineReader())
        loop.watch(process.exitDescriptor) { [weak self] _ in self?.assumeIsolated { $0.deferredHasEnded() } }
        loop.watch(process.errorDescriptor) { [weak self] _ in self?.assumeIsolated { $0.readDeferredErrors() } }
    }

    func answerWaiters(where isOver: (DeferredWork.Waiter) -> Bool) {
        for waiter in deferred.waiters where isOver(waiter) { waiter.waiter.resume() }
        deferred.waiters.removeAll(where: isOver)
    }

    /// Kills the process. What it made so far is made again.
    func stopDeferred(_ reason: String) {
        guard let process = deferred.process else { return }
        deferred.complaint = deferred.complaint ?? reason
        process.signal(SIGKILL)
    }

    private func readDeferredErrors() {
        guard let process = deferred.process else { return }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe read(process.errorDescriptor, &bytes, bytes.count)
        if count > 0 {
            for line in deferred.lines.read(bytes[..<count], at: MonotonicTime.now().seconds) {
                logger.info("\(line)", metadata: ["stream": "\(deferred.current?.job.stream ?? "")"])
            }
        } else if count == 0 {
            loop.forget(process.errorDescriptor)
        }
    }

    private func deferredHasEnded() {
        guard let process = deferred.process, let entry = deferred.current, let exit = process.reap() else { return }
        readDeferredErrors()
        loop.forget(process.exitDescriptor)
        loop.forget(process.errorDescriptor)
        deferred.process = nil
        if isEnding { return deferredHasLeft() }
        guard exit.isClean, let folder = deferred.folder else {
            _ = deferred.lines.finish()
            let words = deferred.lines.kept.last.map { ": \($0)" } ?? ""
            return failed(entry, deferred.complaint ?? "\(exit)\(words)")
        }
        StageThread(name: "files") { [loop, weak self] in
            let result = Result { () throws(CaptureFolder.Fault) in try folder.finish(entry) }
            loop.execute { [weak self] in self?.assumeIsolated { $0.finishDeferred(entry, result) } }
        }.detach()
    }

    private func finishDeferred(_ entry: DeferredFolder.Entry, _ result: Result<String, CaptureFolder.Fault>) {
        switch result {
        case .failure(let fault): failed(entry, fault.description)
        case .success(let path):
            deferred.current = nil
            deferred.queue.remove(entry, .made)
            record(entry.job.eventKind, stream: entry.job.stream, "\(entry.job.name) is final: \(path)")
            answerWaiters { $0.stream == entry.job.stream && $0.number == entry.job.number }
            turnDeferred()
        }
        deferredHasLeft()
    }

    private func failed(_ entry: DeferredFolder.Entry, _ reason: String) {
        deferred.current = nil
        // That was no failure of its own.
        let wasStopped = deferred.complaint == "the folder has changed"
        if !wasStopped, !deferred.queue.fail(entry, at: .now()) { leaveAsItIs(entry, reason) }
        turnDeferred()
        setTimer()
    }

    /// No better one is made.
    private func leaveAsItIs(_ entry: DeferredFolder.Entry, _ reason: String) {
        let rest = entry.job.kind == .still ? "stays a proxy" : "is not made"
        record(entry.job.eventKind, stream: entry.job.stream, "\(entry.job.name) \(rest): \(Self.line(reason))")
        if entry.job.kind == .clip { clips.fail(entry.job.number, of: entry.job.stream, Self.line(reason)) }
        if let folder = deferred.folder { StageThread(name: "files") { folder.remove(entry) }.detach() }
        answerWaiters { $0.stream == entry.job.stream && $0.number == entry.job.number }
    }

    /// The service may end now, as far as this is concerned.
    private func deferredHasLeft() { if isEnding { workerLeft() } }
}

extension DeferredJob {
    var name: String { "\(kind.rawValue) \(number)" }
    var eventKind: EventKind { kind == .still ? .still : .clip }
}
