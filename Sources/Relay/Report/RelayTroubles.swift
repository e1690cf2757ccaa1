import Endpoint
import Media
import Packets
import Transport

/// What keeps one end of a relay from its peer, or its peer's stream from being relayed.
public struct RelayTrouble: Hashable, Sendable {
    /// The output's place in the configuration; nil for the input.
    public var output: Int?
    public var trouble: LegTrouble
}

/// Collects the present troubles of a relay's ends. A value of the observer thread, asked once a second.
struct RelayTroubles {
    /// Why nothing of the present source can be relayed, and how many pictures had come before that was known.
    private var unusable: (text: String, pictures: UInt64)?
    /// Datagrams that each output had sent, and could not send, a second ago. Nobody answers these.
    private var datagrams: [Int: (sent: Int64, dropped: Int64)] = [:]

    /// - Parameter pictures: how many have come so far.
    mutating func record(_ event: RelayEvent, pictures: UInt64) {
        switch event {
        case .unusableInput(let text): unusable = (text, pictures)
        case .input(.connected), .input(.disconnected): unusable = nil
        default: break
        }
    }

    /// - Parameters:
    ///   - pictures: how many have come so far.
    ///   - outputs: in the order of the configuration.
    /// Allocates nothing where there is no trouble.
    mutating func present(pictures: UInt64, input: LegTrouble?, outputs: [Sink]) -> [RelayTrouble] {
        if let found = unusable, found.pictures != pictures { unusable = nil }
        var troubles: [RelayTrouble] = []
        if let trouble = input ?? unusable.map({ LegTrouble(.unusable, $0.text) }) {
            troubles.append(RelayTrouble(output: nil, trouble: trouble))
        }
        for index in outputs.indices {
            if let trouble = outputs[index].trouble ?? unreachable(index, outputs[index]) {
                troubles.append(RelayTrouble(output: index, trouble: trouble))
            }
        }
        return troubles
    }

    /// No datagram has left since the last look, although there were some.
    private mutating func unreachable(_ index: Int, _ sink: Sink) -> LegTrouble? {
        guard let figures = sink.unansweredFigures else { return nil }
        let former = datagrams.updateValue((figures.packetsSent, figures.packetsDropped), forKey: index)
        guard let former, figures.packetsSent == former.sent, figures.packetsDropped > former.dropped else { return nil }
        return LegTrouble(.unreachable, "\(sink.url): no datagram leaves this machine: is there a way there?")
    }
}

extension Sink {
    /// The figures of an output whose peer never answers; nil elsewhere.
    var unansweredFigures: LegFigures? {
        switch url {
        case .rtp, .udp: statistics()
        case .srt, .sdp, .call, .file, .standardStream: nil
        }
    }
}
