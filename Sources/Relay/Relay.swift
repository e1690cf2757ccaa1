import Codec
import Media
import Schedule
import Telemetry
import Transport

/// One stream, from its source to its sink: four threads and the queues between them. See docs/architecture.md.
///
/// `run` belongs to one thread; `stop` may be called from any.
public final class Relay: Sendable {
    private let stream: StreamState
    private let source: Source
    private let sink: Sink
    private let passing = PassingStreams()
    private let units = BoundedQueue<CodedPicture>(capacity: 128)
    private let buffers = UnitBufferPool(count: 130, capacity: 32 * 1024)
    private let pictures = BoundedQueue<DecodedFrame>(capacity: 2)
    private let finished = BoundedQueue<FinishedFrame>(capacity: 2)

    /// Opens both ends.
    /// - Throws: what keeps an end from being opened: an address in use, a file that is not there, an output that
    ///   refuses.
    public init(_ configuration: RelayConfiguration) throws(TransportError) {
        stream = StreamState(configuration)
        source = try Source(configuration.input)
        sink = try Sink(configuration.output)
    }

    public var configuration: RelayConfiguration { stream.configuration }
    /// The ports that the ends are bound to; 0 where they have none of their own.
    public var inputPort: UInt16 { source.localPort }
    public var outputPort: UInt16 { sink.localPort }

    /// Relays until the source ends, ``stop()`` is called, or the stream cannot go on.
    /// - Parameter observe: called on this thread with each event, and once a second.
    public func run(observe: (Observation) -> Void) throws(RelayError) -> RelayReport {
        let start = MonotonicTime.now()
        let threads = startStages()
        var nextStatus = start + .seconds(1)
        var refusal: TransportError?
        while !stream.events.isClosed || stream.events.count > 0 {
            if let event = stream.events.pop(until: nextStatus) {
                observe(.event(event))
                continue
            }
            if MonotonicTime.now() >= nextStatus {
                observe(.second(status(since: start)))
                nextStatus = nextStatus + .seconds(1)
            }
            // An output that refuses from the very start is a mistake that somebody should hear of at once; later it is
            // a fault that may pass.
            if refusal == nil, let failure = sink.failureBeforeFirstConnection {
                refusal = failure
                stream.fail(.transport(failure))
                source.interrupt()
            }
        }
        for thread in threads { thread.join() }
        if let failure = stream.firstFailure { throw failure }
        return report(since: start)
    }

    /// Ends the relay: what has arrived is still sent. Safe to call at any time, more than once.
    public func stop() {
        stream.stop()
        source.interrupt()
    }

    /// What the stream has done up to now.
    public func report(since start: MonotonicTime) -> RelayReport {
        RelayReport(
            seconds: (MonotonicTime.now() - start).seconds, ledger: stream.ledger, counters: stream.counters,
            input: .init(url: configuration.input, source.statistics()),
            output: .init(url: configuration.output, sink.statistics()))
    }

    private func startStages() -> [StageThread] {
        let (units, pictures) = (units, pictures)
        let ingest = IngestStage(
            source: source, units: units, buffers: buffers, passing: passing, stream: stream)
        let decode = DecodeStage(units: units, buffers: buffers, pictures: pictures, stream: stream)
        let enhance = EnhanceStage(
            pictures: pictures, finished: finished, waitingUnits: { units.count }, stream: stream)
        return [
            StageThread(name: "ingest") { ingest.run() },
            StageThread(name: "decode") { decode.run() },
            StageThread(name: "enhance") { enhance.run() },
            StageThread(name: "emit") { [finished, passing, sink, stream] in
                EmitStage(finished: finished, passing: passing, sink: sink, stream: stream).run()
                stream.events.close()
            },
        ]
    }

    private func status(since start: MonotonicTime) -> RelayStatus {
        RelayStatus(
            seconds: (MonotonicTime.now() - start).seconds, books: stream.ledger.books,
            latency: stream.ledger.withLatency { $0.original.quantile(0.5) },
            input: source.statistics(), output: sink.statistics())
    }
}

/// What a running relay tells whoever runs it.
public enum Observation: Sendable {
    case event(RelayEvent)
    case second(RelayStatus)
}

/// A running relay's figures, as its status line shows them.
public struct RelayStatus: Sendable {
    public var seconds: Double
    public var books: Books
    /// The median latency of originals since the start.
    public var latency: Nanoseconds
    public var input: LegStatistics
    public var output: LegStatistics
}
