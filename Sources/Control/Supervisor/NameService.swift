import Glibc
import Media
import Packets

/// Finds the addresses of hosts for workers, which may not ask the network themselves.
///
/// `getaddrinfo` blocks for as long as the name servers do not answer. So it runs on threads of its own, a few at a time;
/// more requests wait, and when too many wait, a request is answered with a fault. Each worker has a limit of its own, so that
/// one that asks again and again cannot keep the others from asking.
///
/// Thread-safe.
final class NameService: Sendable {
    struct Answer: Hashable, Sendable {
        /// As text, in the order in which they should be tried: `192.0.2.1`, `2001:db8::1`.
        var addresses: [String] = []
        var fault: String?
    }

    static let mostThreads = 4
    static let mostWaiting = 64
    /// Of one worker: requests that wait or are being answered.
    static let mostOfAWorker = 8
    /// The most addresses of one host.
    static let mostAddresses = 16

    private struct Request {
        var host: String
        var worker: Int
        var then: @Sendable (Answer) -> Void
    }

    private struct State {
        var waiting: [Request] = []
        var threads = 0
        /// The open requests of each worker.
        var open: [Int: Int] = [:]
    }

    private let state = Lock(State())
    private let lookUp: @Sendable (String) -> Answer

    /// - Parameter lookUp: may block.
    init(lookUp: @escaping @Sendable (String) -> Answer = NameService.lookUp) { self.lookUp = lookUp }

    /// Calls `then` once, on a thread of the resolver or, with a fault, on the caller's.
    func resolve(_ host: String, for worker: Int, then: @escaping @Sendable (Answer) -> Void) {
        enum Outcome { case full, tooMany, queued, thread }
        let outcome = state.withLock { state -> Outcome in
            guard state.open[worker, default: 0] < Self.mostOfAWorker else { return .tooMany }
            guard state.waiting.count < Self.mostWaiting else { return .full }
            state.open[worker, default: 0] += 1
            state.waiting.append(Request(host: host, worker: worker, then: then))
            guard state.threads < Self.mostThreads else { return .queued }
            state.threads += 1
            return .thread
        }
        switch outcome {
        case .queued: break
        case .tooMany: then(Answer(fault: "\(Self.mostOfAWorker) other names of this worker wait to be resolved"))
        case .full: then(Answer(fault: "\(Self.mostWaiting) other names wait to be resolved; the name servers do not answer"))
        case .thread: StageThread(name: "resolver") { [self] in work() }.detach()
        }
    }

    /// A thread ends when nothing waits.
    private func work() {
        while true {
            let request = state.withLock { state -> Request? in
                if state.waiting.isEmpty {
                    state.threads -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let request else { return }
            let answer = lookUp(request.host)
            state.withLock { state in
                state.open[request.worker, default: 1] -= 1
                if state.open[request.worker] == 0 { state.open[request.worker] = nil }
            }
            request.then(answer)
        }
    }

    /// Asks the system's resolver.
    @Sendable static func lookUp(_ host: String) -> Answer {
        switch SocketAddress.lookUp(host) {
        case .success(let addresses): Answer(addresses: Array(addresses.prefix(mostAddresses)))
        case .failure(let fault): Answer(fault: fault.text)
        }
    }
}
