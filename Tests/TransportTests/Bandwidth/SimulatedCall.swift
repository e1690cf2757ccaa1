import Media
@testable import Packets
@testable import Relay

/// A session that sends pictures and sound over a link to a receiver who tells when they come, in virtual time. The pictures are as
/// large as the estimate allows. All datagrams are read and written as on a network.
final class SimulatedCall {
    struct Second {
        var sent = 0.0
        var came = 0.0
        var capacity = 0.0
        var estimate = 0.0
        /// How long the pictures' last packets waited, milliseconds.
        var waits: [Double] = []
    }

    /// The next picture, and when the one behind it comes.
    struct Pictures {
        /// Nil: none is sent.
        var bitRate: Double?
        var perSecond = 30.0
        /// It begins another layer.
        var isKeyframe = false
    }

    var link: SimulatedLink
    /// Bits a second of others on the link.
    var others: (Nanoseconds) -> Double = { _ in 0 }
    var picturesPerSecond = 30.0
    /// Of the pictures, bits a second.
    var least = 150_000.0
    var most = 6_000_000.0
    var random = SplitMix64(seed: 7)
    /// Every so many pictures one is six times as large; 0 for none.
    var keyframeInterval = 0
    /// The receiver asks for lost packets, and for keyframes.
    var asksAgain = false
    /// It also sends receiver reports of the pictures, each second.
    var reportsLosses = false
    var feedbackInterval = Nanoseconds.milliseconds(50)
    /// The encoder knows the rate so much later, and then takes all that it may.
    var encoderDelay = Nanoseconds.zero
    /// Gives the pictures where they are not as large as the estimate allows: asked once for each, of what the receiver has told.
    var source: ((RTPSendSession.Feedback, MonotonicTime) -> Pictures)?
    /// More bits a second are of no use; nil: no probes.
    var useful: UInt64? {
        get { session.usefulBitRate }
        set { session.usefulBitRate = newValue }
    }
    /// The receiver gets no pictures, so that what its link carries is shown otherwise.
    var probesAlone = false
    private var nextProbe: MonotonicTime
    var mayRepeatEarly: Bool {
        get { session.mayRepeatEarly }
        set { session.mayRepeatEarly = newValue }
    }
    static let keyframeMark: UInt8 = 0x65
    private(set) var seconds: [Second] = []
    private(set) var largestEstimate = 0.0

    private var session: RTPSendSession
    private let map: RTPExtensionMap
    private var arrivals = PacketArrivals()
    private(set) var receiver: SimulatedReceiver
    private var inFlight: [(arrival: MonotonicTime, number: UInt16, bytes: Int, packet: [UInt8])] = []
    /// What left, or was lost, and how many bytes: seconds since the start.
    private(set) var offered: [(second: Double, bytes: Int)] = []
    private var rates: [(time: MonotonicTime, rate: Double)] = []
    private var wantsKeyframe = false
    private var awaitsKeyframe = false
    private(set) var picturesLeftOut = 0
    /// How long each datagram waited, milliseconds, and when it left.
    private(set) var delays: [(second: Double, wait: Double)] = []
    private var lossReport = LossReport()
    private let pictureSource: UInt32
    private var reports: [(arrival: MonotonicTime, bytes: [UInt8])] = []
    private let start = MonotonicTime(nanoseconds: 5_000_000_000)
    private var now: MonotonicTime
    private var nextPicture, nextSound, nextOther, nextReport: MonotonicTime
    private var pictures = 0
    /// What a datagram has beside the packet: IPv4, UDP, SRTP.
    private static let overhead = 28 + 16
    private var payload = [UInt8](repeating: 0x41, count: 1150)

    init(_ link: SimulatedLink) {
        self.link = link
        var video = RTPTrack([RTPFormat(.h264, payloadType: 96, retransmission: 97)])
        var sound = RTPTrack([RTPFormat(.opus, payloadType: 111, channels: 2)])
        (video.extensions.transportSequence, sound.extensions.transportSequence) = (3, 3)
        (video.feedback, sound.feedback) = ([.arrivals, .retransmission], .arrivals)
        (video.source, sound.source) = (5, 6)
        map = video.extensions
        session = RTPSendSession([video, sound])
        let sources = session.sources(of: 0)
        (receiver, pictureSource) = (SimulatedReceiver(sources: sources, map: map), sources.own)
        now = start
        (nextPicture, nextSound, nextOther, nextReport, nextProbe) = (start, start, start, start, start)
    }

    var estimate: Double? { session.feedback.estimate.map { Double($0) } }
    var feedback: RTPSendSession.Feedback { session.feedback }

    func run(seconds length: Double) {
        let end = now + .seconds(length)
        while now < end {
            tick()
            now = now + .milliseconds(1)
        }
    }

    private func tick() {
        let index = Int((now - start).seconds)
        while seconds.count <= index { seconds.append(Second()) }
        seconds[index].capacity += link.capacity(now - start) / 1000
        if let estimate {
            seconds[index].estimate += estimate / 1000
            largestEstimate = max(largestEstimate, estimate)
        }
        receive(index)
        if now >= nextOther {
            nextOther = nextOther + .milliseconds(5)
            let bits = others(now - start) * 0.005
            if bits > 0 { _ = link.send(bytes: Int(bits / 8), at: now) }
        }
        if now >= nextSound {
            nextSound = nextSound + .milliseconds(20)
            send(160, track: 1, index)
        }
        if now >= nextProbe {
            nextProbe = nextProbe + SlowReceivers.interval
            if probesAlone { session.probeAlone(at: now) { packet, _ in carryProbe(packet, index) } }
        }
        guard now >= nextPicture else { return }
        let picture =
            source?(session.feedback, now)
            ?? Pictures(bitRate: min(max(encoderRate() - 70_000, least), most), perSecond: picturesPerSecond)
        nextPicture = nextPicture + .seconds(1 / picture.perSecond)
        if session.claimGap() { awaitsKeyframe = true }
        if session.claimKeyframe(at: now) || picture.isKeyframe { wantsKeyframe = true }
        guard let rate = picture.bitRate else { return }
        var bytes = rate / 8 / picture.perSecond * (0.7 + 0.6 * random.unit())
        if keyframeInterval > 0, pictures % keyframeInterval == 0 { bytes *= 6 }
        payload[0] = 0x41
        if wantsKeyframe {
            bytes = max(bytes * 3, 4_000)
            payload[0] = Self.keyframeMark
            (wantsKeyframe, awaitsKeyframe) = (false, false)
        }
        pictures += 1
        if awaitsKeyframe {
            picturesLeftOut += 1
            return
        }
        var wait: Double?
        var left = Int(bytes)
        repeat {
            wait = send(min(max(left, 50), 1150), track: 0, isMarked: left <= 1150, index) ?? wait
            left -= 1150
        } while left > 0
        if let wait { seconds[index].waits.append(wait) }
    }

    private func encoderRate() -> Double {
        rates.append((now, estimate ?? 1_000_000))
        while rates.count > 1, now - rates[1].time >= encoderDelay { rates.removeFirst() }
        return rates[0].rate
    }

    /// - Returns: how long the packet waits, milliseconds; nil where it is lost.
    @discardableResult private func send(_ count: Int, track: Int, isMarked: Bool = true, _ index: Int) -> Double? {
        var wait: Double?
        payload.withUnsafeBytes { bytes in
            _ = session.send(
                UnsafeRawBufferPointer(rebasing: bytes[..<count]), UnsafeRawBufferPointer(start: nil, count: 0), track: track,
                presentation: MediaTime(ticks: Int64((now - start).seconds * 90_000)), sourceTime: now, isMarked: isMarked,
                at: now
            ) { packet in
                wait = carry(packet, index) ?? wait
                return .sent
            }
        }
        return wait
    }

    private func carryProbe(_ packet: UnsafeRawBufferPointer, _ index: Int) -> Sent {
        _ = carry(packet, index)
        return .sent
    }

    /// Puts a packet on the link.
    /// - Returns: how long it waits, milliseconds; nil where it is lost.
    private func carry(_ packet: UnsafeRawBufferPointer, _ index: Int) -> Double? {
        let all = Array(packet)
        let number = RTPPacket(reading: all.span, map: map)!.extensions.transportSequence!
        let size = packet.count + Self.overhead
        lossReport.count(all, of: pictureSource, hasCome: false)
        seconds[index].sent += Double(size * 8)
        offered.append(((now - start).seconds, size))
        guard let way = link.send(bytes: size, at: now) else { return nil }
        inFlight.append((way.arrival, number, size, all))
        delays.append(((now - start).seconds, way.wait.milliseconds))
        return way.wait.milliseconds
    }

    private func receive(_ index: Int) {
        while let first = inFlight.first, first.arrival <= now {
            arrivals.record(first.number, at: first.arrival)
            if asksAgain { receiver.receive(first.packet, at: now) }
            lossReport.count(first.packet, of: pictureSource, hasCome: true)
            seconds[index].came += Double(first.bytes * 8)
            inFlight.removeFirst()
        }
        if now >= nextReport {
            nextReport = nextReport + feedbackInterval
            if arrivals.claim() {
                var writer = RTCPWriter()
                writer.arrivals(arrivals.report, from: 1, media: 5)
                reports.append((now + link.delay, writer.bytes))
            }
        }
        if reportsLosses {
            session.nextReport(at: now) { lossReport.read($0, track: $1, at: now + link.delay) }
            if let report = lossReport.next(of: pictureSource, at: now) {
                reports.append((now + link.delay, report))
            }
        }
        if asksAgain, let request = receiver.request(at: now) { reports.append((now + link.delay, request)) }
        while let first = reports.first, first.arrival <= now {
            first.bytes.withUnsafeBytes { session.receive($0, at: now) { packet, _ in _ = carry(packet, index) } }
            reports.removeFirst()
        }
    }

    // MARK: Figures

    /// What came of what the link had for us, without the first seconds, 0…1.
    func use(from: Int, to: Int? = nil) -> Double {
        var (came, capacity) = (0.0, 0.0)
        for index in from..<(to ?? seconds.count) {
            came += seconds[index].came
            capacity += seconds[index].capacity - others(.seconds(Double(index) + 0.5))
        }
        return came / max(1, capacity)
    }

    /// How many seconds after a time as many bits left in half a second as that rate has, for the first time.
    func fell(below rate: Double, after second: Double) -> Double {
        var at = second
        while at < Double(seconds.count) {
            let bits = offered.reduce(0) { $1.second >= at && $1.second < at + 0.5 ? $0 + 8 * $1.bytes : $0 }
            if Double(bits) / 0.5 <= rate { return at - second }
            at += 0.05
        }
        return .infinity
    }

    /// How many pictures became whole between two seconds.
    func shown(from: Double, to: Double) -> Int {
        receiver.shown.count { $0 >= start + .seconds(from) && $0 < start + .seconds(to) }
    }

    /// The longest time without a picture since a second, milliseconds.
    func longestPause(from second: Double) -> Double { receiver.longestPause(from: start + .seconds(second)) }

    func pauses(over milliseconds: Double, from second: Double) -> Int {
        receiver.pauses(over: milliseconds, from: start + .seconds(second))
    }

    /// The share of the packets' bits that did not come.
    func lost(from: Int) -> Double {
        var (came, sent) = (0.0, 0.0)
        for second in seconds[from...] { (came, sent) = (came + second.came, sent + second.sent) }
        return 1 - came / max(1, sent)
    }

    /// The waits of pictures, sorted, milliseconds.
    func waits(from: Int, to: Int? = nil) -> [Double] { seconds[from..<(to ?? seconds.count)].flatMap(\.waits).sorted() }

    func wait(_ share: Double, from: Int, to: Int? = nil) -> Double {
        let all = waits(from: from, to: to)
        return all.isEmpty ? 0 : all[min(all.count - 1, Int(Double(all.count) * share))]
    }

    /// The wait of datagrams of all kinds, milliseconds.
    func delay(_ share: Double, from second: Double) -> Double {
        let all = delays.filter { $0.second >= second }.map(\.wait).sorted()
        return all.isEmpty ? 0 : all[min(all.count - 1, Int(Double(all.count) * share))]
    }

    var table: String {
        var lines: [String] = []
        for (number, second) in seconds.enumerated() {
            let values: [Double] = [second.capacity, second.estimate, second.sent, second.came]
            let text = values.map { String(Int($0 / 1000)) }.joined(separator: " ")
            lines.append("\(number): \(text) kb/s, \(Int(second.waits.max() ?? 0)) ms")
        }
        return lines.joined(separator: "\n")
    }
}
