import Foundation
import Media
import ServiceConfiguration
import Settings
import WorkerProtocol

/// What the supervisor knows of a stream's recording.
struct StreamRecording {
    /// The file that was opened last.
    var path: String?
    /// Files that the worker asked for since the last tick.
    var asked = 0
    /// When old files were looked for last.
    var tidied: MonotonicTime?

    /// More files a second are an attack or a defect.
    static let most = 4
    /// How often old files are looked for where no file begins.
    static let tidyInterval = Nanoseconds.seconds(300)
}

// Files of recordings: a worker can open none, and deletes none.
extension Supervisor {
    /// The files that a stream's settings name; nil where nothing is recorded.
    private func recordings(of stream: SupervisedStream) -> RecordFiles? {
        let settings = stream.definition.values.settings.record
        guard let text = settings.pattern?.text else { return nil }
        let known = [stream.configured?.values, configuration.defaults].compactMap { $0?.settings.record.pattern?.text }
        let folders = known.contains(text) ? nil : configuration.folders
        return RecordFiles(settings, stream: stream.name) { real in
            folders.map { StreamFiles.isBelow(real, $0) } ?? true
        }
    }

    /// Opens the next file of a stream's recording, on a thread of its own, and deletes what is too old.
    func openRecording(of stream: SupervisedStream, _ id: UInt64, for worker: SupervisedWorker) {
        let (name, number, process) = (stream.name, worker.number, worker.process?.identifier)
        func refuse(_ text: String) {
            send(.recording(id: id, stream: name, path: "", fault: text), to: worker)
        }
        guard let files = recordings(of: stream) else { return refuse("nothing is to be recorded") }
        stream.recording.asked += 1
        guard stream.recording.asked <= StreamRecording.most else { return refuse("too many files a second") }
        let former = stream.recording.path
        StageThread(name: "files") { [weak self, loop] in
            let now = Int64(Date().timeIntervalSince1970)
            if let former { RecordFiles.removeEmpty(former) }
            // Before the file is made: it may need the room.
            files.tidy(now: now)
            let result = Result { () throws(RecordFiles.Fault) in try files.open(now: now) }
            let file = (try? result.get()).map { (path: $0.path, descriptor: PassedDescriptor(owning: $0.descriptor)) }
            loop.execute { [weak self] in
                self?.assumeIsolated { supervisor in
                    guard let worker = supervisor.workers[number], worker.process?.identifier == process else {
                        if let file { RecordFiles.removeEmpty(file.path) }
                        return
                    }
                    switch result {
                    case .success(let opened):
                        supervisor.supervised[name]?.recording.path = opened.path
                        supervisor.supervised[name]?.recording.tidied = .now()
                        supervisor.send(
                            .recording(id: id, stream: name, path: opened.path, fault: nil), to: worker,
                            descriptors: file.map { [$0.descriptor.number] } ?? [])
                    case .failure(let fault):
                        supervisor.send(.recording(id: id, stream: name, path: "", fault: fault.description), to: worker)
                    }
                }
            }
        }.detach()
    }

    /// Deletes what is too old where no file has begun for long.
    func tidyRecording(of stream: SupervisedStream, at now: MonotonicTime) {
        let settings = stream.definition.values.settings.record
        guard settings.keep != nil || settings.keepSize != nil, let files = recordings(of: stream),
            stream.recording.tidied.map({ now - $0 >= StreamRecording.tidyInterval }) ?? true
        else { return }
        stream.recording.tidied = now
        let isRunning = workers[stream.worker]?.started.contains(stream.name) ?? false
        let present = isRunning ? stream.recording.path : nil
        StageThread(name: "files") {
            _ = files.tidy(now: Int64(Date().timeIntervalSince1970), sparing: present)
        }.detach()
    }
}
