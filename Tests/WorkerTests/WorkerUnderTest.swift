import Endpoint
import Measure
import Media
import Synchronization
import Transport
import Worker
import WorkerProtocol

/// A worker that runs on a thread of this process, and the supervisor's end of its channel.
final class WorkerUnderTest: Sendable {
    let channel: SupervisorChannel
    private let worker: Worker
    private let thread: StageThread
    private let outcome = Outcome()
    private let unread = Lock<[WorkerMessage]>([])

    private final class Outcome: Sendable {
        let end = Lock<(code: Int32, fault: String?)?>(nil)
    }

    /// - Parameter version: what the supervisor says in its hello; nil says nothing.
    init(version: Int? = MessageCoding.version, desk: (any CallDesk)? = nil) throws {
        let (parent, child) = try SupervisorChannel.pair()
        channel = parent
        let worker = Worker(control: try WorkerChannel(owning: child.claim()), desk: desk)
        self.worker = worker
        thread = StageThread(name: "control") { [outcome] in
            let end = worker.run()
            worker.join()
            outcome.end.withLock { $0 = end }
        }
        if let version { channel.send(.hello(version: version)) }
    }

    /// The next message for which `read` gives a value. Others are kept for later calls.
    func next<Value: Sendable>(_ read: (WorkerMessage) -> Value?) -> Value? {
        let kept = unread.withLock { unread -> Value? in
            for (index, message) in unread.enumerated() {
                if let value = read(message) {
                    unread.remove(at: index)
                    return value
                }
            }
            return nil
        }
        if let kept { return kept }
        while true {
            switch channel.receive(until: nil) {
            case .message(let message, _):
                if let value = read(message) { return value }
                unread.withLock { $0.append(message) }
            case .malformed(let fault): fatalError("\(fault)")
            case .closed: return nil
            case nil: break
            }
        }
    }

    struct Ports {
        var input: UInt16
        var output: UInt16
    }

    func start(
        _ name: String, from input: String = "srt://127.0.0.1:0?mode=listener&latency=20",
        to output: String = "srt://127.0.0.1:0?mode=listener&latency=20", _ settings: [String: String] = [:]
    ) -> Ports? {
        channel.send(.start(WorkerAssignment(stream: name, input: input, outputs: [output], settings: settings)))
        return next {
            switch $0 {
            case .started(name, let input, let outputs): .some(.some(Ports(input: input, output: outputs[0])))
            case .ended(name, _, _): .some(.none)
            default: nil
            }
        }.flatMap { $0 }
    }

    func ended(_ name: String) -> WorkerMessage? {
        next { message in
            if case .ended(name, _, _) = message { message } else { nil }
        }
    }

    func event(_ name: String, _ kind: StreamEvent.Kind) -> String? {
        next { message in
            if case .event(name, let event) = message, event.kind == kind { event.text } else { nil }
        }
    }

    /// Waits for the worker's end.
    func join() -> (code: Int32, fault: String?)? {
        thread.join()
        return outcome.end.withLock { $0 }
    }
}

/// Sends the test source's pictures to a port, by SRT.
/// - Parameter options: of the URL, as `&streamid=a`.
func send(frames: Int64, to port: UInt16, options: String = "") throws {
    let sink = try Sink(try StreamURL("srt://127.0.0.1:\(port)?latency=20\(options)"))
    try sink.awaitConnection(until: .now() + .seconds(20))
    var configuration = TestSourceConfiguration()
    configuration.size = PictureSize(width: 160, height: 96)
    configuration.frames = frames
    _ = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
    sink.flush(until: .now() + .seconds(5))
}
