import Media
@testable import Packets

/// A receiver in virtual time: it tells when packets come, asks for lost ones, and asks for a keyframe when one stays lost, as a browser
/// does.
struct SimulatedReceiver {
    /// Pictures whose packet stays missing for so long are given up.
    private static let longestGap = Nanoseconds.milliseconds(700)

    private let sources: (own: UInt32, retransmission: UInt32)
    private let map: RTPExtensionMap
    private var numbers = SequenceUnwrapper(bits: 16)
    private var requests = RetransmissionRequests()
    private var held: Set<Int64> = []
    private var marked: Set<Int64> = []
    private var keyframes: Set<Int64> = []
    private var highest: Int64?
    /// All packets before this one have come, or are of no use any more.
    private var next: Int64?
    private var gapSince: MonotonicTime?
    private var asked: MonotonicTime?
    /// When pictures became whole.
    private(set) var shown: [MonotonicTime] = []
    private(set) var keyframeRequests = 0
    private(set) var repeats = 0
    private(set) var duplicates = 0

    init(sources: (own: UInt32, retransmission: UInt32), map: RTPExtensionMap) {
        self.sources = sources
        self.map = map
    }

    /// A packet has come.
    mutating func receive(_ bytes: [UInt8], at now: MonotonicTime) {
        guard let packet = RTPPacket(reading: bytes.span, map: map) else { return }
        let start = packet.payload.lowerBound
        if packet.source == sources.own {
            add(packet.sequence, isMarked: packet.isMarked, isKeyframe: bytes[start] == SimulatedCall.keyframeMark, at: now)
        } else if packet.source == sources.retransmission {
            repeats += 1
            let original = UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
            add(original, isMarked: packet.isMarked, isKeyframe: bytes[start + 2] == SimulatedCall.keyframeMark, at: now)
        }
    }

    private mutating func add(_ sequence: UInt16, isMarked: Bool, isKeyframe: Bool, at now: MonotonicTime) {
        let number = numbers.unwrap(Int64(sequence))
        _ = requests.came(number, at: now)
        if let highest, number > highest + 1, !requests.add(highest + 1..<number) { giveUp(at: now) }
        highest = max(highest ?? number, number)
        let first = next ?? number
        next = first
        guard number >= first else {
            duplicates += 1
            return
        }
        if !held.insert(number).inserted { duplicates += 1 }
        if isMarked { marked.insert(number) }
        if isKeyframe { keyframes.insert(number) }
        // A keyframe needs nothing from before it.
        if isKeyframe, !keyframes.contains(number - 1), number > first, !held.contains(first) {
            next = number
            requests.forget(before: number)
            held = held.filter { $0 >= number }
        }
        advance(at: now)
    }

    private mutating func advance(at now: MonotonicTime) {
        guard var at = next else { return }
        while held.remove(at) != nil {
            if marked.remove(at) != nil { shown.append(now) }
            keyframes.remove(at - 1)
            at += 1
        }
        let hasMoved = at != next
        next = at
        gapSince = held.isEmpty ? nil : hasMoved ? now : gapSince ?? now
    }

    private mutating func giveUp(at now: MonotonicTime) {
        guard asked.map({ now - $0 > .milliseconds(500) }) ?? true else { return }
        asked = now
        keyframeRequests += 1
    }

    /// The datagram that is due now; nil for none.
    mutating func request(at now: MonotonicTime) -> [UInt8]? {
        var writer = RTCPWriter()
        var lost: [UInt16] = []
        if let due = requests.due, due <= now { requests.claim(at: now, &lost) }
        if !lost.isEmpty { writer.lost(lost.sorted(), from: 1, media: sources.own) }
        let former = keyframeRequests
        if let since = gapSince, now - since > Self.longestGap { giveUp(at: now) }
        if keyframeRequests != former { writer.pictureLoss(from: 1, media: sources.own) }
        return writer.bytes.isEmpty ? nil : writer.bytes
    }

    /// How often there was no picture for longer than so many milliseconds.
    func pauses(over milliseconds: Double, from: MonotonicTime) -> Int {
        let times = shown.filter { $0 > from }
        return zip(times, times.dropFirst()).count { ($1 - $0).milliseconds > milliseconds }
    }

    /// The longest time between two pictures, milliseconds.
    func longestPause(from: MonotonicTime) -> Double {
        var (longest, last) = (0.0, from)
        for time in shown where time > from { (longest, last) = (max(longest, (time - last).milliseconds), time) }
        return longest
    }
}

/// What a receiver reports of the pictures' packets (RFC 3550, 6.4.2), each second.
struct LossReport {
    private var sent = 0
    private var came = 0
    private var next: MonotonicTime?
    /// The newest sender report, and when it comes.
    private var heard: (middle: UInt32, time: MonotonicTime)?

    /// A packet of the source leaves, or has come. Those on their way count as lost in one report, and as too many in the next.
    mutating func count(_ packet: [UInt8], of source: UInt32, hasCome: Bool) {
        guard packet.span.bigEndian(at: 8, 4) == UInt64(source) else { return }
        if hasCome { came += 1 } else { sent += 1 }
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer, track: Int, at time: MonotonicTime) {
        guard track == 0 else { return }
        let all = Array(bytes)
        var reader = RTCPReader(all.span)
        guard case .senderReport(let report, _) = reader.next() else { return }
        heard = (UInt32(truncatingIfNeeded: report.wallClock >> 16), time)
    }

    /// The report that is due; nil for none.
    mutating func next(of source: UInt32, at now: MonotonicTime) -> [UInt8]? {
        let due = next ?? now + .seconds(1)
        next = due
        guard now >= due, let heard, now >= heard.time, sent > 0 else { return nil }
        next = now + .seconds(1)
        let lost = Double(max(0, sent - came)) / Double(sent)
        (sent, came) = (0, 0)
        var writer = RTCPWriter()
        writer.receiverReport(
            from: 1,
            RTCPPacket.ReportBlock(
                source: source, fractionLost: UInt8(lost * 255), lost: 0, highestSequence: 0, jitter: 0,
                lastReport: heard.middle, delay: UInt32((now - heard.time).seconds * 65_536)))
        return writer.bytes
    }
}
