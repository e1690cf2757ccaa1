import Media
import WorkerProtocol

/// The worker process: runs the streams that a supervisor assigns to it over a socket pair.
public enum Worker {}
