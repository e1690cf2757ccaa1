import Endpoint
import Media

/// Lets the units of a file come at the pace of their decoding times, as from a live source.
///
/// Confined to the ingest thread.
final class FilePace {
    private var origin: (time: MonotonicTime, decode: MediaTime)?

    /// A step between two units that is no pace but a jump.
    private static let longestStep = Nanoseconds.seconds(3)

    init() {}

    /// When a unit is due; nil when it is due now.
    func due(_ decode: MediaTime) -> MonotonicTime? {
        let now = MonotonicTime.now()
        if let origin {
            let due = origin.time + MediaTime(ticks: decode - origin.decode).nanoseconds
            if due >= now - Self.longestStep, due <= now + Self.longestStep { return due }
        }
        origin = (now, decode)
        return nil
    }
}

extension StreamURL {
    /// Whether the source sets the pace and cannot be made to wait.
    var isLive: Bool {
        switch self {
        case .srt, .rtp, .sdp, .udp, .call: true
        case .file, .standardStream: false
        }
    }
}
