import Endpoint

/// The two sockets of an RTP leg, on neighbouring ports: the stream's, and above it RTCP's.
struct RTPSockets: ~Copyable {
    let stream: DatagramSocket
    let reports: DatagramSocket

    /// How many free ports are tried for a pair.
    private static let attempts = 64

    private init(_ stream: consuming DatagramSocket, _ reports: consuming DatagramSocket) {
        self.stream = stream
        self.reports = reports
    }

    /// Receives on the endpoint's port and the one above.
    static func bound(to endpoint: RTPEndpoint) throws(TransportError) -> RTPSockets {
        let place = endpoint.description
        let address = try NameLookup.find(host: endpoint.host, port: endpoint.port, place: place)
        if endpoint.port != 0 {
            let stream = try DatagramSocket(boundTo: address, place: place)
            let above = "\(place), whose RTCP has port \(endpoint.port + 1)"
            return RTPSockets(
                stream, try DatagramSocket(boundTo: address.with(port: endpoint.port + 1), place: above))
        }
        // The system gives one port. The next one may be taken.
        for _ in 0..<attempts {
            let first = try DatagramSocket(boundTo: address, place: place)
            guard first.localPort < .max,
                let second = try? DatagramSocket(boundTo: address.with(port: first.localPort + 1), place: place)
            else { continue }
            return RTPSockets(first, second)
        }
        throw TransportError(.cannotBind, place: place, "found no two free ports in a row; give a port")
    }

    /// Sends to the endpoint's port and the one above.
    static func sending(to endpoint: RTPEndpoint) throws(TransportError) -> RTPSockets {
        let place = endpoint.description
        let address = try NameLookup.find(host: endpoint.host, port: endpoint.port, place: place)
        let stream = try DatagramSocket(sendingTo: address, place: place)
        return RTPSockets(
            stream, try DatagramSocket(sendingTo: address.with(port: endpoint.port + 1), place: place))
    }
}
