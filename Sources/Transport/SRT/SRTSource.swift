import CSRT
import CSRTArrival
import Glibc
import Media
import Synchronization

/// Receives messages over SRT, early or with SRT's own delay, in the sender's order.
///
/// `receive` belongs to one thread; everything else may be called from any.
@safe final class SRTSource: @unchecked Sendable {
    private let link: SRTLink
    private let interrupted = Atomic<Bool>(false)
    /// Messages that wait for a missing one.
    private var hold: HoldBuffer
    /// Where libsrt puts a message. What does not fit it cuts off without a word: the byte beyond the largest message
    /// tells.
    private let taken = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest + 1, alignment: 64)
    /// The message that lies there and cannot be filed before others have been read.
    private var waiting: Taken?
    private var counts = SRTSource.counts
    private var clock = SourceClock()
    private var sequences = SRTSource.numbers
    private let clockOffset: Int64
    private let epoll: Int32

    // The present connection, as the reader knows it.
    private var id: SRTSOCKET = -1
    private var early = true
    private var window = Nanoseconds.zero
    /// The connection's first packet has this number; -1 when it is not known.
    private var firstSequence: Int32 = -1
    /// The present connection is broken and libsrt has nothing left of it.
    private var lost = false

    // How the leg does, second by second.
    private var policy = IngestPolicy()
    /// The present connection's verdict has been told.
    private var verdictTold = false
    private var second = IngestPolicy.Second()
    private var secondEnds = MonotonicTime(nanoseconds: 0)
    private var lossesBefore: Int64 = 0
    private var lastArrival = MonotonicTime(nanoseconds: 0)
    /// Until when holes are those of an outage.
    private var backlogUntil = MonotonicTime(nanoseconds: 0)

    /// A message as libsrt gave it.
    private struct Taken {
        var message: Message
        /// How many numbers it takes up.
        var packets: Int
        /// Until when to wait for what is missing before it.
        var patience: MonotonicTime
        /// The sender's clock begins anew with it, which has not been told yet.
        var isRestart: Bool
    }

    /// - Parameter mostHeld: how far past a missing message others are held. libsrt's own receive buffer reaches as far,
    ///   which is a second at 86 Mb/s; the system gives the memory when it is used. For tests: less.
    init(_ endpoint: SRTEndpoint, mostHeld: Int = 8192) throws(TransportError) {
        _ = SRTLibrary.started
        hold = HoldBuffer(capacity: mostHeld)
        clockOffset = SRTLibrary.clockOffset()
        epoll = srt_epoll_create()
        srt_epoll_set(epoll, Int32(SRT_EPOLL_ENABLE_EMPTY.rawValue))
        link = try SRTLink(endpoint, direction: .input)
    }

    deinit {
        link.stop()
        srt_epoll_release(epoll)
        unsafe taken.deallocate()
    }

    var localPort: UInt16 { link.localPort }
    var negotiatedWindow: Nanoseconds { link.negotiatedWindow }
    var failureBeforeFirstConnection: TransportError? { link.failureBeforeFirstConnection }
    func statistics() -> LegStatistics { link.statistics() }

    func interrupt() {
        interrupted.store(true, ordering: .releasing)
        burnish_srt_arrivals_wake()
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        while true {
            let seen = burnish_srt_arrivals()
            if let event = link.events.take() { return .event(event) }
            let present = link.socket.load(ordering: .acquiring)
            if present != id { follow(present) }
            if let message = unsafe hold.takeDue(into: buffer) { return .message(message) }
            if waiting != nil {
                if let received = unsafe file(into: buffer) { return received }
                continue
            }
            let now = MonotonicTime.now()
            if id >= 0 && !lost && read() {
                if let received = unsafe file(into: buffer) { return received }
                continue
            }
            // Not before libsrt has nothing left: what is missing may lie there.
            if let patience = hold.patience, patience <= now { return .event(.gap(messages: hold.skipHole())) }
            if lost && hold.count == 0 { link.drained.store(id, ordering: .releasing) }
            if interrupted.exchange(false, ordering: .acquiring) || now >= limit { return .idle }
            wait(seen, until: min(limit, hold.patience ?? limit), now: now)
        }
    }

    /// A new connection numbers and dates its messages anew.
    private func follow(_ present: SRTSOCKET) {
        if id >= 0 && !early { srt_epoll_remove_usock(epoll, id) }
        id = present
        lost = false
        hold.reset()
        waiting = nil
        counts = Self.counts
        clock = SourceClock()
        sequences = Self.numbers
        second = IngestPolicy.Second()
        secondEnds = .now() + .seconds(1)
        lossesBefore = 0
        verdictTold = false
        lastArrival = .now()
        guard id >= 0 else { return }
        early = link.isEarly
        window = link.negotiatedWindow
        firstSequence = link.firstSequence.load(ordering: .acquiring)
        if !early {
            var events = Int32(bitPattern: SRT_EPOLL_IN.rawValue | SRT_EPOLL_ERR.rawValue)
            unsafe srt_epoll_add_usock(epoll, id, &events)
        }
    }

    /// Takes one message out of libsrt, which then waits to be filed.
    /// - Returns: false when there is none.
    private func read() -> Bool {
        var control = unsafe SRT_MSGCTRL()
        unsafe srt_msgctrl_init(&control)
        let count = unsafe srt_recvmsg2(
            id, taken.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(taken.count), &control)
        guard count > 0 else {
            if srt_getlasterror(nil) != SRT_EASYNCRCV.rawValue {
                lost = true
                hold.expire()
                return true
            }
            return false
        }
        let now = MonotonicTime.now()
        var packet = burnish_srt_packet()
        let known = unsafe burnish_srt_packet_find(id, control.pktseq, &packet)
        let arrival = known ? MonotonicTime(nanoseconds: packet.arrival_ns) : now
        // libsrt tells the number of a message's last packet.
        let packets = known && packet.first ? 1 : Int(unsafe burnish_srt_message_packets(id, control.pktseq))
        let sequence = sequences.unwrap(Int64(unsafe control.pktseq)) - Int64(packets - 1)
        let sourceTime: MonotonicTime
        var restarted = false
        if early {
            let count = counts.unwrap(UInt32(truncatingIfNeeded: unsafe control.srctime), arrival: arrival)
            (sourceTime, restarted) = clock.map(source: count, arrival: arrival)
        } else {
            // libsrt has added the window: it tells when the message was to be delivered.
            sourceTime = MonotonicTime(nanoseconds: unsafe control.srctime * 1_000 - clockOffset) - window
        }
        if hold.expected == nil {
            // The first to come need not be the first that was sent.
            let ahead = firstSequence < 0 ? 0 : (sequence - Int64(firstSequence)) & 0x7fff_ffff
            hold.begin(at: early && ahead < Self.mostMissingAtFirst ? sequence - ahead : sequence)
        }
        // What comes in order and yet leaves a hole leaves it for good.
        let isFinal = !early || known && packet.ordered
        let isLate = early && now > sourceTime + window
        if arrival - lastArrival > max(window, IngestPolicy.outage) { backlogUntil = now + Self.backlogTime }
        let patience =
            isFinal
            ? arrival
            : isLate || now < backlogUntil
                ? now + max(window, Self.patienceWithBacklog) : max(sourceTime + window, arrival + window / 2)
        assess(arrival: arrival, isLate: isLate, isRepeat: known && packet.retransmitted, now: now)
        waiting = Taken(
            message: Message(byteCount: Int(count), arrival: arrival, sourceTime: sourceTime, sequence: sequence),
            packets: packets, patience: patience, isRestart: restarted)
        return true
    }

    /// Files the message that waits, or makes room for it.
    /// - Returns: nil when there is nothing to tell.
    private func file(into buffer: UnsafeMutableRawBufferPointer) -> Received? {
        guard let next = waiting else { return nil }
        let (message, packets) = (next.message, next.packets)
        if next.isRestart || hold.isFar(message.sequence) {
            // Nothing that is missing before it is worth a wait. What is there is read before it.
            let missing = hold.skipHole(before: message.sequence)
            if missing > 0 { return .event(.gap(messages: missing)) }
            if next.isRestart {
                waiting?.isRestart = false
                return .event(.clockReset)
            }
        }
        waiting = nil
        if message.byteCount > Message.largest {
            // No live sender's: libsrt's own refuse to send it.
            return hold.passOver(message.sequence, packets: packets) ? .event(.gap(messages: Int64(packets))) : nil
        }
        let filled = unsafe UnsafeRawBufferPointer(rebasing: taken[..<message.byteCount])
        switch unsafe hold.accept(message, filled, packets: packets, patience: next.patience) {
        case .deliver:
            unsafe buffer.copyMemory(from: filled)
            return .message(message)
        case .held, .duplicate: return nil
        }
    }

    /// Counts a message, and once a second asks whether the leg is fit for early reading. libsrt lets the way of
    /// reading change only with a new connection: the verdict holds for the next one, and this one is not broken for
    /// its sake.
    private func assess(arrival: MonotonicTime, isLate: Bool, isRepeat: Bool, now: MonotonicTime) {
        second.messages += 1
        if isLate { second.late += 1 }
        if isRepeat { second.retransmitted += 1 }
        second.longestSilence = max(second.longestSilence, arrival - lastArrival)
        lastArrival = max(lastArrival, arrival)
        guard now >= secondEnds else { return }
        if let figures = LegStatistics(of: id, window: window) {
            second.lost = figures.packetsLost - lossesBefore
            lossesBefore = figures.packetsLost
            second.roundTripTime = figures.roundTripTime
        }
        second.window = window
        let fit = policy.judge(second, readEarly: early)
        if link.endpoint.ingest == .auto, link.nextReadsEarly.exchange(fit, ordering: .relaxed) != fit, !verdictTold {
            verdictTold = true
            link.events.put(.nextIngest(fit ? .early : .tsbpd))
        }
        second = IngestPolicy.Second()
        secondEnds = now + .seconds(1)
    }

    /// Sleeps until there may be something to do.
    private func wait(_ seen: UInt32, until time: MonotonicTime, now: MonotonicTime) {
        if early || id < 0 || lost {
            burnish_srt_arrivals_wait(seen, min(time, now + Self.longestWait).nanoseconds)
        } else {
            // libsrt's own clockwork decides when a message is due. It looks up at least every 10 ms, and so do we.
            var ready = SRT_EPOLL_EVENT()
            let milliseconds = ((time - now).count + 999_999) / 1_000_000
            unsafe srt_epoll_uwait(epoll, &ready, 1, min(max(milliseconds, 1), 10))
        }
    }

    /// SRT's times are 32 bits of microseconds, its packet numbers have 31 bits.
    private static let counts = WrappingCount(perSecond: 1_000_000)
    private static let numbers = SequenceUnwrapper(bits: 31)
    /// After an outage the sender's backlog is on its way, newest and oldest mixed: it drops nothing, and whole pictures
    /// are worth more now than haste.
    private static let patienceWithBacklog = Nanoseconds.milliseconds(500)
    private static let backlogTime = Nanoseconds.seconds(1)
    private static let mostMissingAtFirst: Int64 = 64
    private static let longestWait = Nanoseconds.milliseconds(100)
}
