import Media

/// Plain RTP as a session description says: a path that ends in `.sdp`.
///
/// An input listens on the ports that the description names. An output sends to where it says; with `to=HOST:PORT` it sends
/// there and writes the description to the path, for its receivers.
public struct SDPEndpoint: Hashable, Sendable {
    public struct Destination: Hashable, Sendable {
        public var host: String
        /// Of the video. The sound has the second port above; each has RTCP on the port above it.
        public var port: UInt16

        public init(host: String, port: UInt16) {
            self.host = host
            self.port = port
        }
    }

    public var path: String
    /// Where an output sends to; the description is then written.
    public var destination: Destination?
    /// How long an input waits for packets at most; nil for the usual.
    public var latency: Nanoseconds?
    /// The most bits a second that an input's sender is to send; nil for the usual.
    public var bitRate: Int?
    /// The file's text, where somebody else has read it: a worker in its sandbox opens no file.
    public var content: String?

    /// A packet that is later than this is lost.
    static let longestLatency: Int64 = 5_000  // ms

    public init(path: String, destination: Destination? = nil, latency: Nanoseconds? = nil) {
        self.path = path
        self.destination = destination
        self.latency = latency
    }

    /// Whether a path names a description. What stands behind a `?` is not a part of its name.
    static func isMeant(by path: String) -> Bool {
        [path[...], path.splitOnce(at: "?").0].contains { $0.lowercased().hasSuffix(".sdp") }
    }

    init(parsing text: String) throws(TransportError) {
        let (path, query) = text[...].splitOnce(at: "?")
        self.path = String(path)
        for pair in query?.split(separator: "&", omittingEmptySubsequences: true) ?? [] {
            let (key, value) = pair.splitOnce(at: "=")
            switch key {
            case "to":
                guard destination == nil else { throw fault("key to is given twice") }
                let (host, port) = try hostAndPort(value ?? "", scheme: "to")
                guard !host.isEmpty, (1...65_532).contains(port) else {
                    throw fault("to=HOST:PORT names a host and a port from 1 to 65532: the three above it are used, too")
                }
                destination = Destination(host: host, port: port)
            case "latency":
                guard latency == nil else { throw fault("key latency is given twice") }
                guard let value, let milliseconds = Int64(value), (0...Self.longestLatency).contains(milliseconds) else {
                    throw fault("latency is in milliseconds, 0 to \(Self.longestLatency), not \(quoted(value ?? ""))")
                }
                latency = Nanoseconds(milliseconds * 1_000_000)
            case "bitrate":
                guard bitRate == nil else { throw fault("key bitrate is given twice") }
                guard let rate = Endpoint.bitRate(value ?? "") else {
                    throw fault("bitrate is bits a second, as 2M or 800k, not \(quoted(value ?? ""))")
                }
                bitRate = rate
            default: throw fault("unknown key \(quotedKey(key)); known are to, latency, bitrate")
            }
        }
    }

    private func fault(_ message: String) -> TransportError { TransportError(.badURL, place: oneLine(path), message) }

    /// Whether the description is written. Otherwise it is read.
    public var isWritten: Bool { destination != nil }

    /// - Throws: `badURL` when it has a key that is for the other side.
    public func check(isInput: Bool) throws(TransportError) {
        if isInput, destination != nil {
            throw fault("to=… is for outputs: an input listens on the description's ports")
        }
        if !isInput, latency != nil { throw fault("latency is for inputs: an output waits for nothing") }
        if !isInput, bitRate != nil { throw fault("bitrate is for inputs: an output's rate is the stream's bitrate") }
    }

    /// The hosts that it sends to or receives at, as far as they are known before the file is read.
    public var hosts: [String] {
        if let destination { return [destination.host] }
        guard let content, let streams = try? PlainRTP(parsing: content) else { return [] }
        return streams.sections.map(\.host).filter { !$0.isEmpty }
    }
}

extension SDPEndpoint: CustomStringConvertible {
    public var description: String {
        var keys: [String] = []
        if let destination { keys.append("to=\(bracketed(destination.host)):\(destination.port)") }
        if let latency { keys.append("latency=\(latency.count / 1_000_000)") }
        if let bitRate { keys.append("bitrate=\(bitRateText(bitRate))") }
        return oneLine(path) + (keys.isEmpty ? "" : "?" + keys.joined(separator: "&"))
    }
}
