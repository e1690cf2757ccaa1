import CSRT
import CSRTArrival
import Endpoint
import Media
import Packets
import Synchronization

/// Reads messages out of libsrt, early or with SRT's own delay, and judges whether the leg is fit for early reading.
/// Owned by one thread.
@safe struct SRTFeed: PacketFeed, ~Copyable {
    private let link: SRTLink
    /// libsrt puts a message here. It cuts off silently what does not fit, so one byte more than the largest message
    /// shows that a message is too large.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest + 1, alignment: 64)
    private var counts = Self.counts
    private var clock = SourceClock()
    private var sequences = Self.numbers
    private let clockOffset = SRTLibrary.clockOffset()
    private let epoll = srt_epoll_create()
    private var signalsSeen: UInt32 = 0

    // The present connection, as the reader knows it.
    private var id: SRTSOCKET = -1
    private var tap: ArrivalTap?
    private var early = true
    private var window = Nanoseconds.zero
    /// The connection's first packet has this number; -1 when it is not known.
    private var firstSequence: Int32 = -1
    /// The present connection is broken and libsrt has nothing left of it.
    private var isLost = false
    private(set) var isLeaving = false
    private(set) var readUpTo = MonotonicTime(nanoseconds: 0)
    /// So many messages in a row were read early and left no stamp.
    private var unstampedInARow = 0

    // How the leg does, second by second.
    private var policy = IngestPolicy()
    /// A change of the way of reading has been reported during the present connection.
    private var hasReportedVerdict = false
    private var second = IngestPolicy.Second()
    private var secondEnds = MonotonicTime(nanoseconds: 0)
    private var lossesBefore: Int64 = 0
    private var lastArrival = MonotonicTime(nanoseconds: 0)
    /// Until when gaps are those of an outage.
    private var backlogUntil = MonotonicTime(nanoseconds: 0)

    init(_ link: SRTLink) {
        self.link = link
        srt_epoll_set(epoll, Int32(SRT_EPOLL_ENABLE_EMPTY.rawValue))
    }

    deinit {
        srt_epoll_release(epoll)
        unsafe buffer.deallocate()
    }

    mutating func nextEvent() -> LegEvent? {
        // Before anything is asked: what happens afterwards ends the next wait.
        signalsSeen = link.signal.count
        return link.events.pop()
    }

    /// A new connection numbers and dates its messages anew.
    mutating func hasChangedConnection() -> Bool {
        let present = link.socket.load(ordering: .acquiring)
        guard present != id else { return false }
        if id >= 0 && !early { srt_epoll_remove_usock(epoll, id) }
        id = present
        isLost = false
        isLeaving = false
        unstampedInARow = 0
        counts = Self.counts
        clock = SourceClock()
        sequences = Self.numbers
        second = IngestPolicy.Second()
        secondEnds = .now() + .seconds(1)
        lossesBefore = 0
        hasReportedVerdict = false
        lastArrival = .now()
        guard id >= 0 else { return true }
        tap = link.tap
        early = link.isEarly
        window = link.negotiatedWindow
        firstSequence = link.firstSequence.load(ordering: .acquiring)
        // The first time costs memory, which is not to be taken between messages.
        lossesBefore = health()?.lost ?? 0
        if !early {
            var events = Int32(bitPattern: SRT_EPOLL_IN.rawValue | SRT_EPOLL_ERR.rawValue)
            unsafe srt_epoll_add_usock(epoll, id, &events)
        }
        return true
    }

    mutating func leave() -> LegEvent? {
        isLeaving = false
        link.drained.store(id, ordering: .releasing)
        return nil
    }

    mutating func eventBeforePacket() -> LegEvent? { nil }
    mutating func recordGap(messages: Int64) {}

    mutating func mustReturn(at limit: MonotonicTime) -> Bool {
        link.isInterrupted.exchange(false, ordering: .acquiring) || .now() >= limit
    }

    mutating func read(into _: UnsafeMutableRawBufferPointer, _ hold: inout HoldBuffer) -> Reading {
        let began = MonotonicTime.now()
        guard id >= 0 && !isLost else {
            readUpTo = began
            return .empty
        }
        var control = unsafe SRT_MSGCTRL()
        unsafe srt_msgctrl_init(&control)
        let count = unsafe srt_recvmsg2(
            id, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), &control)
        guard count > 0 else {
            if srt_getlasterror(nil) != SRT_EASYNCRCV.rawValue {
                isLost = true
                isLeaving = true
                return .noMessage
            }
            readUpTo = began
            return .empty
        }
        let (wireSequence, wireTime) = unsafe (control.pktseq, control.srctime)
        return .packet(packet(of: Int(count), sequence: wireSequence, time: wireTime, &hold))
    }

    /// The message that lies in the buffer.
    /// - Parameters:
    ///   - wireSequence: the number of its last packet.
    ///   - wireTime: libsrt's, in microseconds.
    private mutating func packet(
        of count: Int, sequence wireSequence: Int32, time wireTime: Int64, _ hold: inout HoldBuffer
    ) -> ArrivedPacket {
        let now = MonotonicTime.now()
        let packet = tap?.packet(wireSequence, of: id)
        if early { recordStamp(packet != nil) }
        let arrival = packet.map { MonotonicTime(nanoseconds: $0.arrival_ns) } ?? now
        let packets = packet?.first == true ? 1 : tap?.packets(ofMessageEndingWith: wireSequence, of: id) ?? 1
        let sequence = sequences.unwrap(Int64(wireSequence)) - Int64(packets - 1)
        let sourceTime: MonotonicTime
        var restarted = false
        if early {
            let count = counts.unwrap(UInt32(truncatingIfNeeded: wireTime), arrival: arrival)
            (sourceTime, restarted) = clock.map(source: count, arrival: arrival)
        } else {
            // libsrt has added the window: this is when the message was to be delivered.
            sourceTime = MonotonicTime(nanoseconds: wireTime * 1_000 - clockOffset) - window
        }
        if hold.expected == nil {
            // The first message to come need not be the first that was sent.
            let ahead = firstSequence < 0 ? 0 : (sequence - Int64(firstSequence)) & 0x7fff_ffff
            hold.begin(at: early && ahead < Self.mostMissingAtFirst ? sequence - ahead : sequence)
        }
        // libsrt delivers the messages of ordered senders, and all with TSBPD, only past gaps that it has abandoned.
        let isFinal = !early || packet?.ordered == true
        let isLate = early && now > sourceTime + window
        if arrival - lastArrival > max(window, IngestPolicy.outage) { backlogUntil = now + Self.backlogTime }
        let deadline = gapDeadline(
            isFinal: isFinal, isLate: isLate, arrival: arrival, sourceTime: sourceTime, now: now)
        assess(arrival: arrival, isLate: isLate, isRepeat: packet?.retransmitted == true, now: now)
        return unsafe ArrivedPacket(
            message: Message(byteCount: count, arrival: arrival, sourceTime: sourceTime, sequence: sequence),
            packets: packets, gapDeadline: deadline, restartsClock: restarted,
            contents: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }

    /// Until when a message is held for what is missing before it.
    /// - Parameters:
    ///   - isFinal: libsrt has abandoned what is missing, so there is nothing to wait for.
    ///   - isLate: the message came after its own window, so what is missing before it is late too, and may be on its way.
    private func gapDeadline(
        isFinal: Bool, isLate: Bool, arrival: MonotonicTime, sourceTime: MonotonicTime, now: MonotonicTime
    ) -> MonotonicTime {
        if isFinal { return arrival }
        if isLate || now < backlogUntil { return now + max(window, Self.gapTimeoutWithBacklog) }
        // As long as a plain receiver would wait. The floor leaves a message that came near the window's end some time too.
        return max(sourceTime + window, arrival + window / 2)
    }

    /// Packets of a socket that the tap knows leave stamps, unless the tap does not see them.
    private mutating func recordStamp(_ isThere: Bool) {
        guard !isThere else {
            unstampedInARow = 0
            return
        }
        guard tap?.knows(id) == true else { return }
        link.messagesUnstamped.add(1, ordering: .relaxed)
        unstampedInARow += 1
        if unstampedInARow == Self.mostUnstamped {
            link.health.fail("\(Self.mostUnstamped) messages in a row left no arrival stamp")
        }
    }

    /// Counts a message, and once a second judges whether the leg is fit for early reading. libsrt lets the way of reading
    /// change only with a new connection. So the verdict holds for the next one, and this one is not broken for its sake.
    private mutating func assess(arrival: MonotonicTime, isLate: Bool, isRepeat: Bool, now: MonotonicTime) {
        second.messages += 1
        if isLate { second.late += 1 }
        if isRepeat { second.retransmitted += 1 }
        second.longestSilence = max(second.longestSilence, arrival - lastArrival)
        lastArrival = max(lastArrival, arrival)
        guard now >= secondEnds else { return }
        if let (lost, roundTripTime) = health() {
            second.lost = lost - lossesBefore
            lossesBefore = lost
            second.roundTripTime = roundTripTime
        }
        second.window = window
        let fit = policy.judge(second, readEarly: early)
        if link.endpoint.ingest == .auto, link.nextReadsEarly.exchange(fit, ordering: .relaxed) != fit,
            !hasReportedVerdict
        {
            hasReportedVerdict = true
            link.events.append(.nextIngest(fit ? .early : .tsbpd))
        }
        second = IngestPolicy.Second()
        secondEnds = now + .seconds(1)
    }

    private func health() -> (lost: Int64, roundTripTime: Nanoseconds)? {
        LegFigures(of: id, window: window).map { ($0.packetsLost, $0.roundTripTime) }
    }

    mutating func wait(until limit: MonotonicTime) -> Descriptor.Readiness {
        if link.isInterrupted.exchange(false, ordering: .acquiring) { return .interrupted }
        let now = MonotonicTime.now()
        guard now < limit else { return .timedOut }
        if early || id < 0 || isLost {
            // A connection that was begun before early reading was known to fail.
            let mustPoll = id >= 0 && !isLost && link.health.failure != nil
            link.signal.wait(signalsSeen, until: min(limit, now + (mustPoll ? Self.pollInterval : Self.longestWait)))
        } else {
            // libsrt decides when a message is due, and looks at least every 10 ms.
            var ready = SRT_EPOLL_EVENT()
            let milliseconds = ((limit - now).count + 999_999) / 1_000_000
            unsafe srt_epoll_uwait(epoll, &ready, 1, min(max(milliseconds, 1), Self.libraryTick))
        }
        return link.isInterrupted.exchange(false, ordering: .acquiring) ? .interrupted : .timedOut
    }

    /// SRT's times are 32 bits of microseconds, its packet numbers have 31 bits.
    private static let counts = WrappingCount(perSecond: 1_000_000)
    private static let numbers = SequenceUnwrapper(bits: 31)
    /// After an outage the sender's backlog is on its way, newest and oldest mixed. It drops nothing, and complete pictures
    /// are worth more now than early ones.
    private static let gapTimeoutWithBacklog = Nanoseconds.milliseconds(500)
    private static let backlogTime = Nanoseconds.seconds(1)
    private static let mostMissingAtFirst: Int64 = 64
    /// Nothing but the signal ends this wait. It is bounded in case a signal is lost.
    private static let longestWait = Nanoseconds.milliseconds(100)
    /// How often libsrt is asked where nothing raises the signal. Each time in vain costs about 20 µs, since libsrt throws
    /// an exception inside: 1 % of a core.
    static let pollInterval = Nanoseconds.milliseconds(2)
    /// libsrt's threads look for work this often, in milliseconds.
    private static let libraryTick: Int64 = 10
    /// A stamp may be missing where a socket's memory was recycled. So many in a row mean that there are none.
    private static let mostUnstamped = 32
}
