import Media
import Packets
import WorkerProtocol

/// Has the supervisor look up names, because a worker in its sandbox cannot.
///
/// Thread-safe. Nothing here waits: legs ask, and the control thread brings the answers.
final class SupervisorNames: NameResolver {
    typealias Answer = @Sendable (Result<[String], NameFault>) -> Void

    private struct Question {
        var answer: Answer
        var asked: MonotonicTime
    }

    private struct State {
        var newest: UInt64 = 0
        var questions: [UInt64: Question] = [:]
    }

    /// So many questions may be open. A leg that calls asks once for each attempt.
    private static let mostQuestions = 64

    private let control: WorkerChannel
    private let state = Lock(State())

    init(_ control: WorkerChannel) { self.control = control }

    func lookUp(_ host: String, answer: @escaping Answer) {
        let now = MonotonicTime.now()
        let id: UInt64? = state.withLock { state in
            // Whoever asked these has given up.
            state.questions = state.questions.filter { now - $0.value.asked < NameResolution.timeout }
            guard state.questions.count < Self.mostQuestions else { return nil }
            state.newest += 1
            state.questions[state.newest] = Question(answer: answer, asked: now)
            return state.newest
        }
        guard let id else { return answer(.failure(NameFault("\(Self.mostQuestions) look-ups wait for burnishd already"))) }
        if control.send(.resolve(id: id, host: host, port: 0)) != .sent {
            receive(id, [], fault: "burnishd cannot be asked")
        }
    }

    /// The supervisor's answer to ``WorkerMessage/resolve(id:host:port:)``. An answer that nobody waits for is ignored.
    func receive(_ id: UInt64, _ addresses: [String], fault: String?) {
        guard let question = state.withLock({ $0.questions.removeValue(forKey: id) }) else { return }
        question.answer(
            addresses.isEmpty ? .failure(NameFault(fault ?? "there is none")) : .success(addresses))
    }
}
