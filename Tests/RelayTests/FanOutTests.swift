import Container
import Endpoint
import Glibc
import Media
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// When receivers get a keyframe, in virtual time.
@Suite struct KeyframeDemandTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func theFirstReceiverGetsOneAtOnce() {
        var demand = KeyframeDemand()
        let before = demand.claim(at: at(0), othersAreServed: false)
        demand.want(at: at(0))
        let asked = (0..<2).map { demand.claim(at: at($0), othersAreServed: false) }
        #expect(!before && asked == [true, false])
    }

    /// A reader that comes ten times a second costs the others one keyframe a second.
    @Test func aReaderThatComesAgainAndAgainCostsTheOthersOneASecond() {
        var demand = KeyframeDemand()
        var asked = 0
        for milliseconds in stride(from: Int64(0), to: 10_000, by: 10) {
            if milliseconds % 100 == 0 { demand.want(at: at(milliseconds)) }
            if demand.claim(at: at(milliseconds), othersAreServed: true) {
                asked += 1
                demand.keyframeWasSent()
            }
        }
        #expect(asked == 10)
    }

    /// One that misses something of whatever it gets asks less and less often: after 1, 2, 4, 8 and 16 seconds. It does not matter
    /// whether that is a keyframe, or what follows a keyframe that came whole.
    @Test(arguments: [false, true]) func aLinkThatIsTooSlowAsksLessAndLess(keyframesComeWhole: Bool) {
        var demand = KeyframeDemand()
        var backoff = KeyframeBackoff()
        var asked: [Int64] = []
        demand.want(at: at(0))
        for milliseconds in stride(from: Int64(0), to: 60_000, by: 10)
        where demand.claim(at: at(milliseconds), othersAreServed: true) {
            asked.append(milliseconds / 1_000)
            demand.keyframeWasSent()
            if keyframesComeWhole { backoff.served(at: at(milliseconds)) }
            demand.want(at: at(milliseconds), after: backoff.missed(at: at(milliseconds)))
        }
        #expect(asked == [0, 1, 3, 7, 15, 31, 47])
        // It waits for nobody when it is alone.
        demand.want(at: at(60_000), after: backoff.missed(at: at(60_000)))
        let isAlone = demand.claim(at: at(60_000), othersAreServed: false)
        #expect(isAlone)
    }

    /// One that misses something now and then gets its keyframe at once.
    @Test func aLinkThatHasKeptUpBeginsAnew() {
        var backoff = KeyframeBackoff()
        for second in stride(from: Int64(0), to: 200, by: 20) {
            backoff.served(at: at(second * 1_000))
            backoff.served(at: at(second * 1_000 + 5_000))
            let wait = backoff.missed(at: at(second * 1_000 + 10_000))
            #expect(wait == .zero)
        }
        backoff.served(at: at(200_000))
        let wait = backoff.missed(at: at(201_000))
        #expect(wait == .seconds(2))
    }
}

/// Pipes that are read at random, too late, or never again. No thread but this one.
@Suite struct FanOutTests {
    /// The reading end of an output.
    private final class Pipe {
        let sink: Sink
        private var end: Int32
        private(set) var bytes: [UInt8] = []

        init(_ number: Int) throws {
            var ends: (Int32, Int32) = (0, 0)
            try #require(
                withUnsafeMutablePointer(to: &ends) {
                    $0.withMemoryRebound(to: Int32.self, capacity: 2) { pipe($0) }
                } == 0)
            end = ends.0
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            sink = try Sink(path: "pipe \(number)", adopting: ends.1)
            // Less than it has now, so that it is full soon. The first one is read after every unit.
            if number > 0 { _ = fcntl(ends.1, 1031, 16_384 as Int32) }
        }

        deinit { hangUp() }

        func drain() {
            guard end >= 0 else { return }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(end, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        }

        func hangUp() {
            guard end >= 0 else { return }
            close(end)
            end = -1
        }
    }

    /// Four outputs, of which some are full or gone at times: the books of each balance, nobody gets a unit that they cannot decode,
    /// and one who reads everything gets everything.
    @Test(arguments: 0..<20) func theBooksOfEachOutputBalance(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let pipes = try (0..<4).map { try Pipe($0) }
        var outputs = FanOut(pipes.map(\.sink), map: nil)
        var delivered: UInt64 = 0
        var keyframes = 0
        for number in 0..<400 {
            _ = outputs.follow { _, _ in }
            let isKeyframe = outputs.claimKeyframe() || number % 50 == 0
            if isKeyframe { keyframes += 1 }
            outputs.countOffered()
            delivered += 1
            // A unit of some messages: number, place, count, whether it is a keyframe.
            let count = 1 + Int(random.next() % 5)
            let outcome = outputs.sendVideo(isKeyframe: isKeyframe, stamp: .now()) { emit in
                for place in 0..<count {
                    var message = [UInt8](repeating: 0, count: 1_316)
                    message[0] = UInt8(number & 255)
                    message[1] = UInt8(number >> 8)
                    message[2] = UInt8(place)
                    message[3] = UInt8(count)
                    message[4] = isKeyframe ? 1 : 0
                    message.withUnsafeBytes { emit($0) }
                }
            }
            #expect(outcome.whole <= outcome.receivers && outcome.receivers <= 4)
            pipes[0].drain()
            for pipe in pipes[1...] where random.next() % 6 == 0 { pipe.drain() }
            if number == 200 { pipes[3].hangUp() }
        }
        for (pipe, books) in zip(pipes, outputs.books) {
            pipe.drain()
            #expect(books.balance && books.offered == delivered && books.queued == 0, "\(books)")
            let whole = unitsInOrder(pipe.bytes)
            if pipe !== pipes[3] { #expect(UInt64(whole) == books.sent, "\(whole) of \(books)") }
        }
        #expect(outputs.books[0].sent == 400 && outputs.books[0].dropped == 0)
        #expect(outputs.books[1][.refused] > 0 && outputs.books[1][.awaitsKeyframe] > 0)
        #expect(outputs.books[3][.notConnected] > 100)
        // Not one for each unit that was lost.
        #expect(keyframes < 20)
    }

    /// - Returns: how many units are whole. After one that is not, the next is a keyframe.
    private func unitsInOrder(_ bytes: [UInt8]) -> Int {
        var whole = 0
        var (unit, next, needsKeyframe) = (-1, 0, false)
        for start in stride(from: 0, to: bytes.count, by: 1_316) {
            let number = Int(bytes[start]) | Int(bytes[start + 1]) << 8
            let (place, count) = (Int(bytes[start + 2]), Int(bytes[start + 3]))
            if number != unit {
                if unit >= 0, next >= 0 { needsKeyframe = true }
                #expect(number > unit && place == 0, "unit \(number) begins at message \(place)")
                #expect(!needsKeyframe && number == unit + 1 || bytes[start + 4] == 1, "unit \(number) cannot be decoded")
                (unit, next, needsKeyframe) = (number, 0, false)
            }
            #expect(place == next)
            next += 1
            if next == count {
                whole += 1
                next = -1
            }
        }
        return whole
    }
}
