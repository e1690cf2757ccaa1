import Media
import Relay
import WorkerProtocol

/// Asks the supervisor for the files of a stream's recording, since a worker can open none.
///
/// Thread-safe. One thread at a time waits.
final class RecordingRequests: Sendable {
    private struct State {
        var newest: UInt64 = 0
    }

    private let stream: String
    private let control: WorkerChannel
    private let state = Lock(State())
    private let answers = BoundedQueue<(id: UInt64, result: Result<RecordFile, RecordFault>)>(capacity: 4)

    /// How long the supervisor's disk may take.
    private static let timeout = Nanoseconds.seconds(5)

    init(_ stream: String, _ control: WorkerChannel) { (self.stream, self.control) = (stream, control) }

    /// Waits for the next file.
    func next() -> Result<RecordFile, RecordFault> {
        let id = state.withLock { state in
            state.newest += 1
            return state.newest
        }
        let limit = MonotonicTime.now() + Self.timeout
        control.send(.wantsRecording(id: id, stream: stream))
        // What nobody waits for any more is closed.
        while let answer = answers.pop(until: limit) { if answer.id == id { return answer.result } }
        return .failure(RecordFault("the disk did not answer within \(Int(Self.timeout.seconds)) s"))
    }

    /// The supervisor's answer.
    func receive(_ id: UInt64, _ path: String, _ descriptor: PassedDescriptor?, fault: String?) {
        let result: Result<RecordFile, RecordFault> =
            if let descriptor, fault == nil {
                .success(unsafe RecordFile(path: path) { unsafe descriptor.write($0, at: $1) })
            } else {
                .failure(RecordFault(fault ?? "\(path): the file did not come with the answer"))
            }
        _ = answers.offer((id, result))
    }
}
