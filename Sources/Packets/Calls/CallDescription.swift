import Endpoint

/// The tracks that a session description's sections make up, and their sockets' addresses.
struct CallDescription {
    struct Section {
        var track: RTPTrack
        /// Empty for any address.
        var host: String
        var port: UInt16
        /// RTCP's port: nil where it shares the stream's, 0 for the one above.
        var controlPort: UInt16?
    }

    var sections: [Section] = []
    /// What of it is left out, for people.
    var leftOut: [String] = []

    init(sections: [Section]) { self.sections = sections }

    /// Reads the description of an endpoint, from its file where nobody else has read that.
    /// - Parameter isInput: otherwise it must have a section of H.264.
    init(of endpoint: SDPEndpoint, isInput: Bool) throws(TransportError) {
        var text = endpoint.content ?? ""
        if endpoint.content == nil {
            let bytes = try SmallFile.read(endpoint.path, most: SessionDescription.Limit.bytes + 1)
            text = String(decoding: bytes, as: UTF8.self)
        }
        do throws(SDPFault) {
            let streams = try PlainRTP(parsing: text)
            if !isInput { _ = try streams.outputVideo() }
            self.init(streams)
        } catch {
            throw TransportError(.badURL, place: oneLine(endpoint.path), "\(error)")
        }
    }

    init(_ streams: PlainRTP) {
        leftOut = streams.leftOut
        sections = streams.sections.compactMap { section in
            RTPTrack(section.media).map {
                Section(track: $0, host: section.host, port: section.port, controlPort: section.controlPort)
            }
        }
    }
}
