import Media
import Settings
@testable import Relay

/// A relay that its own codecs can stop and change.
final class RelayBox: Sendable {
    private let relay = Lock<Relay?>(nil)

    /// Nil at the end: the relay holds its codecs, and they hold this.
    func put(_ relay: Relay?) { self.relay.withLock { $0 = relay } }
    func stop() { relay.withLock { $0 }?.stop() }

    /// Changes settings of the running relay.
    func change(_ adjust: (inout StreamSettings) -> Void) {
        guard let relay = relay.withLock({ $0 }) else { return }
        var settings = relay.settings
        adjust(&settings)
        relay.change(settings)
    }
}
