import Endpoint
import Media
import Relay
import WebRTC
import WorkerProtocol

/// Answers the WebRTC offers to the streams of a worker. Thread-safe.
public final class WorkerCalls: CallDesk {
    private struct State {
        var streams: [String: StreamCalls] = [:]
        /// The stream of each call that goes on.
        var calls: [UInt64: String] = [:]
        var done: (@Sendable (UInt64) -> Void)?
        var event: (@Sendable (_ stream: String, StreamEvent) -> Void)?
    }

    private let identity: DTLSIdentity
    private let state = Lock(State())

    /// Makes the process's certificate and loads the libraries that calls need, which a sandbox no longer allows.
    /// - Returns: nil when they cannot be used.
    public init?() {
        guard SRTPLibrary.prepare(), let identity = DTLSIdentity() else { return nil }
        self.identity = identity
    }

    /// Says what is to be done with events of calls.
    public func onEvent(_ event: @escaping @Sendable (_ stream: String, StreamEvent) -> Void) {
        state.withLock { $0.event = event }
    }

    public func onEnd(_ done: @escaping @Sendable (UInt64) -> Void) { state.withLock { $0.done = done } }

    /// Opens what a stream's called legs need.
    /// - Parameter configuration: gets their source and sinks.
    public func open(_ stream: String, _ configuration: inout RelayConfiguration) throws(TransportError) {
        let calls = try StreamCalls(&configuration, identity: identity) { [weak self] _, text in
            self?.state.withLock { $0.event }?(stream, StreamEvent(.message, text))
        } changed: { [weak self] number, side, change in
            self?.follow(stream, number, side, change)
        }
        guard let calls else { return }
        let event = state.withLock { state in
            state.streams[stream] = calls
            return state.event
        }
        event?(stream, StreamEvent(.message, "media of calls comes to and goes from UDP port \(calls.localPort)"))
    }

    /// Ends the calls of a stream that has ended. One without any is no fault.
    public func close(_ stream: String) {
        let calls = state.withLock { $0.streams.removeValue(forKey: stream) }
        calls?.close()
    }

    public func answer(_ offer: OfferedCall, reply: @escaping @Sendable (Result<String, CallRefusal>) -> Void) {
        guard let calls = state.withLock({ $0.streams[offer.stream] }) else {
            return reply(.failure(CallRefusal(.unavailable, "the stream has no legs of whip: or whep:, or is not open yet")))
        }
        // Before the answer: the call may end as soon as there is one.
        state.withLock { $0.calls[offer.number] = offer.stream }
        let answer = calls.answer(offer)
        if case .failure = answer { state.withLock { $0.calls[offer.number] = nil } }
        reply(answer)
    }

    public func restart(_ call: RestartedCall, reply: @escaping @Sendable (Result<String, CallRefusal>) -> Void) {
        reply(calls(of: call.number)?.restart(call) ?? .failure(StreamCalls.over))
    }

    public func choose(_ layer: ViewerLayer?, forCall call: UInt64) { calls(of: call)?.choose(layer, forCall: call) }

    public func hangUp(_ call: UInt64) { calls(of: call)?.hangUp(call) }

    private func calls(of call: UInt64) -> StreamCalls? {
        state.withLock { state in state.calls[call].flatMap { state.streams[$0] } }
    }

    public func callers(of stream: String) -> [Caller] {
        state.withLock { $0.streams[stream] }?.callers ?? []
    }

    private func follow(_ stream: String, _ number: UInt64, _ side: CallSide, _ change: PeerChange) {
        let (event, done) = state.withLock { state in
            if case .ended = change { state.calls[number] = nil }
            return (state.event, state.done)
        }
        switch change {
        // The source reports its publisher by itself, when pictures come.
        case .connected(let address, _):
            if side == .play { event?(stream, StreamEvent(.outputUp, "viewer \(address) watches")) }
        case .moved(let address): event?(stream, StreamEvent(.message, "a peer of a call is at \(address) now"))
        case .ended(let end):
            event?(
                stream,
                StreamEvent(side == .play ? .outputDown : .message, "call \(number) is over: \(end)", isUsual: true))
            done?(number)
        }
    }
}
