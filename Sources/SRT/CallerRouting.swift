import Endpoint
import Media
import Packets

/// Which leg of a listening port a caller wants. A pure function.
enum CallerRouting {
    /// A leg as far as callers can name it.
    struct Candidate {
        /// Nil takes every caller, and is alone on its port.
        var streamID: String?
        var direction: SRTLink.Direction
    }

    enum Choice: Hashable {
        case leg(Int)
        case refused(RefusalReason)
    }

    /// - Parameter streamID: as the caller sent it; empty when it sent none.
    static func choose(_ streamID: String, among legs: [Candidate]) -> Choice {
        let request = StreamRequest(parsing: streamID)
        var keys: StreamRequest.Keys?
        if case .keyed(let found) = request { keys = found }
        // The same text is always right. An input and an output may share it: then the mode decides, as below.
        let exact = legs.indices.filter { legs[$0].streamID == streamID }
        if exact.count == 1 { return .leg(exact[0]) }
        if exact.count > 1 { return choose(keys?.mode ?? .request, among: exact, of: legs) }
        if let keys {
            let named = legs.indices.filter { legs[$0].streamID == keys.resource || legs[$0].streamID == nil }
            guard !named.isEmpty else { return .refused(.unknownStream) }
            guard keys.type ?? "stream" == "stream" else { return .refused(.malformedStreamID) }
            // A leg that takes every caller has never asked for a mode; only one that contradicts it is refused.
            if named.count == 1, legs[named[0]].streamID == nil, keys.mode == nil { return .leg(named[0]) }
            return choose(keys.mode ?? .request, among: named, of: legs)
        }
        if let any = legs.firstIndex(where: { $0.streamID == nil }) { return .leg(any) }
        return .refused(request == .malformed ? .malformedStreamID : .unknownStream)
    }

    private static func choose(_ mode: StreamRequest.Mode, among named: [Int], of legs: [Candidate]) -> Choice {
        let wanted: SRTLink.Direction? =
            switch mode {
            case .publish: .input
            case .request: .output
            case .bidirectional: nil
            }
        return named.first { legs[$0].direction == wanted }.map { .leg($0) } ?? .refused(.wrongMode)
    }
}
