import Synchronization

/// Channel: whether anybody receives the output.
///
/// - Writer: ``SendStage``, on whichever of its two threads. `Relay` sets it once before the stages start.
/// - Readers: enhance (which spends no work on a picture that nobody receives), encode (likewise, and for slots).
/// - Read together: nothing.
///
/// Thread-safe; one atomic each.
final class OutputConnection: Sendable {
    private let connected = Atomic<Bool>(false)
    private let receivers = Atomic<Int>(0)

    var isConnected: Bool {
        get { connected.load(ordering: .relaxed) }
        set { connected.store(newValue, ordering: .relaxed) }
    }

    /// How many receivers have come since the stream began.
    var receiversSoFar: Int { receivers.load(ordering: .relaxed) }
    func countReceiver() { receivers.add(1, ordering: .relaxed) }
}
