import Synchronization

/// Channel: whether anybody receives the output, and how many pictures nobody has received.
///
/// - Writers: ``SendStage``, on the encode and the send thread (`Relay` sets ``isConnected`` once before the stages start); enhance
///   (``countUnseen()``).
/// - Readers: enhance (which spends no work on a picture that nobody receives), encode (likewise, and for slots; it shows no picture
///   again that has become old unseen).
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

    private let encodedIsTaken = Atomic<Bool>(false)

    /// Whether anybody receives the encoder's pictures, and not only those of the one more encode.
    var takesEncoded: Bool {
        get { encodedIsTaken.load(ordering: .relaxed) }
        set { encodedIsTaken.store(newValue, ordering: .relaxed) }
    }

    /// How many receivers have come since the stream began.
    var receiversSoFar: Int { receivers.load(ordering: .relaxed) }
    func countReceiver() { receivers.add(1, ordering: .relaxed) }

    private let unseen = Atomic<Int>(0)

    /// How many decoded pictures nobody has received.
    var picturesUnseen: Int { unseen.load(ordering: .relaxed) }
    func countUnseen() { unseen.add(1, ordering: .relaxed) }
}
