/// What the answer to an ICE restart needs of a call's description (RFC 8840; RFC 9725, 4.3.3).
public struct RestartFragment: Hashable, Sendable {
    private let bundle: [String]
    private let section: String
    private let mid: String

    /// - Parameter offer: the one that the call began with.
    public init(_ offer: CallOffer) {
        bundle = offer.answeredBundle
        let track = bundle.first.flatMap { mid in offer.tracks.first { $0.mid == mid } } ?? offer.tracks[0]
        mid = track.mid
        section = "\(track.kind.rawValue) 9 UDP/TLS/RTP/SAVPF \(track.payloadType)"
    }

    /// The fragment (`application/trickle-ice-sdpfrag`): our new names and our addresses.
    public func text(_ transport: PeerAnswer) -> String {
        var lines = ["a=ice-lite"]
        if !bundle.isEmpty { lines.append("a=group:BUNDLE " + bundle.joined(separator: " ")) }
        lines.append("m=" + section)
        if !mid.isEmpty { lines.append("a=mid:" + mid) }
        for (name, value) in transport.attributes { lines.append("a=" + name + (value.map { ":" + $0 } ?? "")) }
        return lines.map { $0 + "\r\n" }.joined()
    }
}
