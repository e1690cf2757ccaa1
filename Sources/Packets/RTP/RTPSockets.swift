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
        guard endpoint.multicast.ttl == nil else {
            throw TransportError(.badURL, place: place, "ttl is for outputs: an input sends nothing to the group")
        }
        return try NameLookup.open(host: endpoint.host, port: endpoint.port, place: place) { address throws(TransportError) in
            try bound(to: address, endpoint, place)
        }
    }

    private static func bound(
        to address: SocketAddress, _ endpoint: RTPEndpoint, _ place: String
    ) throws(TransportError) -> RTPSockets {
        let interface = endpoint.multicast.interface
        if endpoint.port != 0 {
            let stream = try DatagramSocket(boundTo: address, interface: interface, place: place)
            let above = "\(place), whose RTCP has port \(endpoint.port + 1)"
            return RTPSockets(
                stream, try DatagramSocket(boundTo: address.with(port: endpoint.port + 1), interface: interface, place: above))
        }
        // The system gives one port. The next one may be taken.
        for _ in 0..<attempts {
            let first = try DatagramSocket(boundTo: address, interface: interface, place: place)
            guard first.localPort < .max,
                let second = try? DatagramSocket(
                    boundTo: address.with(port: first.localPort + 1), interface: interface, place: place)
            else { continue }
            return RTPSockets(first, second)
        }
        throw TransportError(.cannotBind, place: place, "found no two free ports in a row; give a port")
    }

    /// Sends to the endpoint's port and the one above.
    static func sending(to endpoint: RTPEndpoint) throws(TransportError) -> RTPSockets {
        let place = endpoint.description
        let multicast = endpoint.multicast
        return try NameLookup.open(host: endpoint.host, port: endpoint.port, place: place) { address throws(TransportError) in
            RTPSockets(
                try DatagramSocket(sendingTo: address, multicast, place: place),
                try DatagramSocket(sendingTo: address.with(port: endpoint.port + 1), multicast, place: place))
        }
    }
}
