import Endpoint
import Media

extension MediaSource {
    /// Listens on the ports that a description names.
    package convenience init(_ endpoint: SDPEndpoint) throws(TransportError) {
        try endpoint.check(isInput: true)
        let description = try CallDescription(of: endpoint, isInput: true)
        try self.init(description, latency: endpoint.latency, bitRate: endpoint.bitRate, place: oneLine(endpoint.path))
    }

    /// - Parameter description: a port of 0 stands for any free one.
    convenience init(
        _ description: CallDescription, latency: Nanoseconds?, bitRate: Int? = nil, place: String
    ) throws(TransportError) {
        var sockets: [CallSocket] = []
        for section in description.sections {
            let named = try NameLookup.find(host: section.host, port: section.port, place: place)
            // The description's address is where the sender sends to. A host with several ones may get it at any.
            let address = named.isLoopback || named.isMulticast ? named : named.anyAddress(port: section.port)
            sockets.append(try .bound(to: address, controlPort: section.controlPort, place: place))
        }
        self.init(
            UDPCallWire(description.sections.map(\.track), sockets), latency: latency, bitRate: bitRate,
            leftOut: description.leftOut)
    }
}

extension UDPCallSink {
    /// The payload types of our own descriptions.
    private enum PayloadType {
        static let video: UInt8 = 96
        static let sound: UInt8 = 97
        static let repeatedVideo: UInt8 = 98
    }

    /// Sends to an address, and writes the description for it; or sends to where a description says.
    package convenience init(_ endpoint: SDPEndpoint) throws(TransportError) {
        try endpoint.check(isInput: false)
        guard let destination = endpoint.destination else {
            try self.init(try CallDescription(of: endpoint, isInput: false), place: oneLine(endpoint.path))
            return
        }
        let sections = Self.sections(to: destination)
        try self.init(CallDescription(sections: sections), place: oneLine(endpoint.path))
        try SmallFile.write(Self.description(of: sections, destination).text, to: endpoint.path)
    }

    /// Sends to the endpoint's destination, and writes the description into a file that somebody else has opened.
    package convenience init(_ endpoint: SDPEndpoint, writingTo number: Int32) throws(TransportError) {
        let file = Descriptor(owning: number)
        let place = oneLine(endpoint.path)
        try endpoint.check(isInput: false)
        guard let destination = endpoint.destination else {
            throw TransportError(.badURL, place: place, "has no to=HOST:PORT, so its description is not written")
        }
        let sections = Self.sections(to: destination)
        try self.init(CallDescription(sections: sections), place: place)
        try SmallFile.write(Self.description(of: sections, destination).text, to: file, place: place)
    }

    /// Our own tracks.
    private static func sections(to destination: SDPEndpoint.Destination) -> [CallDescription.Section] {
        var video = RTPTrack([RTPFormat(.h264, payloadType: PayloadType.video)])
        video.feedback = [.retransmission, .pictureLoss, .intraRequest]
        video.source = .random(in: 1 ... .max)
        var sound = RTPTrack([RTPFormat(.opus, payloadType: PayloadType.sound, channels: 2)])
        sound.source = .random(in: 1 ... .max)
        return [(video, destination.port), (sound, destination.port + 2)].map { track, port in
            CallDescription.Section(track: track, host: destination.host, port: port, controlPort: 0)
        }
    }

    convenience init(_ description: CallDescription, place: String) throws(TransportError) {
        guard let video = description.sections.first(where: { $0.track.isVideo }),
            let h264 = video.track.formats.first(where: { $0.codec == .h264 })
        else { throw TransportError(.badURL, place: place, "an output needs a section of video in H.264") }
        var sockets: [CallSocket] = []
        var tracks: [RTPTrack] = []
        for section in description.sections {
            let address = try NameLookup.find(host: section.host, port: section.port, place: place)
            let own = try CallSocket.bound(
                to: address.anyAddress(port: 0), controlPort: section.controlPort == nil ? nil : 0, place: place)
            let control = section.controlPort.map { address.with(port: $0 == 0 ? section.port &+ 1 : $0) }
            own.peer.withLock { $0 = (address, control ?? address) }
            sockets.append(own)
            var track = section.track
            if track.isVideo { track.formats = [h264] }
            tracks.append(track)
        }
        self.init(tracks, sockets, peer: "\(bracketed(video.host)):\(video.port)")
    }

    /// What a receiver has to know.
    private static func description(
        of sections: [CallDescription.Section], _ destination: SDPEndpoint.Destination
    ) -> SessionDescription {
        var session = SessionDescription()
        session.origin.session = String(UInt32.random(in: 1 ... .max))
        session.origin.version = "1"
        session.name = "Burnish"
        session.connection = destination.host
        for section in sections {
            let track = section.track
            let format = track.formats[0]
            var media = MediaSection(
                kind: track.isVideo ? "video" : "audio", port: section.port, transport: "RTP/AVPF",
                formats: [String(format.payloadType)])
            let map = MediaSection.RTPMap(
                payloadType: format.payloadType, encoding: format.codec.encoding, clockRate: format.clockRate,
                channels: format.channels)
            media.add("rtpmap", map.text)
            if track.isVideo {
                media.add("fmtp", "\(format.payloadType) packetization-mode=1")
                for feedback in ["nack", "nack pli", "ccm fir"] { media.add("rtcp-fb", "\(format.payloadType) \(feedback)") }
            }
            media.add("sendonly")
            if let source = track.source { media.add("ssrc", "\(source) cname:burnish") }
            session.media.append(media)
        }
        return session
    }
}
