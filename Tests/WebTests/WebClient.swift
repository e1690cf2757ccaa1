import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A client that sends the bytes that it is told to, right or wrong, and reads what comes back.
struct WebClient: Sendable {
    struct Answer: Sendable {
        var status: Int
        /// Names in lower case; the last of a name counts.
        var headers: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:] }
    }

    enum Fault: Error { case closed, notHTTP(String) }

    let port: Int
    var trust: NIOSSLContext?

    static let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Sends one request on a connection of its own.
    func send(
        _ method: String, _ path: String, headers: [String: String] = [:], body: String? = nil
    ) async throws -> Answer {
        var headers = headers
        if headers["Host"] == nil { headers["Host"] = "127.0.0.1:\(port)" }
        if let body {
            headers["Content-Length"] = "\(body.utf8.count)"
            if headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        }
        let head = "\(method) \(path) HTTP/1.1\r\n" + headers.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n"
        return try await connect { connection async throws in
            try await connection.write(head + (body ?? ""))
            return try await connection.answer(to: method)
        }
    }

    func get(_ path: String, headers: [String: String] = [:]) async throws -> Answer {
        try await send("GET", path, headers: headers)
    }

    /// Opens a connection that sends nothing.
    func open() async throws -> any Channel {
        try await ClientBootstrap(group: Self.loops).connect(host: "127.0.0.1", port: port).get()
    }

    /// Opens a connection for as long as `body` runs.
    func connect<Value: Sendable>(_ body: @escaping @Sendable (inout Connection) async throws -> Value) async throws -> Value {
        let trust = trust
        let channel = try await ClientBootstrap(group: Self.loops).channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let trust {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: trust, serverHostname: "localhost"))
                    }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var connection = Connection(bytes: inbound.makeAsyncIterator(), outbound: outbound)
            return try await body(&connection)
        }
    }

    struct Connection {
        var bytes: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        var waiting: [UInt8] = []

        func write(_ text: String) async throws { try await write(bytes: Array(text.utf8)) }
        func write(bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

        /// Sends no more.
        func finish() { outbound.finish() }

        /// False at the end.
        mutating func more() async throws -> Bool {
            do {
                guard let part = try await bytes.next() else { return false }
                waiting += part.readableBytesView
                return true
            } catch is IOError, is ChannelError {
                return false
            }
        }

        /// Reads until the server closes.
        mutating func rest() async throws -> String {
            while try await more() {}
            defer { waiting = [] }
            return String(decoding: waiting, as: UTF8.self)
        }

        /// Reads up to and including `mark`.
        mutating func read(to mark: String) async throws -> String {
            while true {
                if let range = Data(waiting).range(of: Data(mark.utf8)) {
                    let text = String(decoding: waiting[..<range.upperBound], as: UTF8.self)
                    waiting.removeFirst(range.upperBound)
                    return text
                }
                guard try await more() else { throw Fault.closed }
            }
        }

        /// Reads a response's header.
        mutating func head() async throws -> (status: Int, headers: [String: String]) {
            let text = try await read(to: "\r\n\r\n")
            let lines = text.components(separatedBy: "\r\n")
            let words = lines[0].split(separator: " ")
            guard words.count > 1, words[0] == "HTTP/1.1", let status = Int(words[1]) else { throw Fault.notHTTP(lines[0]) }
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            }
            return (status, headers)
        }

        mutating func answer(to method: String = "GET") async throws -> Answer {
            let (status, headers) = try await head()
            var body: [UInt8] = []
            if method == "HEAD" || status == 204 || status == 304 {
                return Answer(status: status, headers: headers, body: [])
            }
            if let length = headers["content-length"].flatMap({ Int($0) }) {
                while waiting.count < length { guard try await more() else { throw Fault.closed } }
                body = Array(waiting[..<length])
                waiting.removeFirst(length)
            } else if headers["transfer-encoding"] == "chunked" {
                while true {
                    let size = Int(try await read(to: "\r\n").dropLast(2), radix: 16) ?? 0
                    while waiting.count < size + 2 { guard try await more() else { throw Fault.closed } }
                    body += waiting[..<size]
                    waiting.removeFirst(size + 2)
                    if size == 0 { break }
                }
            }
            return Answer(status: status, headers: headers, body: body)
        }
    }
}
