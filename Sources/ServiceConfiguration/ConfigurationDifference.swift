import Settings

/// What has to happen for one configuration to become another.
public struct ConfigurationDifference: Hashable, Sendable {
    /// New settings of a stream that goes on.
    public struct LiveChange: Hashable, Sendable {
        /// The stream as it is to be.
        public var stream: StreamDefinition
        /// The settings that change, as text with units. A text of nil returns to Burnish's own default.
        public var settings: [String: String?]
    }

    /// A stream that has to end and start again.
    public struct Restart: Hashable, Sendable {
        /// The stream as it is to be.
        public var stream: StreamDefinition
        /// The keys because of which it has to.
        public var keys: [String]
    }

    /// A key of the service itself.
    public struct ServiceChange: Hashable, Sendable {
        /// With its section: `http.port`.
        public var path: String
        /// Whether the new value takes hold only when the service is started again.
        public var needsRestart: Bool
    }

    public var added: [StreamDefinition] = []
    public var removed: [StreamDefinition] = []
    public var live: [LiveChange] = []
    public var restarted: [Restart] = []
    public var service: [ServiceChange] = []

    public var isEmpty: Bool { self == ConfigurationDifference() }
}

extension StreamDefinition {
    /// The keys that differ and that only a restart can change, and the settings that may change while the stream runs.
    public func difference(to new: StreamDefinition) -> StreamDifference {
        var difference = values.difference(to: new.values)
        var places: [String] = []
        if input != new.input { places.append("input") }
        if outputs != new.outputs { places.append("output") }
        if callers != new.callers { places.append("callers") }
        difference.restart = places + difference.restart
        return difference
    }
}

extension ServiceConfiguration {
    /// What has to happen for this configuration to become `new`.
    public func difference(to new: ServiceConfiguration) -> ConfigurationDifference {
        var difference = ConfigurationDifference()
        let old = Dictionary(uniqueKeysWithValues: streams.map { ($0.name, $0) })
        let names = Set(new.streams.map(\.name))
        difference.removed = streams.filter { !names.contains($0.name) }
        for stream in new.streams {
            guard let before = old[stream.name] else {
                difference.added.append(stream)
                continue
            }
            let change = before.difference(to: stream)
            if change.needsRestart {
                let keys = change.restart + change.live.keys.sorted()
                difference.restarted.append(ConfigurationDifference.Restart(stream: stream, keys: keys))
            } else if !change.isEmpty {
                difference.live.append(ConfigurationDifference.LiveChange(stream: stream, settings: change.live))
            }
        }
        for key in ServiceKeys.all where !key.isSecret && key.show(self) != key.show(new) {
            let change = ConfigurationDifference.ServiceChange(path: key.path, needsRestart: key.change == .restart)
            difference.service.append(change)
        }
        for (path, isSame) in [
            ("http.token", http.token == new.http.token), ("http.turn-secret", http.turnSecret == new.http.turnSecret),
        ] where !isSame {
            difference.service.append(ConfigurationDifference.ServiceChange(path: path, needsRestart: false))
        }
        return difference
    }
}
