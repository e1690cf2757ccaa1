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
