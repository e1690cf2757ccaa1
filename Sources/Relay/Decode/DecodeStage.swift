import Codec
import Media
import Schedule
import Settings
import Telemetry

/// A decoded picture on its way to enhancement.
struct DecodedFrame: ~Copyable, Sendable {
    var ticket: FrameTicket
    let picture: DecodedPicture

    consuming func intoTicket() -> FrameTicket { ticket }
}

/// The decode thread: coded units in, pictures out in presentation order. A unit that yields no picture is dropped here, for
/// the reason that the decoder gives.
final class DecodeStage: Sendable {
    private let units: UnitQueue
    private let pictures: BoundedQueue<DecodedFrame>
    private let configuration: RelayConfiguration
    private let books: StreamBooks
    private let schedule: SharedScheduler
    private let activity: DecoderActivity
    private let settings: LiveSettings
    private let turns: StageTurns
    private let control: StreamControl

    init(units: UnitQueue, pictures: BoundedQueue<DecodedFrame>, channels: StreamChannels) {
        self.units = units
        self.pictures = pictures
        configuration = channels.configuration
        books = channels.books
        schedule = channels.schedule
        activity = channels.decoder
        settings = channels.settings
        turns = channels.turns
        control = channels.control
    }

    /// Runs until the queue of units is closed and empty. Then it drains the decoder and closes its own queue.
    func run() {
        defer {
            pictures.close()
            turns.end(.decode)
        }
        var shelf = TicketShelf()
        var shown = ShownTimes()
        var settings = LiveSettings.Copy(of: settings)
        do throws(CodecError) {
            var decoding = VideoDecoder.Configuration()
            decoding.threads = configuration.options.decodeThreads
            decoding.exportsQuantisers = settings.value.tier > .base
            let decoder = try configuration.makeDecoder(decoding)
            while let unit = units.pop() {
                activity.frameInside = unit.ticket.record.id
                defer { activity.frameInside = nil }
                let admission = admit(unit.ticket.record, isKeyframe: unit.isKeyframe)
                if case .drop(let reason) = admission {
                    books.counters.add(.shedBeforeDecoder)
                    drop(unit, reason)
                    continue
                }
                if settings.refresh() { decoder.exportsQuantisers = settings.value.tier > .base }
                decoder.skipsNonReference = admission == .decodeIfReferred
                try decode(consume unit, with: decoder, &shelf, &shown)
                activity.framesKept = shelf.count
            }
            decoder.drain()
            try collectPictures(of: decoder, &shelf, &shown)
            while let ticket = shelf.removeAny() { books.drop(ticket, .decodeError) }
        } catch {
            control.fail(.codec(error))
            while let ticket = shelf.removeAny() { books.drop(ticket, .decodeError) }
            while let unit = units.pop() { drop(unit, .shutdown) }
        }
    }

    /// Asks the scheduler whether to decode a unit. A source that can wait is never too fast.
    private func admit(_ record: FrameRecord, isKeyframe: Bool) -> Admission {
        guard configuration.input.isLive else { return .decode }
        let now = MonotonicTime.now()
        var state = PipelineState()
        state.codedWaiting = units.count
        state.keyframeWaiting = units.keyframeWaits
        return schedule.withScheduler {
            $0.admit(at: now, emitBy: record.deadline ?? now, isKeyframe: isKeyframe, state)
        } ?? .decode
    }

    private func drop(_ unit: consuming CodedPicture, _ reason: DropReason) {
        units.recycle(unit.buffer)
        books.drop(unit.intoTicket(), reason)
    }

    private func decode(
        _ unit: consuming CodedPicture, with decoder: any PictureDecoder, _ shelf: inout TicketShelf,
        _ shown: inout ShownTimes
    ) throws(CodecError) {
        let buffer = unit.buffer
        let flags = unit.flags
        var ticket = unit.intoTicket()
        defer { units.recycle(buffer) }
        ticket.stamp(.decodeIn)
        let key = Int64(ticket.record.id)
        let started = MonotonicTime.now()
        let isInside: Bool
        do throws(CodecError) {
            isInside = try unsafe decoder.decode(buffer.bytes, id: key, flags: flags)
        } catch {
            books.drop(ticket, .decodeError)
            throw error
        }
        if isInside {
            // The work for this unit. A picture that is shown later stays inside for longer, which costs nothing.
            let cost = MonotonicTime.now() - started
            _ = schedule.withScheduler { $0.observe(.decode, cost) }
            ticket.record.decodeTime = cost
        } else {
            ticket.record.isReference = false
        }
        if let evicted = shelf.put(ticket, key: key) { books.drop(evicted, .decodeError) }
        try collectPictures(of: decoder, &shelf, &shown)
    }

    private func collectPictures(
        of decoder: any PictureDecoder, _ shelf: inout TicketShelf, _ shown: inout ShownTimes
    ) throws(CodecError) {
        while let output = try decoder.next() {
            switch consume output {
            case .picture(let picture):
                guard var ticket = shelf.remove(key: picture.id) else { continue }
                ticket.stamp(.decodeOut)
                shown.settle(&ticket.record)
                ticket.record.isKeyframe = picture.isKeyframe
                ticket.record.isReference = picture.isReference
                if !picture.damage.isEmpty {
                    ticket.record.isDamaged = true
                    books.counters.add(.picturesDamaged)
                }
                let frame = DecodedFrame(ticket: ticket, picture: picture)
                if let refused = turns.push(frame, to: pictures, as: .decode) {
                    books.drop(refused.intoTicket(), .shutdown)
                }
            case .noPicture(let id, let fault):
                guard var ticket = shelf.remove(key: id) else { continue }
                if fault == .skipped { books.counters.add(.skippedByDecoder) }
                // The first field's picture goes out as the keyframe that a second field may be marked as.
                if fault == .secondField { ticket.record.isKeyframe = false }
                books.drop(ticket, fault.dropReason)
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
        // Two units made one picture, so the second adds none to the output.
        case .secondField: .cadence
        }
    }
}
