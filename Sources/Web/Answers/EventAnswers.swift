import Control
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// Server-sent events (the `text/event-stream` of the HTML standard).
enum EventAnswers {
    private enum Item: Sendable {
        case event(ServiceEvent)
        case keepAlive
    }

    /// Events that wait for a client that reads slowly. Beyond these the stream ends; the client returns with the number of
    /// its last event and gets the rest.
    private static let mostWaiting = 256

    @Sendable static func events(_ request: RouteRequest, _ site: Site) throws -> Response {
        let last = request["Last-Event-ID"].flatMap { UInt64($0) } ?? 0
        let (head, channel) = (request.request.head, request.context.channel)
        guard site.counters.values.eventStreams < site.configuration.mostEventStreams else {
            throw Problem(
                .unavailable, "too many clients follow the events; close one, or try again later", headers: [.retryAfter: "10"])
        }
        let body = ResponseBody { writer in
            site.counters.beginEventStream()
            defer { site.counters.endEventStream() }
            try await write(&writer, site, since: last, until: channel.closeFuture) {
                // The session may have ended meanwhile, or the service may have another token.
                (try? site.access.checkAccess(head, .views)) != nil
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }

    private static func write(
        _ writer: inout any ResponseBodyWriter, _ site: Site, since last: UInt64, until closed: EventLoopFuture<Void>,
        whileAllowed isAllowed: @Sendable () -> Bool
    ) async throws {
        let (items, waiting) = AsyncStream.makeStream(of: Item.self, bufferingPolicy: .bufferingOldest(mostWaiting))
        // So that the client learns at once that the stream is open, and when to return after it has ended.
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        closed.whenComplete { _ in waiting.finish() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in await site.service.events(since: last).cancelOnGracefulShutdown() {
                    if case .dropped = waiting.yield(.event(event)) { break }
                }
                waiting.finish()
            }
            group.addTask {
                while (try? await Task.sleep(for: site.configuration.timeouts.keepAliveInterval)) != nil {
                    waiting.yield(.keepAlive)
                }
            }
            for await item in items {
                guard isAllowed() else { break }
                let text =
                    switch item {
                    case .event(let event): text(event)
                    case .keepAlive: ":\n\n"
                    }
                guard (try? await writer.write(ByteBuffer(string: text))) != nil else { break }
            }
            group.cancelAll()
        }
    }

    private static func text(_ event: ServiceEvent) -> String {
        let data = JSON.object([
            "number": .count(event.number), "time": .number(event.time), "stream": .optional(event.stream, JSON.text),
            "kind": .text(event.kind), "text": .text(event.text),
        ])
        return "id: \(event.number)\ndata: \(String(decoding: data.bytes, as: UTF8.self))\n\n"
    }
}
