import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Watches one connection: closes it when its client is too slow, when an event stream's client has gone, and after a response
/// that says so.
///
/// On its event loop only. It stands after the HTTP decoder, so it counts requests and responses, not bytes.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let timeouts: ClientTimeouts
    private let connections: Connections
    private var requestTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?
    /// Requests whose responses have not ended. A client may send the next before it has the answer.
    private var unanswered = 0
    /// Between a request's header and its end.
    private var isReading = false
    private var bodyBytes = 0
    private var isEventStream = false
    private var closesAfterResponse = false
    /// The last response is out. What still comes in is thrown away, so that the client reads the response before the
    /// connection is reset.
    private var isEnding = false

    init(timeouts: ClientTimeouts, connections: Connections) {
        self.timeouts = timeouts
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.open(context.channel)
        expect(within: timeouts.header, .request, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        requestTimer?.cancel()
        writeTimer?.cancel()
        connections.close(context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
        requestTimer?.cancel()
        writeTimer?.cancel()
        connections.close(context.channel)
        context.fireChannelInactive()
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding else { return }
        switch unwrapInboundIn(data) {
        case .head:
            unanswered += 1
            isReading = true
            bodyBytes = 0
            connections.wait(context.channel)
            expect(within: timeouts.body, .request, context)
        case .body(let part):
            bodyBytes += part.readableBytes
            // Far more than is answered with a refusal.
            if bodyBytes > 16 * WebResponder.largestBody { context.close(promise: nil) }
        case .end:
            isReading = false
            connections.work(context.channel)
            if unanswered == 0 {
                wait(context)
            } else {
                requestTimer?.cancel()
                requestTimer = nil
            }
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Nobody else reads any more.
        if isEnding { context.read() }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Clients of event streams send nothing more, so the end of their side is the end.
        if isEventStream, let event = event as? ChannelEvent, event == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var isLast = false
        switch unwrapOutboundIn(data) {
        case .head(let head):
            isEventStream = head.headerFields[.contentType]?.hasPrefix("text/event-stream") == true
            closesAfterResponse = head.headerFields[.connection]?.lowercased() == "close"
        case .body: break
        case .end:
            isLast = true
            unanswered = max(0, unanswered - 1)
            isEventStream = false
        }
        context.write(data, promise: promise)
        if !context.channel.isWritable { watchWrites(context) }
        guard isLast else { return }
        if closesAfterResponse {
            end(context)
        } else if unanswered == 0, !isReading {
            wait(context)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            writeTimer?.cancel()
            writeTimer = nil
            if unanswered > 0, !isReading { connections.work(context.channel) }
        } else {
            watchWrites(context)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Waits for the next request.
    private func wait(_ context: ChannelHandlerContext) {
        connections.wait(context.channel)
        expect(within: timeouts.idle, .idle, context)
    }

    /// Sends what is written and says that no more comes; closes when the client does, or soon.
    private func end(_ context: ChannelHandlerContext) {
        isEnding = true
        context.flush()
        context.close(mode: .output, promise: nil)
        expect(within: min(timeouts.body, .seconds(2)), nil, context)
        context.read()
    }

    // MARK: Timers

    /// Closes the connection unless the timer is cancelled, or set again, within `time`.
    private func expect(within time: Duration, _ why: WebCounters.ClosedConnection?, _ context: ChannelHandlerContext) {
        requestTimer?.cancel()
        requestTimer = schedule(time, why, context)
    }

    private func watchWrites(_ context: ChannelHandlerContext) {
        guard writeTimer == nil else { return }
        writeTimer = schedule(timeouts.write, .response, context)
        connections.wait(context.channel)
    }

    private func schedule(
        _ time: Duration, _ why: WebCounters.ClosedConnection?, _ context: ChannelHandlerContext
    ) -> Scheduled<Void> {
        let channel = context.channel
        let counters = connections.counters
        return context.eventLoop.scheduleTask(in: TimeAmount(time)) {
            if let why { counters.cut(why) }
            channel.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension ConnectionHandler: Sendable {}
