import Endpoint
import ServiceConfiguration
import Settings
import WorkerProtocol

// What the supervisor and the worker need to know of a stream's definition.
extension StreamDefinition {
    var legs: [StreamLeg] { [input] + outputs }

    /// What a worker is told. Holds secrets.
    var assignment: WorkerAssignment {
        var assignment = WorkerAssignment(
            stream: name, input: input.textWithSecrets, outputs: outputs.map(\.textWithSecrets), settings: values.texts)
        assignment.descriptions = legs.compactMap { leg in
            if case .sdp(let endpoint) = leg.url { endpoint.content.flatMap { SDPText($0) } } else { nil }
        }
        return assignment
    }

    /// The ports on which several streams may listen, told apart by their SRT stream ids.
    var sharedPorts: Set<UInt16> {
        Set(
            legs.compactMap { leg in
                guard case .srt(let endpoint) = leg.url, endpoint.mode == .listener, endpoint.port != 0 else { return nil }
                return endpoint.port
            })
    }

    /// The hosts that a worker may have resolved for the stream.
    var hosts: Set<String> {
        Set(
            legs.flatMap { leg -> [String] in
                switch leg.url {
                case .srt(let endpoint): [endpoint.host]
                case .rtp(let endpoint): [endpoint.host]
                case .udp(let endpoint): [endpoint.host]
                case .sdp(let endpoint): endpoint.hosts
                case .call, .file, .standardStream: []
                }
            })
    }

    /// Where its ends listen, and whom they call, for people.
    func places(inputPort: UInt16?, outputPorts: [UInt16]) -> String {
        let ports = [inputPort] + outputs.indices.map { outputPorts.indices.contains($0) ? outputPorts[$0] : nil }
        let words = zip(legs, ports).enumerated().map { index, end in
            let name = index == 0 ? "input" : outputs.count == 1 ? "output" : "output \(index)"
            return "\(name) \(Self.words(end.0, port: end.1))"
        }
        return words.joined(separator: "; ")
    }

    private static func words(_ leg: StreamLeg, port: UInt16?) -> String {
        func place(_ scheme: String, _ host: String, _ port: UInt16) -> String {
            "\(scheme)://\(host.isEmpty ? "0.0.0.0" : host.contains(":") ? "[\(host)]" : host):\(port)"
        }
        switch leg.url {
        case .srt(let endpoint):
            let bound = endpoint.port == 0 ? port ?? 0 : endpoint.port
            return (endpoint.mode == .listener ? "listens on " : "calls ") + place("srt", endpoint.host, bound)
        case .rtp, .udp: return shown(leg, port: port)
        case .call(let endpoint): return "takes calls to /\(endpoint.side.rawValue)/\(endpoint.name)"
        case .sdp, .file, .standardStream: return leg.description
        }
    }

    /// Its ends for whoever wants to reach them, as far as their ports are known.
    func ends(inputPort: UInt16?, outputPorts: [UInt16]) -> [StreamStatus.End] {
        legs.enumerated().compactMap { index, leg in
            let isInput = index == 0
            let port = isInput ? inputPort : outputPorts.indices.contains(index - 1) ? outputPorts[index - 1] : nil
            guard let url = leg.url.bound(to: port ?? 0) else { return nil }
            let token = isInput ? callTokens.publish : callTokens.play
            return StreamStatus.End(
                isInput: isInput, url, hasPassphrase: leg.hasPassphrase, hasStreamID: leg.hasStreamID, hasToken: token != nil)
        }
    }

    /// A leg for people: without secrets, with the port that was really bound.
    static func shown(_ leg: StreamLeg, port: UInt16?) -> String {
        guard let port, port != 0 else { return leg.description }
        switch leg.url {
        case .srt(var endpoint) where endpoint.mode == .listener && endpoint.port == 0:
            endpoint.port = port
            return StreamURL.srt(endpoint).description
        case .rtp(var endpoint) where endpoint.port == 0:
            endpoint.port = port
            return StreamURL.rtp(endpoint).description
        case .udp(var endpoint) where endpoint.port == 0:
            endpoint.port = port
            return StreamURL.udp(endpoint).description
        case .srt, .rtp, .udp, .sdp, .call, .file, .standardStream: return leg.description
        }
    }
}

extension StreamURL {
    /// Without secrets, and with the port that was bound; nil where it is not known.
    fileprivate func bound(to port: UInt16) -> StreamURL? {
        switch self {
        case .srt(var endpoint):
            (endpoint.passphrase, endpoint.streamID) = (nil, nil)
            if endpoint.port == 0 { endpoint.port = port }
            return endpoint.port == 0 ? nil : .srt(endpoint)
        case .rtp(var endpoint):
            if endpoint.port == 0 { endpoint.port = port }
            return endpoint.port == 0 ? nil : .rtp(endpoint)
        case .udp(var endpoint):
            if endpoint.port == 0 { endpoint.port = port }
            return endpoint.port == 0 ? nil : .udp(endpoint)
        case .sdp, .call, .file, .standardStream: return self
        }
    }
}
