import Codec
import Media
import Schedule
import Telemetry

/// A decoded picture on its way to enhancement.
struct DecodedFrame: ~Copyable, Sendable {
    var ticket: FrameTicket
    let picture: DecodedPicture

    consuming func intoTicket() -> FrameTicket { ticket }
}

/// The decode thread: coded units in, pictures out in presentation order. A unit that yields no picture ends here, with
/// the reason that the decoder gives.
final class DecodeStage: Sendable {
    private let units: UnitQueue
    private let pictures: BoundedQueue<DecodedFrame>
    private let stream: StreamState

    init(units: UnitQueue, pictures: BoundedQueue<DecodedFrame>, stream: StreamState) {
        self.units = units
        self.pictures = pictures
        self.stream = stream
    }

    /// Runs until the queue of units is closed and empty; then gives out what the decoder holds and closes its own queue.
    func run() {
        defer { pictures.close() }
        var shelf = TicketShelf()
        var shown = ShownTimes()
        do throws(CodecError) {
            var configuration = VideoDecoder.Configuration()
            configuration.threads = stream.configuration.decodeThreads
            configuration.exportsQuantisers = stream.configuration.tier > .base
            let decoder = try stream.configuration.makeDecoder(configuration)
            while let unit = units.pop() {
                stream.unitInDecoder = unit.ticket.record.id
                defer { stream.unitInDecoder = nil }
                let admission = admit(unit.ticket.record, isKeyframe: unit.isKeyframe)
                if case .drop(let reason) = admission {
                    stream.counters.add(.shedBeforeDecoder)
                    giveUp(unit, reason)
                    continue
                }
                decoder.skipsNonReference = admission == .decodeIfReferred
                try decode(consume unit, with: decoder, &shelf, &shown)
                stream.heldByDecoder = shelf.count
            }
            decoder.drain()
            try takeOutputs(of: decoder, &shelf, &shown)
            while let ticket = shelf.takeAny() { stream.ledger.close(ticket, as: .dropped(.decodeError)) }
        } catch {
            stream.fail(.codec(error))
            while let ticket = shelf.takeAny() { stream.ledger.close(ticket, as: .dropped(.decodeError)) }
            while let unit = units.pop() { giveUp(unit, .shutdown) }
        }
    }

    /// What the schedule would have done with a unit. A source that can wait is never too fast.
    private func admit(_ record: FrameRecord, isKeyframe: Bool) -> Admission {
        guard stream.configuration.input.isLive else { return .decode }
        let now = MonotonicTime.now()
        let request = UnitRequest(
            now: now, emitBy: record.deadline ?? now, isKeyframe: isKeyframe, waiting: units.count,
            keyframeWaiting: units.keyframeWaits)
        return stream.withPlanner { $0.admit(request) } ?? .decode
    }

    private func giveUp(_ unit: consuming CodedPicture, _ reason: DropReason) {
        units.giveBack(unit.buffer)
        if unit.isKeyframe { stream.oweKeyframe() }
        stream.ledger.close(unit.intoTicket(), as: .dropped(reason))
    }

    private func decode(
        _ unit: consuming CodedPicture, with decoder: any PictureDecoder, _ shelf: inout TicketShelf,
        _ shown: inout ShownTimes
    ) throws(CodecError) {
        let buffer = unit.buffer
        let flags = unit.flags
        var ticket = unit.intoTicket()
        defer { units.giveBack(buffer) }
        ticket.stamp(.decodeIn)
        let key = Int64(ticket.record.id)
        let started = MonotonicTime.now()
        let isInside: Bool
        do throws(CodecError) {
            isInside = try unsafe decoder.decode(buffer.bytes, id: key, flags: flags)
        } catch {
            stream.ledger.close(ticket, as: .dropped(.decodeError))
            throw error
        }
        if isInside {
            // The work for one unit. A picture that others are shown before stays inside for longer, which costs nothing.
            let cost = MonotonicTime.now() - started
            _ = stream.withPlanner { $0.observe(.decode, cost) }
            ticket.record.decodeTime = cost
        } else {
            ticket.record.isReference = false
        }
        if let evicted = shelf.put(ticket, key: key) { stream.ledger.close(evicted, as: .dropped(.decodeError)) }
        try takeOutputs(of: decoder, &shelf, &shown)
    }

    private func takeOutputs(
        of decoder: any PictureDecoder, _ shelf: inout TicketShelf, _ shown: inout ShownTimes
    ) throws(CodecError) {
        while let output = try decoder.next() {
            switch consume output {
            case .picture(let picture):
                guard var ticket = shelf.take(key: picture.id) else { continue }
                ticket.stamp(.decodeOut)
                shown.settle(&ticket.record)
                ticket.record.isKeyframe = picture.isKeyframe
                ticket.record.isReference = picture.isReference
                if !picture.damage.isEmpty {
                    ticket.record.isDamaged = true
                    stream.counters.add(.picturesDamaged)
                }
                if let refused = pictures.push(DecodedFrame(ticket: ticket, picture: picture)) {
                    stream.ledger.close(refused.intoTicket(), as: .dropped(.shutdown))
                }
            case .noPicture(let id, let fault):
                guard let ticket = shelf.take(key: id) else { continue }
                if fault == .skipped { stream.counters.add(.skippedByDecoder) }
                stream.ledger.close(ticket, as: .dropped(fault.dropReason))
            }
        }
    }
}

extension CodecFault {
    var dropReason: DropReason {
        switch self {
        case .awaitingKeyframe: .noKeyframe
        case .undecodable: .decodeError
        case .skipped: .overload
        // Two units, one picture: the second adds none to the output.
        case .secondField: .cadence
        }
    }
}
