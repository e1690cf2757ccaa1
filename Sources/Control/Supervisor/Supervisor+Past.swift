import Glibc
import Media
import ServiceConfiguration
import Settings
import WorkerProtocol

extension Supervisor {
    /// The largest still, in bytes. Memory that nobody writes costs nothing.
    private static let largestStill = 32 << 20

    public func still(
        of name: String, side: PictureSide, at place: StillPlace, as format: StillFormat, width: Int
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
                .showPast(id: id, stream: name, side: side, place: place, format: format, width: width), to: worker,
                descriptors: [number])
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
