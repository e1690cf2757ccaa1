import Foundation
import Media
import ServiceConfiguration
import Settings
import WorkerProtocol

// Clips that are made anew, of what came in, when there is time.
extension Supervisor {
    /// The largest file that a worker writes for one.
    private static let largestSource: Int64 = 512 << 20

    public func makeBestClip(
        of name: String, from: MonotonicTime, to: MonotonicTime, as format: ClipFormat
    ) async throws(ServiceFault) -> Capture {
        let captures = try captures(of: name)
        let stream = try find(name)
        if let fault = stream.lacksBest { throw fault }
        findDeferred()
        if let fullness = deferred.queue.fullness {
            deferred.queue.count(.refused)
            throw ServiceFault(.unavailable, "\(fullness): try again later, or ask for sent")
        }
        guard !clips.isFull else {
            throw ServiceFault(.unavailable, "\(PendingClips.most) clips are being cut: try again later")
        }
        guard let folder = deferred.folder else { throw ServiceFault(.conflict, "there is no folder for clips") }
        let (clip, units) = try await onDisk { () throws(CaptureFolder.Fault) in
            let clip = try captures.begin(.clip, format.rawValue)
            do throws(CaptureFolder.Fault) { return (clip, try folder.begin(.clip, of: name, clip.number)) } catch {
                captures.abandon(clip)
                throw error
            }
        }
        var job = DeferredJob(
            .clip, stream: name, number: clip.number, settings: stream.definition.values.texts,
            time: Date().timeIntervalSince1970)
        job.format = format.rawValue
        // The stream may have been changed meanwhile.
        do throws(ServiceFault) {
            let worker = try worker(of: try find(name))
            var pending = PendingClips.Clip(stream: name, worker: worker.number, folder: captures, begun: clip)
            pending.source = PendingClips.Source(folder: folder, units: units, job: job)
            let result = await withCheckedContinuation { [pending] (waiter: PendingRequests.Waiter<Void>) in
                guard let id = requests.addClip(waiter, worker: worker.number, now: .now()) else { return }
                clips.add(pending, id)
                send(
                    .cutClip(
                        id: id, stream: name, from: from.nanoseconds, to: to.nanoseconds, format: .ts, ofInput: true),
                    to: worker, descriptors: [units.file.number])
                setTimer()
            }
            try result.get()
        } catch {
            _ = try? await onDisk { () throws(CaptureFolder.Fault) in
                captures.abandon(clip)
                folder.abandon(units)
            }
            throw error
        }
        // Of what has come already, all is on the disk before the answer.
        if to <= .now() { await withCheckedContinuation { clips.awaitEnd(of: clip.number, of: name, $0) } }
        if let failed = clips.capture(clip.number, of: name), failed.state == .failed {
            throw ServiceFault(.conflict, failed.reason)
        }
        return Capture(.clip, number: clip.number, path: clip.path, state: .pending)
    }

    /// What a better clip is made of is in its file.
    func keep(_ source: PendingClips.Source, ofClip id: UInt64) {
        StageThread(name: "files") { [loop, weak self] in
            let result = Result { () throws(CaptureFolder.Fault) in
                try source.folder.complete(source.units, source.job, limit: Self.largestSource)
            }
            loop.execute { [weak self] in self?.assumeIsolated { $0.kept(result, ofClip: id) } }
        }.detach()
    }

    private func kept(_ result: Result<DeferredFolder.Entry, CaptureFolder.Fault>, ofClip id: UInt64) {
        guard let clip = clips.take(id) else { return }
        switch result {
        case .success(let entry):
            // Where the folder has changed meanwhile, it is made when that is named again.
            if clip.source?.folder == deferred.folder {
                deferred.queue.begin()
                deferred.queue.arrive(entry)
            }
            turnDeferred()
        case .failure(let fault): fail(clip, fault.description)
        }
        clip.end()
    }
}
