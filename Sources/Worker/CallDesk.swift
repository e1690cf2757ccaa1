import Endpoint
import Media
import Relay
import WorkerProtocol

/// Answers the WebRTC offers that come to a worker. The endpoint that holds the calls implements it.
///
/// Thread-safe. No call waits: the control thread of the worker makes them.
public protocol CallDesk: Sendable {
    /// Opens what a stream's called legs need.
    /// - Parameter configuration: gets their source and sinks.
    func open(_ stream: String, _ configuration: inout RelayConfiguration) throws(TransportError)
    /// Ends the calls of a stream that has ended. One without any is no fault.
    func close(_ stream: String)
    /// Answers an offer.
    /// - Parameter reply: called once, on any thread, with the answer (SDP) or why there is none.
    func answer(_ offer: OfferedCall, reply: @escaping @Sendable (Result<String, CallRefusal>) -> Void)
    /// Restarts the ICE session of a call.
    /// - Parameter reply: called once, on any thread, with the answer (a fragment) or why there is none.
    func restart(_ restart: RestartedCall, reply: @escaping @Sendable (Result<String, CallRefusal>) -> Void)
    /// Gives a viewer another layer from now on; nil is the one that their link carries. A call that has ended already is no fault.
    func choose(_ layer: ViewerLayer?, forCall call: UInt64)
    /// Ends a call. One that has ended already is no fault.
    func hangUp(_ call: UInt64)
    /// The calls of a stream that go on. Their ids are those of ``Caller/firstCall``.
    func callers(of stream: String) -> [Caller]
    /// Says what is to be done when a call that was answered is over, whoever ended it: its number.
    func onEnd(_ done: @escaping @Sendable (UInt64) -> Void)
    /// Says what is to be done with what happens to a stream's calls.
    func onEvent(_ event: @escaping @Sendable (_ stream: String, StreamEvent) -> Void)
}

extension CallDesk {
    public func callers(of stream: String) -> [Caller] { [] }
}

/// A peer's offer to a stream of this worker.
public struct OfferedCall: Hashable, Sendable {
    /// What the supervisor knows the call by.
    public var number: UInt64
    public var stream: String
    public var side: CallSide
    /// The session description (SDP), as the peer wrote it.
    public var description: String
    /// A peer that publishes takes the place of one who is still heard.
    public var takesOver: Bool
    /// What a viewer asks for; nil for what their link carries.
    public var layer: ViewerLayer?
    /// The one that a viewer's program shows; nil for any.
    public var profile: ViewerProfile?

    public init(
        number: UInt64, stream: String, side: CallSide, description: String, takesOver: Bool = false,
        layer: ViewerLayer? = nil, profile: ViewerProfile? = nil
    ) {
        self.number = number
        self.stream = stream
        self.side = side
        self.description = description
        self.takesOver = takesOver
        (self.layer, self.profile) = (layer, profile)
    }
}

/// A peer comes from another network: the new names of its ICE session.
public struct RestartedCall: Hashable, Sendable {
    /// The call's number (``OfferedCall/number``).
    public var number: UInt64
    public var userFragment: String
    public var password: String

    public init(number: UInt64, userFragment: String, password: String) {
        (self.number, self.userFragment, self.password) = (number, userFragment, password)
    }
}
