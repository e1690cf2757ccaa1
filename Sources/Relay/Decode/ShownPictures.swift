import Codec
import Media
import Schedule
import Settings
import Telemetry

/// Hands decoded pictures on to the enhance stage, in presentation order: progressive ones as they are, interlaced ones as
/// one frame or as two, and all masked as is asked. Reports and counts what was converted or deinterlaced.
///
/// Confined to the decode thread.
final class ShownPictures {
    private let pictures: BoundedQueue<DecodedFrame>
    private let books: StreamBooks
    private let activity: DecoderActivity
    private let turns: StageTurns
    private let control: StreamControl
    private let path: PicturePath
    private let masking: PictureMasking
    private var settings: LiveSettings.Copy
    /// Nil until a picture is marked as interlaced.
    private var deinterlacing: StreamDeinterlacing?
    private var last: (time: MediaTime, epoch: UInt32)?
    private var times = GrowingTimes()
    /// The last known time between two originals, in ticks.
    private var interval: Int64?
    private var orientation = HeldOrientation()
    /// What the newest converted picture was converted from.
    private var format: SampleFormat?
    /// What its colours were before.
    private var color: ColorDescription?

    init(_ pictures: BoundedQueue<DecodedFrame>, _ channels: StreamChannels) {
        self.pictures = pictures
        books = channels.books
        activity = channels.decoder
        turns = channels.turns
        control = channels.control
        path = channels.path
        masking = PictureMasking(channels)
        settings = LiveSettings.Copy(of: channels.settings)
    }

    /// The next picture does not follow those before.
    func forget() { deinterlacing?.forget() }

    /// - Returns: how long it took to deinterlace and mask it.
    func show(
        _ picture: consuming DecodedPicture, _ original: consuming FrameTicket
    ) throws(CodecError) -> Nanoseconds {
        var ticket = original
        report(picture)
        ticket.record.presentation = times.settle(ticket.record.presentation)
        var picture = picture
        picture.color.orientation = orientation.next(isKeyframe: picture.isKeyframe, said: picture.statedOrientation)
        followTimes(ticket.record)
        if picture.scan.isInterlaced, deinterlacing == nil { deinterlacing = StreamDeinterlacing() }
        guard let deinterlacing else {
            return push(picture, ticket)
        }
        return try show(picture, ticket, deinterlacing)
    }

    private func show(
        _ picture: consuming DecodedPicture, _ ticket: consuming FrameTicket, _ deinterlacing: StreamDeinterlacing
    ) throws(CodecError) -> Nanoseconds {
        _ = settings.refresh()
        // Without a time for it, there is no second frame.
        let setting = settings.value.steps.deinterlace
        let original = ticket.record
        let started = MonotonicTime.now()
        let outcome: StreamDeinterlacing.Outcome
        do throws(CodecError) {
            outcome = try deinterlacing.treat(picture, setting, mayGiveTwo: interval != nil)
        } catch {
            books.drop(ticket, .decodeError)
            throw error
        }
        var cost = MonotonicTime.now() - started
        if let finding = outcome.finding { control.report(.message("\(finding)")) }
        if outcome.isMade {
            books.counters.add(.picturesDeinterlaced)
            books.counters.add(.deinterlace, cost)
        }
        let hasSecondField = outcome.hasSecondField
        activity.picturesPerUnit = hasSecondField ? 2 : 1
        // The first frame may have gone out before the second has its ticket. A bypass must not begin between them.
        if hasSecondField { path.beginMaking() }
        defer { if hasSecondField { path.endMaking() } }
        cost = cost + push(outcome.intoPicture(), ticket)
        guard hasSecondField, let interval else { return cost }
        let startedAgain = MonotonicTime.now()
        let second = try deinterlacing.secondField()
        cost = cost + (MonotonicTime.now() - startedAgain)
        return cost + push(second, openTicket(beside: original, after: interval / 2))
    }

    /// - Returns: how long it took to mask the picture.
    private func push(_ picture: consuming DecodedPicture, _ ticket: consuming FrameTicket) -> Nanoseconds {
        let started = MonotonicTime.now()
        guard let masked = masking.mask(picture, of: &ticket.record) else {
            books.drop(ticket, .masked)
            return .zero
        }
        ticket.stamp(.decodeOut)
        let cost = ticket.record[.decodeOut]! - started
        let frame = DecodedFrame(ticket: ticket, picture: masked)
        if let refused = turns.push(frame, to: pictures, as: .decode) { books.drop(refused.intoTicket(), .shutdown) }
        return cost
    }

    /// Opens a ticket for the frame that shows the second field of an original.
    /// - Parameter ticks: how much later it is shown.
    private func openTicket(beside original: FrameRecord, after ticks: Int64) -> FrameTicket {
        // Without a source time it counts from the arrival of the original.
        var source = original
        source.sourceTime = original.sourceTime ?? original[.lastPacket]
        var ticket = books.ledger.open(
            .synthesised, presentation: times.settle(original.presentation + ticks), beside: source)
        ticket.record.isReference = false
        ticket.record.isDamaged = original.isDamaged
        return ticket
    }

    private func followTimes(_ record: FrameRecord) {
        if let last, last.epoch == record.epoch {
            let ticks = record.presentation - last.time
            if ticks > 0, ticks <= Cadence.longestPair { interval = ticks }
        }
        last = (record.presentation, record.epoch)
    }

    /// Counts what was converted, and says once what it was.
    private func report(_ picture: borrowing DecodedPicture) {
        let (format, color) = (picture.convertedFrom, picture.colorBefore)
        guard format != nil || color != nil else { return }
        books.counters.add(.picturesConverted)
        if let color {
            if color != self.color { control.report(.message(Self.text(color))) }
            self.color = color
        } else if let format, format != self.format {
            control.report(.message("pictures are \(format): converted to 8-bit 4:2:0"))
        }
        self.format = format ?? self.format
    }

    private static func text(_ color: ColorDescription) -> String {
        if ColorConversion(of: color) == nil { return "pictures have the full range: converted to the limited one" }
        return color.isHDR
            ? "pictures are HDR (\(color.colorsInWords)): converted to SDR; hdr: pass sends them as they came"
            : "pictures have the colours of \(color.colorsInWords): converted to BT.709's"
    }
}
