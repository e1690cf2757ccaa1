/// Decides about callers that the static rules (stream ID, mode, rate) would admit; for rules that live elsewhere.
public protocol CallerJudge: Sendable {
    /// Called on the thread that receives the port's packets, so it must return at once. A caller that gets no verdict asks
    /// again every 250 ms for as long as it waits, three seconds by default, and is judged again each time.
    /// - Returns: nil while there is no verdict.
    func verdict(on call: Call) -> CallerVerdict?
}

public enum CallerVerdict: Hashable, Sendable { case admit, refuse }

/// Somebody who calls a listening SRT port. Nothing but the address is proven.
public struct Call: Hashable, Sendable {
    /// The address and port that the call comes from.
    public var peer: String
    /// As the caller sent it; empty when it sent none.
    public var streamID: String
    /// Whether it is to send, not to receive.
    public var publishes: Bool

    public init(peer: String, streamID: String, publishes: Bool) {
        self.peer = peer
        self.streamID = streamID
        self.publishes = publishes
    }
}
