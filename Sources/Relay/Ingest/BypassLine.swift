import Container
import Media
import Schedule
import Telemetry

/// The way of coded units past decoder, enhancement and encoder: from ingest straight to the output, on the ingest thread.
///
/// When a bypass begins, pictures that came before it may still be on their way through the encoder. Then units are *held* here
/// until all of those have their fate. Otherwise nothing waits or is copied.
///
/// Beside a privacy mask nothing leaves here: units are dropped.
///
/// Confined to the ingest thread.
final class BypassLine {
    private struct HeldUnit: ~Copyable, Sendable {
        let ticket: FrameTicket
        let buffer: UnitBuffer
        let unit: CodedUnit
        let source: MonotonicTime

        consuming func intoTicket() -> FrameTicket { ticket }
    }

    private let output: any PassedOutput
    private let books: StreamBooks
    private let path: PicturePath
    private let settings: LiveSettings
    private let held = BoundedQueue<HeldUnit>(capacity: 256)
    private let buffers = UnitBufferPool(count: 256, capacity: 1024)
    private(set) var isHolding = false
    /// Units that did not fit were dropped: those up to the next entry point are of no use.
    private(set) var awaitsEntry = false
    /// The last unit was dropped because a mask is set.
    private(set) var isMasked = false

    init(output: any PassedOutput, _ channels: StreamChannels) {
        self.output = output
        path = channels.path
        books = channels.books
        settings = channels.settings
    }

    /// How many units are held, and whether one more can be.
    var count: Int { held.count }
    var hasRoom: Bool { count < held.capacity }

    /// Holds the units from here on, until ``open()``.
    func hold() {
        if !isHolding { awaitsEntry = false }
        isHolding = true
    }

    /// Sends a unit, or holds a copy.
    /// - Parameters:
    ///   - bytes: borrowed for the call.
    ///   - source: the time that its source time is made from.
    func deliver(_ bytes: UnsafeRawBufferPointer, _ unit: CodedUnit, _ ticket: consuming FrameTicket, source: MonotonicTime) {
        if unit.isKeyframe || unit.beginsAnywhere { awaitsEntry = false }
        guard isHolding || awaitsEntry else { return unsafe send(bytes.bytes, unit, ticket, source) }
        guard !awaitsEntry, let buffer = buffers.claim() else {
            awaitsEntry = true
            return books.drop(ticket, isMasked ? .masked : .overload)
        }
        unsafe buffer.fill(bytes)
        if let refused = held.offer(HeldUnit(ticket: ticket, buffer: buffer, unit: unit, source: source)) {
            preconditionFailure("as many units fit as there are buffers: \(refused.unit)")
        }
    }

    /// Sends what is held, if all pictures that were enhanced before have their fate.
    /// - Parameter own: how many pictures in flight are in the caller's hands.
    func open(besides own: Int = 0) {
        guard isHolding, path.isQuiet({ books.ledger.inFlight <= held.count + own }) else { return }
        isHolding = false
        while let next = held.pop(until: MonotonicTime(nanoseconds: 0)) {
            let (buffer, unit, source) = (next.buffer, next.unit, next.source)
            send(unsafe buffer.bytes.bytes, unit, next.intoTicket(), source)
            buffers.recycle(buffer)
        }
    }

    /// Drops what is held.
    func abandon() {
        isHolding = false
        while let next = held.pop(until: MonotonicTime(nanoseconds: 0)) {
            buffers.recycle(next.buffer)
            books.drop(next.intoTicket(), .shutdown)
        }
    }

    private func send(_ bytes: RawSpan, _ unit: CodedUnit, _ ticket: consuming FrameTicket, _ source: MonotonicTime) {
        ticket.record.maskNumber = settings.maskNumber
        isMasked = settings.holdsBypass
        guard !isMasked else {
            awaitsEntry = true
            return books.drop(ticket, .masked)
        }
        output.deliver(bytes, unit, ticket, encoded: .now(), .turn(source))
    }
}
