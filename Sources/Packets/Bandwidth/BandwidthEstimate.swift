import Media

/// Estimates how many bits a second a receiver's link carries, from when it says that our packets came
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
///
/// The rate rises and falls as in Google's congestion control (draft-ietf-rmcat-gcc-02): it falls below what comes when a queue grows
/// on the way (``DelayTrend``) or too much is lost (``LossLimit``), and rises by shares far from the last such rate, and by packets
/// near to it. Three things differ, because our pictures leave at once and not paced:
/// - *Delays* are those of each picture's first packet. It waits for what is left of the pictures before it. The others wait for their
///   own picture, too.
/// - *Capacity* is read from how the link spaces the other packets (``PacketTrains``). The rate rises fast up to it, and nothing has to
///   be sent only to find out whether there is room.
/// - *Queues* are drained: while more waits than a picture, the rate lies so far below the capacity that it leaves soon.
///
/// What a receiver tells can be anything. It can make its own rate wrong, within ``range``, and nothing else: each packet counts once,
/// for no more than it had, and times that jump begin the estimate anew.
///
/// A pure value; it reads no clock. It allocates when it is made.
struct BandwidthEstimate: Sendable {
    /// Bits a second.
    static let range = 30_000.0...1_000_000_000
    /// What the rate falls to, of what the link was seen to carry (the draft's beta), and at least of itself.
    static let decrease = 0.85
    static let leastDecrease = 0.95
    /// What it falls to at the least while a queue is drained, of what the link was seen to carry.
    static let leastOfCapacity = 0.3
    /// What it rises to of the capacity that pictures show.
    static let mostOfCapacity = 0.92
    /// What the rate rises by in a second: up to that capacity, where none is known, and beyond it.
    static let fastIncrease = 2.0
    static let blindIncrease = 1.2
    static let increase = 1.08
    /// Near the last rate that was too high it rises by half a packet for each response time (the draft's additive increase).
    static let packetBits = 9_600.0
    /// It rises fast again when no loss has made it fall for so long. Losses of a queue that was full do not count: only those of a link
    /// that drops what is too much, whose pictures come faster than it carries them.
    static let lossMemory = Nanoseconds.seconds(10)
    static let queueMemory = Nanoseconds.seconds(2)
    /// A picture that waits for longer finds a queue that must go, two in a row and no shorter.
    static let longestQueue = Nanoseconds.milliseconds(80)
    /// A shorter queue is what pictures leave to each other.
    static let shortQueue = Nanoseconds.milliseconds(30)
    static let drainTime = 0.5  // s
    /// A queue that stays for so long, whatever is sent, is somebody else's, or the way has become longer.
    static let lastingQueue = Nanoseconds.seconds(5)
    /// The least delay is that of so long a time, and of as long before.
    static let delayMemory = Nanoseconds.seconds(15)
    /// Pictures that follow each other so soon are one train.
    static let trainInterval = Nanoseconds.milliseconds(5)
    /// Nothing is heard of packets for so long, and two round trips: the link has stopped, or its queue is as long.
    static let silence = Nanoseconds.milliseconds(500)
    /// So far may the receiver's clock be from where it was, against ours.
    static let mostDrift = Nanoseconds.seconds(60)
    /// Pictures that are too small to show the capacity are sent for so long before what comes counts instead.
    static let longestStart = Nanoseconds.seconds(2)
    /// Packets are remembered: a second at 17 Mb/s.
    static let mostPackets = 2048

    /// From such a share on of what may be sent, what comes shows what the link carries, unless less was sent within ``usedTime``: the rate of
    /// what came is a mean over it.
    static let fullShare = 0.7
    static let usedShare = 0.4
    static let usedTime = Nanoseconds.milliseconds(500)

    private enum State: UInt8 { case unused, sent, lost, came }

    private struct Packet: BitwiseCopyable {
        var sent: Int64 = 0
        var train: UInt32 = 0
        var number: UInt16 = 0
        var bytes: UInt16 = 0
        var state = State.unused
        /// It is of a picture, and was sent for the first time.
        var isInTrain = false
    }

    private var packets = [Packet](repeating: Packet(), count: mostPackets)
    private var train: UInt32 = 0
    private var lastOfTrain: MonotonicTime?
    private var firstPicture: MonotonicTime?
    private var sentRate = RateWindow()
    /// Since when not much less is sent than may be; nil while it is.
    private var usedSince: MonotonicTime?
    /// The newest packet that was told of, and since when nothing was heard of those behind it.
    private var newest: UInt16?
    private var unheardSince: MonotonicTime?
    private var heardAt: MonotonicTime?

    // Of the receiver's clock.
    private var reference: UInt32 = 0
    private var arrivalReference: Int64 = 0
    private var clocks: (arrival: Int64, time: MonotonicTime)?
    private var came = RateWindow()
    private var trains = PacketTrains()
    private var trend = DelayTrend()
    private var losses = LossLimit()

    private var leastDelay: (now: Int64, before: Int64, since: Int64)?
    private var queue = Nanoseconds.zero
    private var longQueues = 0
    private var queueSince: MonotonicTime?
    private var isOverused = false
    private var isUnderused = false

    private var rate: Double?
    private var changed: MonotonicTime?
    private var fell: MonotonicTime?
    private var queued: MonotonicTime?
    private var lossFell: MonotonicTime?
    /// What the link carried when the rate fell, and what the rate returns to when the queue has left.
    private var carried: Double?
    private var resumed: Double?
    private var mayRise = true

    init() {}

    /// Bits a second of RTP packets with their headers; nil before enough was told.
    var bitRate: Double? { rate }
    /// What the link carries, bits a second: more than ``bitRate`` while a queue is drained.
    var capacity: Double? { rate.map { max($0, resumed ?? 0) } }

    /// Whether the pictures of the last seconds have not shown what the link carries, as small ones do not.
    var lacksCapacity: Bool { trains.bitRate == nil }
    /// How long the newest picture that was told of waited on the way.
    var queueDelay: Nanoseconds { queue }

    // MARK: Packets

    /// A packet leaves.
    /// - Parameters:
    ///   - number: its transport-wide number.
    ///   - isOfPicture: it is a picture's, and is sent for the first time; or it leaves with a picture to show what the link carries.
    mutating func sent(_ number: UInt16, bytes: Int, isOfPicture: Bool, roundTrip: Nanoseconds?, at now: MonotonicTime) {
        if isOfPicture {
            if lastOfTrain.map({ now - $0 > Self.trainInterval }) ?? true { train &+= 1 }
            lastOfTrain = now
            firstPicture = firstPicture ?? now
        }
        packets[Int(number) % Self.mostPackets] = Packet(
            sent: now.nanoseconds, train: train, number: number, bytes: UInt16(clamping: bytes), state: .sent,
            isInTrain: isOfPicture)
        sentRate.record(bytes: bytes, at: now.nanoseconds)
        usedSince = sends(Self.usedShare) ? usedSince ?? now : nil
        guard let since = unheardSince else {
            unheardSince = now
            return
        }
        guard let rate, let heardAt, now - max(since, heardAt) > Self.silence + (roundTrip ?? .zero) * 2 else { return }
        unheardSince = now
        resumed = resumed ?? rate * Self.decrease
        lower(to: rate / 2, at: now)
    }

    /// The receiver tells when packets came.
    /// - Parameter bytes: the datagram that the report is from.
    mutating func receive(_ report: ArrivalSummary, in bytes: Span<UInt8>, roundTrip: Nanoseconds?, at now: MonotonicTime) {
        follow(report.reference, at: now)
        var time = arrivalReference
        var number = report.base
        var hasNews = false
        var arrivals = ArrivalReader(report, in: bytes)
        while let arrival = arrivals.next() {
            defer { number &+= 1 }
            if let step = arrival.step { time += Int64(step) * TransportFeedback.step }
            let place = Int(number) % Self.mostPackets
            let state = packets[place].state
            guard state != .unused, packets[place].number == number else { continue }
            guard arrival.step != nil else {
                guard state == .sent else { continue }
                packets[place].state = .lost
                losses.count(isLost: true)
                hasNews = true
                hear(of: number)
                continue
            }
            guard state != .came else { continue }
            if state == .lost { losses.correct() } else { losses.count(isLost: false) }
            packets[place].state = .came
            hasNews = true
            hear(of: number)
            record(packets[place], at: time, now)
        }
        guard hasNews else { return }
        heardAt = now
        unheardSince = next(after: newest).map { MonotonicTime(nanoseconds: $0.sent) }
        update(response: (roundTrip ?? .milliseconds(100)) + .milliseconds(100), at: now)
    }

    private mutating func hear(of number: UInt16) {
        if newest.map({ Int16(bitPattern: number &- $0) > 0 }) ?? true { newest = number }
    }

    private func next(after number: UInt16?) -> Packet? {
        guard let number = number.map({ $0 &+ 1 }) else { return nil }
        let packet = packets[Int(number) % Self.mostPackets]
        return packet.number == number && packet.state == .sent ? packet : nil
    }

    /// Brings a report's time in line with those before. Its number has 24 bits, and comes again after twelve days.
    private mutating func follow(_ reference: UInt32, at now: MonotonicTime) {
        let step = Int64(Int32(bitPattern: (reference &- self.reference) << 8) >> 8)
        self.reference = reference
        let arrival = arrivalReference + step * TransportFeedback.referenceStep
        if let clocks, abs(arrival - clocks.arrival - (now - clocks.time).count) < Self.mostDrift.count {
            arrivalReference = arrival
        } else {
            (arrivalReference, clocks) = (0, (0, now))
            (came, trains) = (RateWindow(), PacketTrains())
            forgetDelays()
        }
    }

    private mutating func forgetDelays() {
        (trend, leastDelay) = (DelayTrend(), nil)
        (queue, longQueues, queueSince) = (.zero, 0, nil)
    }

    private mutating func record(_ packet: Packet, at time: Int64, _ now: MonotonicTime) {
        came.record(bytes: Int(packet.bytes), at: time)
        guard packet.isInTrain, trains.arrived(packet.train, bytes: Int(packet.bytes), at: time) else { return }
        let delay = time - packet.sent
        switch trend.add(delay: Double(delay) / 1e6, arrival: Double(time) / 1e6) {
        case .overuse: isOverused = true
        case .underuse: isUnderused = true
        case .normal: break
        }
        var least = leastDelay ?? (delay, delay, packet.sent)
        if packet.sent - least.since > Self.delayMemory.count { least = (delay, least.now, packet.sent) }
        least.now = min(least.now, delay)
        leastDelay = least
        let former = queue
        queue = Nanoseconds(delay - min(least.now, least.before))
        let isLong = queue > Self.longestQueue && queue + .milliseconds(5) >= former
        longQueues = isLong ? longQueues + 1 : 0
        queueSince = queue > Self.shortQueue ? queueSince ?? now : nil
    }

    // MARK: The rate

    private mutating func update(response: Nanoseconds, at now: MonotonicTime) {
        defer { (isOverused, isUnderused) = (false, false) }
        guard let present = rate else {
            begin(at: now)
            return
        }
        if let advice = losses.claim(at: now) { follow(advice, at: now) }
        if let since = queueSince, now - since > Self.lastingQueue { forgetDelays() }
        if isOverused || longQueues > 1 {
            // What left before the last fall has not come yet.
            guard fell.map({ now - $0 >= response + queue }) ?? true else { return }
            let found = seenCapacity(at: present, now)
            (carried, resumed) = (found, found * Self.decrease)
            let drained = found * (Self.decrease - queue.seconds / Self.drainTime)
            lower(to: min(present * Self.leastDecrease, max(drained, found * Self.leastOfCapacity)), at: now)
            queued = now
        } else if queue > Self.shortQueue || isUnderused {
            changed = now
        } else {
            rise(response, at: now)
        }
    }

    /// Sound alone says nothing of what pictures would have.
    private mutating func begin(at now: MonotonicTime) {
        guard let firstPicture, let came = came.bitRate else { return }
        if let capacity = trains.bitRate {
            set(max(came, capacity * Self.decrease), at: now)
        } else if now - firstPicture > Self.longestStart {
            set(came * 1.5, at: now)
        }
    }

    private mutating func set(_ wanted: Double, at now: MonotonicTime) {
        rate = min(max(wanted, Self.range.lowerBound), Self.range.upperBound)
        changed = now
    }

    private mutating func lower(to wanted: Double, at now: MonotonicTime) {
        set(min(wanted, rate ?? wanted), at: now)
        fell = now
    }

    /// Whether at least such a share of what may be sent is.
    private func sends(_ share: Double) -> Bool { (sentRate.bitRate ?? 0) > share * (rate ?? .infinity) }

    /// What the link carries at the moment. Where we send less than we might, or have until now, what comes says nothing of it. One train alone counts only
    /// while a long queue says that the link has changed: on a busy machine a single one may come late.
    private func seenCapacity(at rate: Double, _ now: MonotonicTime) -> Double {
        let isFull = sends(Self.fullShare) && usedSince.map { now - $0 >= Self.usedTime } ?? false
        let newest = queue > Self.longestQueue ? trains.newest : nil
        let spaced = min(trains.bitRate ?? .infinity, newest ?? .infinity)
        let all = isFull || spaced.isInfinite ? came.bitRate ?? rate : .infinity
        return min(all, spaced)
    }

    private mutating func follow(_ advice: LossLimit.Advice, at now: MonotonicTime) {
        guard let rate else { return }
        mayRise = advice == .rise
        guard case .fall(let share) = advice else { return }
        let left = sends(Self.fullShare) ? came.bitRate.map { $0 * Self.leastDecrease } ?? rate : rate
        carried = left
        if queued.map({ now - $0 > Self.queueMemory }) ?? true { lossFell = now }
        lower(to: min(rate * (1 - share / 2), left), at: now)
    }

    private mutating func rise(_ response: Nanoseconds, at now: MonotonicTime) {
        guard var wanted = rate else { return }
        if let resumed { wanted = max(wanted, min(resumed, came.bitRate.map { $0 * 2 } ?? resumed)) }
        resumed = nil
        let seconds = changed.map { min(now - $0, .milliseconds(250)).seconds } ?? 0
        guard mayRise else { return set(wanted, at: now) }
        let came = came.bitRate ?? wanted
        let capacity = trains.bitRate.map { $0 * Self.mostOfCapacity }
        let isTrusted = lossFell.map { now - $0 > Self.lossMemory } ?? true
        let before = wanted
        if isTrusted, let capacity, capacity > wanted * 1.1 {
            wanted *= 1 + (Self.fastIncrease - 1) * seconds
        } else if let carried, abs(wanted - carried) < carried * 0.1 {
            wanted += max(Self.packetBits / 2 / response.seconds, 4_000) * seconds
        } else {
            wanted *= 1 + ((capacity == nil ? Self.blindIncrease : Self.increase) - 1) * seconds
        }
        if let carried, wanted > carried * 1.1 { self.carried = nil }
        let most = capacity.map { max($0, came * 1.05) } ?? came * 1.5 + 10_000
        set(min(wanted, max(most, before)), at: now)
    }
}
