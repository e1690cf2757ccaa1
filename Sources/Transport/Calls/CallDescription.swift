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

    /// Reads a description from a file.
    static func read(_ path: String) throws(TransportError) -> CallDescription {
        let bytes = try SmallFile.read(path, most: SessionDescription.Limit.bytes + 1)
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(SDPFault) {
            return try CallDescription(try SessionDescription(parsing: text), place: oneLine(path))
        } catch {
            throw TransportError(.badURL, place: oneLine(path), "\(error)")
        }
    }

    /// The first section of video and the first of sound that can be used.
    init(_ session: SessionDescription, place: String) throws(SDPFault) {
        for section in session.media where section.port != 0 {
            guard section.transport.hasPrefix("RTP/AVP") else {
                leftOut.append("\(section.kind): \(section.transport) is not plain RTP (RTP/AVP or RTP/AVPF)")
                continue
            }
            guard let track = RTPTrack(section) else {
                let formats = section.rtpMaps.map(\.encoding).joined(separator: ", ")
                leftOut.append("\(section.kind): \(formats.isEmpty ? "no known format" : formats) cannot be read")
                continue
            }
            guard !sections.contains(where: { $0.track.isVideo == track.isVideo }) else {
                leftOut.append("\(section.kind): one stream of each kind is used")
                continue
            }
            sections.append(
                Section(
                    track: track, host: session.connection(of: section) ?? "", port: section.port,
                    controlPort: section.hasMultiplexedRTCP ? nil : section.rtcpPort ?? 0))
        }
        // Pictures first: they keep the time.
        sections.sort { $0.track.isVideo && !$1.track.isVideo }
        guard !sections.isEmpty else {
            throw SDPFault(
                line: 0, "it names no stream of H.264, VP8 or Opus over plain RTP" + (leftOut.first.map { " (\($0))" } ?? ""))
        }
    }
}
