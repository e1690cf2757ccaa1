import Settings
import Yams

/// The service's configuration, as its file says it.
public struct ServiceConfiguration: Sendable {
    public init() {}
}
