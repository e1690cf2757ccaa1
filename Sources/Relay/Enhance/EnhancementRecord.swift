import Enhance
import Media
import Schedule
import Telemetry

/// Records what was done with pictures, and tells the scheduler what it took.
struct EnhancementRecord {
    private let books: StreamBooks
    private let schedule: SharedScheduler
    /// No picture has come since the enhancement was made. The first one works in untouched memory, so its cost says nothing of
    /// the next ones.
    var isCold = true

    init(_ channels: StreamChannels) {
        books = channels.books
        schedule = channels.schedule
    }

    /// Counts the steps that were done.
    func record(_ times: StepValues<Nanoseconds>) {
        for kind in times.kinds {
            guard let time = times[kind] else { continue }
            books.counters.add(kind, time)
            if let counter = StreamCounters.Counter(kind) { books.counters.add(counter) }
            if !isCold { _ = schedule.withScheduler { $0.observe(.step(kind), time) } }
        }
    }

    /// Records how a picture was enlarged.
    func record(_ result: SuperResolutionResult, _ tier: Tier, in ticket: inout FrameTicket) {
        let computed = result.tilesComputed
        ticket.record.tier = computed + result.tilesReused > 0 ? tier.rawValue : Tier.base.rawValue
        ticket.record.tilesComputed = Int32(clamping: computed)
        ticket.record.tilesReused = Int32(clamping: result.tilesReused)
        ticket.record.baseTime = result.baseTime
        ticket.record.tileTime = computed > 0 ? result.tileTime : nil
        books.counters.add(.tilesSmall, UInt64(result.tilesSmall))
        books.counters.add(.tilesMedium, UInt64(result.tilesMedium))
        books.counters.add(.tilesQuality, UInt64(result.tilesQuality))
        books.counters.add(.tilesReused, UInt64(result.tilesReused))
        books.counters.add(.tilesLeft, UInt64(result.tilesLeft))
        guard !isCold else { return }
        _ = schedule.withScheduler {
            $0.observe(base: result.baseTime, tiles: computed, of: tier, tileTime: result.tileTime)
        }
    }
}

extension StepMoment {
    /// What steps say of a picture.
    /// - Parameter time: when it is shown; nil for the record's own time.
    init(_ record: FrameRecord, at time: MediaTime? = nil) {
        self.init()
        number = record.id
        presented = (time ?? record.presentation).nanoseconds
        arrived = record[.lastPacket] ?? .now()
    }
}
