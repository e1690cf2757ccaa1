import Glibc
import Media
import ServiceConfiguration
import Settings
import WorkerProtocol

extension Supervisor {
    public func still(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Still {
        try await still(of: name, side: side, at: place, as: format, width: width, units: nil)
    }

    /// - Parameter units: where what makes the picture anew goes; nil where nobody wants that.
    func still(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int,
        units: PassedDescriptor?
    ) async throws(ServiceFault) -> Still {
        let stream = try find(name)
        let worker = try worker(of: stream)
        guard stream.definition.values.options.past > .zero else {
            throw ServiceFault(.conflict, key: "past", "the stream keeps no past: set past, as 20s")
        }
        guard let number = MemoryFile.create(name: "burnish-still", byteCount: Self.largestStill) else {
            throw ServiceFault(.unavailable, "there is no memory for a picture: try again later")
        }
        let memory = PassedDescriptor(owning: number)
        let result = await withCheckedContinuation {
            (waiter: PendingRequests.Waiter<(byteCount: Int, frame: UInt64)>) in
            guard let id = requests.addStill(waiter, worker: worker.number, now: .now()) else { return }
            send(
                .showPast(
                    id: id, stream: name, side: side, place: place, format: format, width: width, keepsUnits: units != nil),
                to: worker, descriptors: [number] + (units.map { [$0.number] } ?? []))
            setTimer()
        }
        let still = try result.get()
        guard (1...Self.largestStill).contains(still.byteCount) else {
            throw ServiceFault(.unavailable, "the worker gave no picture: try again")
        }
        var bytes = [UInt8](repeating: 0, count: still.byteCount)
        guard unsafe pread(memory.number, &bytes, still.byteCount, 0) == still.byteCount else {
            throw ServiceFault(.unavailable, "the picture cannot be read: try again")
        }
        return Still(bytes: bytes, frame: still.frame)
    }
}

// MARK: Stills and clips on the disk

extension Supervisor {
    /// Where the captures of a stream lie.
    func captures(of name: String) throws(ServiceFault) -> CaptureFolder {
        _ = try find(name)
        guard let folder = captureRoot else {
            throw ServiceFault(
                .conflict, "there is no folder for stills and clips: set stills.folder or state-directory in the configuration")
        }
        return CaptureFolder(folder, stream: name)
    }

    /// Does what may block on a thread of its own.
    func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable () throws(CaptureFolder.Fault) -> Value
    ) async throws(ServiceFault) -> Value {
        let result = await withCheckedContinuation { (waiter: CheckedContinuation<Result<Value, CaptureFolder.Fault>, Never>) in
            StageThread(name: "files") { waiter.resume(returning: Result { () throws(CaptureFolder.Fault) in try body() }) }
                .detach()
        }
        do throws(CaptureFolder.Fault) { return try result.get() } catch {
            throw ServiceFault(.unavailable, "\(error): check the folder and the space on its disk")
        }
    }

    public func makeStill(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
    ) async throws(ServiceFault) -> Capture {
        let folder = try captures(of: name)
        let still = try await still(of: name, side: side, at: place, as: format, width: width)
        let begun = try await onDisk { () throws(CaptureFolder.Fault) in
            let begun = try folder.begin(.still, format == .jpeg ? "jpg" : "png")
            if let fault = unsafe still.bytes.withUnsafeBytes({ unsafe begun.file.write($0, at: 0) }) {
                folder.abandon(begun)
                throw CaptureFolder.Fault(description: "\(begun.path): \(fault)")
            }
            try folder.complete(begun)
            return begun
        }
        var capture = Capture(.still, number: begun.number, path: begun.path, state: .ready)
        (capture.bytes, capture.frame) = (Int64(still.bytes.count), still.frame)
        record(.still, stream: name, "still \(begun.number) of frame \(still.frame ?? 0): \(begun.path)")
        return capture
    }

    public func makeClip(
        of name: String, from: MonotonicTime, to: MonotonicTime, as format: ClipFormat
    ) async throws(ServiceFault) -> Capture {
        let folder = try captures(of: name)
        guard !clips.isFull else {
            throw ServiceFault(.unavailable, "\(PendingClips.most) clips are being cut: try again later")
        }
        let begun = try await onDisk { () throws(CaptureFolder.Fault) in try folder.begin(.clip, format.rawValue) }
        // The stream may have been changed meanwhile.
        do throws(ServiceFault) {
            let worker = try worker(of: try find(name))
            let number = worker.number
            let result = await withCheckedContinuation { (waiter: PendingRequests.Waiter<Void>) in
                guard let id = requests.addClip(waiter, worker: number, now: .now()) else { return }
                clips.add(PendingClips.Clip(stream: name, worker: number, folder: folder, begun: begun), id)
                send(
                    .cutClip(id: id, stream: name, from: from.nanoseconds, to: to.nanoseconds, format: format, ofInput: false),
                    to: worker,
                    descriptors: [begun.file.number])
                setTimer()
            }
            try result.get()
        } catch {
            _ = try? await onDisk { () throws(CaptureFolder.Fault) in folder.abandon(begun) }
            throw error
        }
        return clips.capture(begun.number, of: name) ?? Capture(.clip, number: begun.number, path: begun.path, state: .ready)
    }

    public func clip(_ number: Int, of name: String) async throws(ServiceFault) -> Capture {
        let folder = try captures(of: name)
        if let capture = clips.capture(number, of: name) { return capture }
        let isComing = deferred.queue.contains(number, of: name, .clip)
        let found = try await onDisk { () throws(CaptureFolder.Fault) -> Capture? in
            guard let path = folder.find(.clip, number) else {
                return isComing ? Capture(.clip, number: number, path: "", state: .pending) : nil
            }
            var capture = Capture(.clip, number: number, path: path, state: .ready)
            capture.bytes = CaptureFolder.size(of: path) ?? 0
            return capture
        }
        guard let found else { throw ServiceFault(.notFound, "the stream has no clip of this number") }
        return found
    }

    /// A clip is in its file.
    func hear(_ pictures: Int, _ seconds: Double, ofClip id: UInt64, from worker: SupervisedWorker) {
        guard let clip = clips.take(id, worker: worker.number) else { return }
        // It is pending until it has its name.
        clips.add(clip, id)
        if let source = clip.source { return keep(source, ofClip: id) }
        StageThread(name: "files") { [loop, weak self] in
            let result = Result { () throws(CaptureFolder.Fault) in try clip.folder.complete(clip.begun) }
            loop.execute { [weak self] in self?.assumeIsolated { $0.finish(clip, id, result, seconds) } }
        }.detach()
    }

    private func finish(_ clip: PendingClips.Clip, _ id: UInt64, _ result: Result<Void, CaptureFolder.Fault>, _ seconds: Double)
    {
        _ = clips.take(id, worker: clip.worker)
        switch result {
        case .success:
            let length = seconds.isFinite ? "\((max(0, min(seconds, 1e6)) * 10).rounded() / 10) s" : "?"
            let late = clip.late.map { ", begins \(($0 * 10).rounded() / 10) s later than asked" } ?? ""
            record(.clip, stream: clip.stream, "clip \(clip.begun.number), \(length)\(late): \(clip.begun.path)")
        case .failure(let fault): fail(clip, fault.description)
        }
    }

    /// A clip was refused, or could not be cut.
    func hear(_ refusal: PastRefusal, ofClip id: UInt64, from worker: SupervisedWorker) {
        let hasBegun = !requests.isChangeAwaited(id)
        requests.answerChange(id, worker: worker.number, .failure(ServiceFault(refusal)))
        guard let clip = clips.take(id, worker: worker.number), hasBegun else { return }
        fail(clip, Self.line(refusal.text))
    }

    func failClips(of worker: SupervisedWorker) {
        for clip in clips.takeAll(of: worker.number) { fail(clip, "the stream's worker has ended") }
    }

    func fail(_ clip: PendingClips.Clip, _ reason: String) {
        clips.fail(clip, reason)
        clip.end()
        record(.clip, stream: clip.stream, "clip \(clip.begun.number) has failed: \(reason)")
        StageThread(name: "files") {
            clip.folder.abandon(clip.begun)
            if let source = clip.source { source.folder.abandon(source.units) }
        }.detach()
    }
}

extension ServiceFault {
    /// A worker's word, as a line of bounded length.
    init(_ refusal: PastRefusal) {
        let kind: Kind =
            switch refusal.kind {
            case .missing: .notFound
            case .conflict: .conflict
            case .busy: .unavailable
            }
        self.init(kind, Supervisor.line(refusal.text))
    }
}
