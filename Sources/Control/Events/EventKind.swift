import WorkerProtocol

/// What an event is about: a closed list, because operators filter by it.
public enum EventKind: String, Sendable, CaseIterable {
    // Of the service.
    case serviceStarted, serviceEnding, reloaded, reloadFailed
    // Of a stream, from its supervisor.
    case added, removed, changed, started, restarted, ended, backingOff, stopped, refused, crashed
    // Of a stream, from its worker.
    case inputUp, inputDown, inputRefused, inputGap, outputUp, outputDown, outputRefused
    case picture, rung, settings, recording, recordingFailed, message
    // Of what was asked for.
    case still, clip, readiness, reaction
    // Of a room.
    case guest

    /// The kind of a worker's event.
    init(_ kind: StreamEvent.Kind) { self = EventKind(rawValue: kind.rawValue) ?? .message }
}
