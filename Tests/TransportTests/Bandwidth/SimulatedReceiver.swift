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

    /// The longest time between two pictures, milliseconds.
    func longestPause(from: MonotonicTime) -> Double {
        var (longest, last) = (0.0, from)
        for time in shown where time > from { (longest, last) = (max(longest, (time - last).milliseconds), time) }
        return longest
    }
}
