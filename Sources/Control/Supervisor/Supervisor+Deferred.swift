import Foundation
import Glibc
import Media
import ServiceConfiguration
import Settings
import Telemetry
import WorkerProtocol

// Stills that become better later: taken in at once, and made when there is time.
extension Supervisor {
    /// The largest still, in bytes. Memory that nobody writes costs nothing.
    static let largestStill = 32 << 20
    /// The largest file that a worker writes for one.
    private static let largestUnits: Int64 = 64 << 20

    /// Where stills and clips of all streams lie; nil where there is no such place.
    var captureRoot: String? { configuration.stills ?? surroundings.stateDirectory.map { $0 + "/stills" } }

    /// Makes a proxy at once, and keeps what makes it anew. Both are on the disk when this returns.
    public func makeBestStill(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Capture {
        let captures = try captures(of: name)
        let stream = try find(name)
        if let fault = stream.lacksBest { throw fault }
        findDeferred()
        if let fullness = deferred.queue.fullness {
            deferred.queue.count(.refused)
            throw ServiceFault(.unavailable, "\(fullness): try again later, or ask for fast")
        }
        deferred.queue.begin()
        var arrived: DeferredFolder.Entry?
        defer {
            deferred.queue.arrive(arrived)
            turnDeferred()
        }
        let folder = DeferredFolder(try root())
        let (still, units) = try await onDisk { () throws(CaptureFolder.Fault) in
            let still = try captures.begin(.still, CaptureFolder.proxyEnding + (format == .jpeg ? "jpg" : "png"))
            do throws(CaptureFolder.Fault) { return (still, try folder.begin(.still, of: name, still.number)) } catch {
                captures.abandon(still)
                throw error
            }
        }
        do throws(ServiceFault) {
            let picture = try await self.still(
                of: name, side: side, at: place, as: format, width: width, units: units.file)
            let job = DeferredJob(
                .still, stream: name, number: still.number, settings: stream.definition.values.texts,
                time: Date().timeIntervalSince1970)
            let entry = try await onDisk { () throws(CaptureFolder.Fault) in
                if let fault = unsafe picture.bytes.withUnsafeBytes({ unsafe still.file.write($0, at: 0) }) {
                    throw CaptureFolder.Fault(description: "\(still.path): \(fault)")
                }
                // First what makes it: a crash between the two leaves more than was promised, not less.
                let entry = try folder.complete(units, job, limit: Self.largestUnits)
                do throws(CaptureFolder.Fault) { try captures.complete(still) } catch {
                    folder.remove(entry)
                    throw error
                }
                return entry
            }
            // Where the folder has changed meanwhile, it is made when that is named again.
            if folder == deferred.folder { arrived = entry }
            var capture = Capture(.still, number: still.number, path: still.path, state: .ready)
            (capture.bytes, capture.frame) = (Int64(picture.bytes.count), picture.frame)
            record(.still, stream: name, "still \(still.number) of frame \(picture.frame ?? 0), a proxy: \(still.path)")
            return capture
        } catch {
            _ = try? await onDisk { () throws(CaptureFolder.Fault) in
                captures.abandon(still)
                folder.abandon(units)
            }
            throw error
        }
    }

    private func root() throws(ServiceFault) -> String {
        guard let root = captureRoot else {
            throw ServiceFault(
                .conflict, "there is no folder for stills and clips: set stills.folder or state-directory in the configuration")
        }
        return root
    }

    /// The best there is of a still.
    /// - Parameter wait: how long to wait for the final one, where it is to come.
    public func bestStill(
        _ number: Int, of name: String, wait: Nanoseconds
    ) async throws(ServiceFault) -> (still: Still, isProxy: Bool) {
        let captures = try captures(of: name)
        if wait > .zero, deferred.queue.contains(number, of: name) {
            let due = MonotonicTime.now() + wait
            await withCheckedContinuation { waiter in
                deferred.waiters.append(.init(stream: name, number: number, due: due, waiter: waiter))
                setTimer()
            }
        }
        let found = try await onDisk { () throws(CaptureFolder.Fault) -> (bytes: [UInt8], isProxy: Bool)? in
            // The final one may take the proxy's place between two calls.
            for attempt in 0..<2 {
                guard let path = captures.find(.still, number) else { return nil }
                do throws(CaptureFolder.Fault) {
                    return (try CaptureFolder.read(path, largest: Self.largestStill), CaptureFolder.isProxy(path))
                } catch {
                    if attempt > 0 { throw error }
                }
            }
            return nil
        }
        guard let found else { throw ServiceFault(.notFound, "the stream has no still of this number") }
        return (Still(bytes: found.bytes, frame: nil), found.isProxy)
    }

    public func deferred(of name: String) throws(ServiceFault) -> [DeferredCapture] {
        _ = try find(name)
        let now = Date().timeIntervalSince1970
        return deferred.queue.items.enumerated().compactMap { position, item in
            let job = item.entry.job
            guard job.stream == name else { return nil }
            let state: DeferredCapture.State =
                item.entry != deferred.current ? .waiting : deferred.isPaused ? .paused : .running
            return DeferredCapture(
                job.kind == .still ? .still : .clip, number: job.number, state: state, bytes: item.entry.bytes,
                age: max(0, now - job.time), position: position)
        }
    }

    var deferredFigures: DeferredFigures {
        var figures = DeferredFigures()
        (figures.waiting, figures.bytes) = (deferred.queue.items.count, deferred.queue.bytes)
        figures.isRunning = deferred.process != nil && !deferred.isPaused
        figures.outcomes = DeferredQueue.Outcome.allCases.map { ($0.rawValue, deferred.queue.outcomes[$0] ?? 0) }
        return figures
    }

    // MARK: Readiness

    public func readiness(of name: String) throws(ServiceFault) -> CaptureReadiness { readiness(of: try find(name)) }

    private func readiness(of stream: SupervisedStream) -> CaptureReadiness {
        let waiting = deferred.queue.items.count { $0.entry.job.stream == stream.name }
        func all(_ state: CaptureReadiness.State) -> CaptureReadiness {
            CaptureReadiness(still: state, best: state, clip: state, waiting: waiting)
        }
        guard stream.definition.values.options.past > .zero, captureRoot != nil else { return all(.off) }
        guard let worker = workers[stream.worker], worker.started.contains(stream.name) else { return all(.starting) }
        let gauges = stream.map.reader.snapshot().gauges
        guard gauges.pastOutput.bytes > 0 else { return all(.waitingForPicture) }
        return CaptureReadiness(
            still: .ready,
            best: stream.lacksBest != nil
                ? .off
                : gauges.pastInput.bytes == 0
                    ? .waitingForPicture : deferred.queue.fullness == nil ? .ready : .waitingForProcessing,
            clip: clips.isFull ? .waitingForProcessing : .ready, waiting: waiting)
    }

    /// Says what has changed. Called each second.
    func tellReadiness() {
        for stream in supervised.values {
            var now = readiness(of: stream)
            now.waiting = 0
            guard now != deferred.readiness[stream.name] else { continue }
            let isFirst = deferred.readiness.updateValue(now, forKey: stream.name) == nil
            // Most streams keep no past.
            if isFirst, now.still == .off { continue }
            record(.readiness, stream: stream.name, "stills \(now.still), best \(now.best), clips \(now.clip)")
        }
        for name in deferred.readiness.keys where supervised[name] == nil { deferred.readiness[name] = nil }
    }
}

extension SupervisedStream {
    /// Why no better picture can be made later; nil where that can be.
    var lacksBest: ServiceFault? {
        definition.values.settings.steps.holdsBypass
            ? ServiceFault(
                .conflict, key: "quality",
                "a mask is set, so pictures as they came are not kept to make a better one of: ask for fast") : nil
    }
}
