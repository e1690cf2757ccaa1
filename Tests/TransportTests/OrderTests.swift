import Media
import Testing
@testable import Packets
@testable import SRT

struct WrappingCountTests {
    @Test(arguments: [Int64(1_000_000), 90_000]) func survivesWrapsAndSilences(perSecond: Int64) {
        var counts = WrappingCount(perSecond: perSecond)
        var random = SplitMix64(seed: 3)
        var count: Int64 = (1 << 32) - perSecond
        var now = MonotonicTime(nanoseconds: 7)
        for step in 0..<2_000 {
            #expect(counts.unwrap(UInt32(truncatingIfNeeded: count), arrival: now) == count, "step \(step)")
            // Up to a day between two of them, and up to two seconds of it late.
            let seconds = step % 100 == 0 ? Int64(random.next() % 86_400) : 0
            let milliseconds = Int64(random.next() % 1_000)
            count += seconds * perSecond + milliseconds * perSecond / 1_000
            now = now + Nanoseconds(seconds * 1_000_000_000 + milliseconds * 1_000_000) + .milliseconds(random.unit() * 2)
        }
        #expect(count > 1 << 33)
    }
}

struct SequenceUnwrapperTests {
    @Test(arguments: [16, 31]) func countsAcrossTheWrapInAnyOrder(bits: Int) {
        var unwrapper = SequenceUnwrapper(bits: bits)
        let circle: Int64 = 1 << Int64(bits)
        let start = circle - 16
        var random = SplitMix64(seed: 9)
        #expect(unwrapper.unwrap(start) == start)
        for i in 1..<200 {
            let count = start + Int64(i) + Int64(random.next() % 20) - 10
            #expect(unwrapper.unwrap(count % circle) == count)
        }
    }

    @Test func stepsGoTheShorterWayRound() {
        var unwrapper = SequenceUnwrapper(bits: 16)
        #expect(unwrapper.step(to: 12) == 0)
        _ = unwrapper.unwrap(65_530)
        #expect(unwrapper.step(to: 3) == 9 && unwrapper.step(to: 65_520) == -10)
        #expect(unwrapper.step(to: 32_761) == 32_767 && unwrapper.step(to: 32_762) == -32_768)
        // Numbers from before the first one are negative.
        #expect(unwrapper.unwrap(32_770) == 32_770)
        var young = SequenceUnwrapper(bits: 16)
        #expect(young.unwrap(2) == 2 && young.unwrap(65_535) == -1 && young.unwrap(3) == 3)
    }
}

struct BackoffTests {
    @Test func growsToFiveSecondsAndStartsAnew() {
        var backoff = CallerBackoff(seed: 4)
        var span: Int64 = 100
        for _ in 0..<12 {
            let wait = backoff.next()
            #expect(wait >= .milliseconds(Double(span) / 2) && wait <= .milliseconds(Double(span)))
            span = min(span * 2, 5_000)
        }
        backoff.reset()
        #expect(backoff.next() <= .milliseconds(100))
    }
}

/// A hold buffer for expectations, which copy what they look at and so need a class.
private final class Hold {
    var buffer = HoldBuffer(capacity: 64)

    func begin(at sequence: Int64) { buffer.begin(at: sequence) }
    var count: Int { buffer.count }
    var gapDeadline: MonotonicTime? { buffer.gapDeadline }
    func skipGap() -> Int64 { buffer.skipGap() }
    func isFar(_ sequence: Int64) -> Bool { buffer.isFar(sequence) }

    private static func message(_ sequence: Int64) -> Message {
        Message(byteCount: 8, arrival: MonotonicTime(nanoseconds: sequence), sourceTime: nil, sequence: sequence)
    }

    private static func contents(_ sequence: Int64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: sequence >> (8 * $0)) }
    }

    func pop() -> Int64? {
        var bytes = [UInt8](repeating: 0, count: Message.largest)
        guard let message = bytes.withUnsafeMutableBytes({ buffer.popDue(into: $0) }) else { return nil }
        #expect(Array(bytes[..<8]) == Self.contents(message.sequence))
        return message.sequence
    }

    func put(
        _ sequence: Int64, packets: Int = 1, gapDeadline: MonotonicTime = MonotonicTime(nanoseconds: .max)
    ) -> HoldBuffer.Verdict {
        Self.contents(sequence).withUnsafeBytes {
            buffer.accept(Self.message(sequence), $0, packets: packets, gapDeadline: gapDeadline)
        }
    }

    func putLarge(_ sequence: Int64, byteCount: Int) -> HoldBuffer.Verdict {
        var message = Self.message(sequence)
        message.byteCount = byteCount
        return [UInt8](repeating: 1, count: byteCount).withUnsafeBytes {
            buffer.accept(message, $0, gapDeadline: message.arrival)
        }
    }

    func skip(_ sequence: Int64, packets: Int) -> Bool { buffer.skip(sequence, packets: packets) }

    func skipGap(before sequence: Int64) -> Int64 { buffer.skipGap(before: sequence) }
}

struct HoldBufferTests {
    /// Whatever the order and the repeats, what comes out is each message once, in order.
    @Test(arguments: 0..<20) func ordersAnything(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let hold = Hold()
        hold.begin(at: 100)
        var waiting = Array(Int64(100)..<1100)
        var out: [Int64] = []
        while out.count < 1000 {
            // The next one of a small neighbourhood, sometimes one that has been before.
            let index = Int(random.next() % UInt64(min(waiting.count, 20)))
            let sequence = waiting[index]
            if hold.isFar(sequence) { continue }
            if random.next() % 5 != 0 { waiting.remove(at: index) }
            if hold.put(sequence) == .deliver { out.append(sequence) }
            while let sequence = hold.pop() { out.append(sequence) }
        }
        #expect(out == Array(100..<1100))
        #expect(hold.count == 0)
    }

    @Test func aGapIsAbandonedAtItsDeadline() {
        let hold = Hold()
        #expect(hold.put(10) == .deliver)
        #expect(hold.put(13, gapDeadline: MonotonicTime(nanoseconds: 500)) == .held)
        #expect(hold.put(14, gapDeadline: MonotonicTime(nanoseconds: 600)) == .held)
        #expect(hold.gapDeadline == MonotonicTime(nanoseconds: 500))
        #expect(hold.pop() == nil)
        #expect(hold.skipGap() == 2)
        #expect(hold.pop() == 13)
        #expect(hold.pop() == 14)
        #expect(hold.pop() == nil)
        // A message of an abandoned gap that comes after all is too late.
        #expect(hold.put(11) == .duplicate)
        #expect(hold.put(15) == .deliver)
    }

    @Test func aMessageOfSeveralPacketsLeavesNoGap() {
        let hold = Hold()
        #expect(hold.put(10, packets: 3) == .deliver)
        #expect(hold.put(13, packets: 2) == .deliver)
        #expect(hold.put(18, packets: 4) == .held)
        #expect(hold.put(22) == .held)
        #expect(hold.pop() == nil)
        #expect(hold.put(15, packets: 3) == .deliver)
        #expect(hold.pop() == 18)
        #expect(hold.pop() == 22)
        #expect(hold.put(23) == .deliver)
    }

    /// A connection may begin just before the numbers wrap, and its first message come behind later ones.
    @Test func numbersMayBeNegative() {
        let hold = Hold()
        hold.begin(at: -3)
        #expect(hold.put(2) == .held)
        #expect(hold.put(-1) == .held)
        #expect(hold.put(-1) == .duplicate)
        #expect(hold.pop() == nil)
        #expect(hold.put(-3) == .deliver)
        #expect(hold.pop() == nil)
        #expect(hold.skipGap() == 1)
        #expect(hold.pop() == -1)
        #expect(hold.put(0) == .deliver)
        #expect(hold.put(1) == .deliver)
        #expect(hold.pop() == 2)
    }

    @Test func anUnusableMessageIsSkippedOnlyInItsTurn() {
        let hold = Hold()
        #expect(hold.put(10) == .deliver)
        #expect(hold.skip(11, packets: 3))
        #expect(!hold.skip(15, packets: 3))
        #expect(hold.put(18, gapDeadline: MonotonicTime(nanoseconds: 500)) == .held)
        #expect(hold.put(14) == .deliver)
        #expect(hold.skipGap() == 3)
        #expect(hold.pop() == 18)
    }

    /// Whatever numbers somebody invents, nothing is held that can never come out.
    @Test func messagesWithinMessagesAreForgotten() {
        let hold = Hold()
        #expect(hold.put(10) == .deliver)
        #expect(hold.put(13) == .held)
        #expect(hold.put(15) == .held)
        #expect(hold.put(11, packets: 4) == .deliver)
        #expect(hold.pop() == 15)
        #expect(hold.put(20) == .held)
        #expect(hold.put(16, packets: 1 << 40) == .deliver)
        #expect(hold.count == 0)
        #expect(hold.gapDeadline == nil)
    }

    @Test func noMessageMayOverwriteItsNeighbour() async {
        await #expect(processExitsWith: .failure) {
            let hold = Hold()
            _ = hold.put(10)
            _ = hold.putLarge(12, byteCount: Message.largest + 1)
        }
        let hold = Hold()
        #expect(hold.put(10) == .deliver)
        #expect(hold.putLarge(12, byteCount: Message.largest) == .held)
    }

    @Test func farAheadIsKnown() {
        let hold = Hold()
        #expect(hold.put(10) == .deliver)
        #expect(!hold.isFar(74))
        #expect(hold.isFar(75))
        #expect(hold.put(20) == .held)
        #expect(hold.skipGap(before: 900) == 9)
        #expect(hold.pop() == 20)
        #expect(hold.skipGap(before: 900) == 879)
        #expect(hold.skipGap(before: 900) == 0)
        #expect(hold.put(900) == .deliver)
    }

    /// Whatever is lost for good, and however far the others run ahead: what has come is delivered once and in order, unless
    /// it came after its gap had been abandoned. Each number is reported exactly once, as a message or as missing. A gap is
    /// abandoned only for a message that lies as far ahead as the buffer reaches.
    @Test(arguments: 0..<40) func everyNumberIsAccountedForOnce(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let hold = Hold()
        hold.begin(at: 100)
        let lossPerMille = [1, 10, 100, 500][Int(seed % 4)]
        // What is not lost comes in its turn or up to 30 places later; now and then a long stretch is lost.
        var arriving: [(place: Int64, sequence: Int64)] = []
        var sequence: Int64 = 100
        while sequence < 4000 {
            if random.next() % 1000 == 0 { sequence += Int64(random.next() % 200) }
            if random.next() % 1000 >= lossPerMille {
                arriving.append((sequence + Int64(random.next() % 30), sequence))
            }
            sequence += 1
        }
        arriving.sort { $0 < $1 }
        var next: Int64 = 100
        var told: Int64 = 0
        var late = 0
        func deliver(_ sequence: Int64) {
            #expect(sequence == next)
            next = sequence + 1
        }
        for (_, sequence) in arriving {
            while hold.isFar(sequence) {
                while let message = hold.pop() { deliver(message) }
                guard hold.isFar(sequence) else { break }
                #expect(sequence - next >= 64)
                let missing = hold.skipGap(before: sequence)
                #expect(missing > 0)
                told += missing
                next += missing
            }
            while let message = hold.pop() { deliver(message) }
            switch hold.put(sequence) {
            case .deliver: deliver(sequence)
            case .held: break
            case .duplicate:
                late += 1
                #expect(sequence < next)
            }
        }
        while hold.count > 0 {
            while let message = hold.pop() { deliver(message) }
            let missing = hold.skipGap()
            told += missing
            next += missing
        }
        // Late messages had been reported missing. Nobody knows of those that were lost at the end.
        let span = arriving.map(\.sequence).max()! + 1 - 100
        #expect(next == 100 + span)
        #expect(told == span - Int64(arriving.count - late))
        if lossPerMille <= 10 { #expect(late < 100) }
    }
}

/// The policy as something that expectations can call.
private final class Judge {
    private var policy = IngestPolicy()
    func judge(_ second: IngestPolicy.Second, readEarly: Bool) -> Bool { policy.judge(second, readEarly: readEarly) }
}

struct IngestPolicyTests {
    private func second(late: Int64 = 0, lost: Int64 = 0, silence: Double = 20, rtt: Double = 40) -> IngestPolicy.Second {
        IngestPolicy.Second(
            messages: 200, late: late, lost: lost, retransmitted: lost, roundTripTime: .milliseconds(rtt),
            window: .milliseconds(120), longestSilence: .milliseconds(silence))
    }

    @Test func lossThatIsRepairedInTimeIsNoReason() {
        let policy = Judge()
        for _ in 0..<1000 { #expect(policy.judge(second(late: 2, lost: 20), readEarly: true)) }
    }

    @Test func lateMessagesBehindLossesAre() {
        let policy = Judge()
        var verdicts: [Bool] = []
        for _ in 0..<5 { verdicts.append(policy.judge(second(late: 30, lost: 20), readEarly: true)) }
        #expect(verdicts == [true, true, false, false, false])
    }

    @Test func outagesAndSlowSendersAreNot() {
        let policy = Judge()
        for _ in 0..<100 {
            #expect(policy.judge(second(late: 190, lost: 100, silence: 2000), readEarly: true))
            #expect(policy.judge(second(late: 100), readEarly: true))
        }
    }

    @Test func aSilentSecondSaysNothing() {
        let policy = Judge()
        for _ in 0..<100 { #expect(policy.judge(IngestPolicy.Second(), readEarly: true)) }
    }

    @Test func aQuietMinuteGivesAnotherChance() {
        let policy = Judge()
        for _ in 0..<3 { _ = policy.judge(second(late: 30, lost: 20), readEarly: true) }
        for _ in 0..<30 { #expect(!policy.judge(second(), readEarly: false)) }
        #expect(!policy.judge(second(lost: 20), readEarly: false))
        for _ in 0..<59 { #expect(!policy.judge(second(), readEarly: false)) }
        #expect(policy.judge(second(), readEarly: false))
    }
}
