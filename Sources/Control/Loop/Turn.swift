/// Lets one task after the other do something that an actor's reentrancy would otherwise mix.
///
/// Belongs to one actor, which makes every call.
final class Turn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Waits until all who came before have called ``end()``.
    func begin(isolation: isolated (any Actor)? = #isolation) async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func end() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            // The turn passes on without being free between.
            waiting.removeFirst().resume()
        }
    }
}
