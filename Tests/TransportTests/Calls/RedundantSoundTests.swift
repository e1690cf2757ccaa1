import Media
import Testing
@testable import Packets

/// Sound whose packets carry earlier ones along (RFC 2198), as bytes and through a session.
struct RedundantSoundTests {
    private typealias Path = RTPSessionTests.Path

    typealias Earlier = (type: UInt8, age: Int, bytes: [UInt8])

    /// Blocks as RFC 2198, 3 writes them.
    static func payload(_ earlier: [Earlier], type: UInt8 = 111, _ own: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        for block in earlier {
            let size = block.bytes.count
            bytes += [
                0x80 | block.type, UInt8(block.age >> 6), UInt8(block.age & 63) << 2 | UInt8(size >> 8), UInt8(size & 255),
            ]
        }
        bytes.append(type)
        for block in earlier { bytes += block.bytes }
        return bytes + own
    }

    /// What is read of a payload that lies behind other bytes.
    private static func read(_ bytes: [UInt8]) -> (earlier: [RedundantBlocks.Block], own: RedundantBlocks.Block)? {
        let packet = [9, 9, 9] + bytes
        guard var blocks = RedundantBlocks(reading: packet.span, 3..<packet.count) else { return nil }
        var all: [RedundantBlocks.Block] = []
        while let block = blocks.next(in: packet.span) { all.append(block) }
        #expect(all.count == blocks.count)
        return (all, blocks.own)
    }

    /// libwebrtc's form: one packet before, 20 ms older (960 ticks: 0x3c0), of 3 bytes, and 2 of its own.
    @Test func blocksLieWhereTheStandardSays() throws {
        let bytes: [UInt8] = [0xef, 0x0f, 0x00, 0x03, 0x6f, 1, 2, 3, 4, 5]
        #expect(Self.payload([(111, 960, [1, 2, 3])], [4, 5]) == bytes)
        let blocks = try #require(Self.read(bytes))
        #expect(blocks.earlier == [.init(payloadType: 111, age: 960, bytes: 8..<11)])
        #expect(blocks.own == .init(payloadType: 111, age: 0, bytes: 11..<13))
        // The largest numbers.
        let large = Self.payload([(127, 16_383, Array(repeating: 7, count: 1023))], [])
        #expect(Array(large.prefix(5)) == [0xff, 0xff, 0xff, 0xff, 0x6f])
        #expect(Self.read(large)?.earlier == [.init(payloadType: 127, age: 16_383, bytes: 8..<1031)])
        // None before, and nothing at all in the own one.
        #expect(try #require(Self.read([0x6f])).own.bytes == 4..<4)
    }

    @Test(
        arguments: [
            [], [0x80], [0xef, 0x0f, 0x00], [0xef, 0x0f, 0x00, 0x03], [0xef, 0x0f, 0x00, 0x03, 0x6f, 1, 2],
            [0xef, 0xff, 0xff, 0xff, 0x6f, 1, 2, 3], [0xef, 0, 0, 1, 0xef, 0, 0, 1, 0x6f, 1],
            Array(repeating: 0xef, count: 2000), payload(Array(repeating: (111, 1, []), count: 32), []),
        ] as [[UInt8]])
    func lengthsThatLieAreRefused(bytes: [UInt8]) { #expect(Self.read(bytes) == nil) }

    /// Whatever comes: blocks lie one behind the other, and fill the payload.
    @Test func blocksTileAnyPayloadThatIsTaken() throws {
        var generator = SplitMix64(seed: 2198)
        var taken = 0
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...64, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator)
            }
            // Short blocks, or none would fit.
            for at in stride(from: 2, to: min(bytes.count - 1, 12), by: 4) { bytes.replaceSubrange(at...at + 1, with: [0, 3]) }
            guard let (earlier, own) = Self.read(bytes) else { continue }
            taken += 1
            var end = 3 + earlier.count * RedundantBlocks.headerByteCount + RedundantBlocks.ownHeaderByteCount
            for block in earlier + [own] {
                #expect(block.bytes.lowerBound == end && block.payloadType < 128 && block.age <= RedundantBlocks.mostAge)
                end = block.bytes.upperBound
            }
            #expect(end == bytes.count + 3)
        }
        #expect(taken > 100)
    }

    @Test func whatIsWrittenIsRead() throws {
        var generator = SplitMix64(seed: 63)
        for _ in 0..<500 {
            let earlier = (0..<Int.random(in: 0...RedundantBlocks.most, using: &generator)).map { _ -> Earlier in
                (
                    type: UInt8.random(in: 0...127, using: &generator), age: Int.random(in: 0...16_383, using: &generator),
                    bytes: [UInt8](repeating: 5, count: Int.random(in: 0...40, using: &generator))
                )
            }
            let read = try #require(Self.read(Self.payload(earlier, [1, 2])))
            #expect(read.earlier.map(\.age) == earlier.map { UInt32($0.age) } && read.own.bytes.count == 2)
            #expect(read.earlier.map(\.payloadType) == earlier.map(\.type))
            #expect(read.earlier.map(\.bytes.count) == earlier.map(\.bytes.count))
        }
    }

    // MARK: Through a session

    private static func sound(_ feedback: RTPFeedback = []) -> RTPTrack {
        var track = RTPTrack([RTPFormat(.opus, payloadType: 111, redundancy: 63)])
        track.feedback = feedback
        track.source = 0x0101_0101
        return track
    }

    private static func packet(_ number: Int, type: UInt8 = 63, _ payload: [UInt8]) -> [UInt8] {
        var bytes = [UInt8](repeating: 1, count: 12)
        bytes.withUnsafeMutableBytes {
            RTPHeader(payloadType: type, sequence: UInt16(number), timestamp: UInt32(number) * 960, source: 0x0101_0101).write(
                to: $0)
        }
        return bytes + payload
    }

    /// A packet with so many earlier ones; the payload of each is its number.
    private static func packet(_ number: Int, with earlier: Int) -> [UInt8] {
        let blocks = (0..<earlier).reversed().map { step -> Earlier in
            (111, (step + 1) * 960, [UInt8(number - step - 1)])
        }
        return packet(number, payload(blocks, [UInt8(number)]))
    }

    /// No packet waits for the next but the one that brings it.
    @Test(arguments: [1, 2, 3]) func lostPacketsComeWithTheNextOnes(earlier: Int) {
        let path = Path([Self.sound()])
        for number in 1...30 {
            // As many in a row as the next one carries.
            if number % 10 < 10 - earlier || number == 30 {
                _ = path.inject(Self.packet(number, with: min(earlier, number - 1)))
            }
            path.run(.milliseconds(20))
        }
        #expect(path.numbers == (1...30).map { UInt8($0) })
        #expect(path.losses.carried == Int64(earlier * 3) && path.losses.abandoned == 0 && path.losses.repaired == 0)
        #expect(path.delivered.allSatisfy { $0.at == $0.arrival.arrival && $0.arrival.lost == 0 })
        let times = path.delivered.map(\.arrival.presentation)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 1800 })
    }

    /// Both formats are agreed on, so a sender may change with each packet (libwebrtc does).
    @Test func plainPacketsStandBetween() {
        let path = Path([Self.sound()])
        for number in 1...20 {
            _ = path.inject(number % 2 == 0 ? Self.packet(number, with: 1) : Self.packet(number, type: 111, [UInt8(number)]))
        }
        path.run(.milliseconds(1))
        #expect(path.numbers == (1...20).map { UInt8($0) } && path.losses.found == 0 && path.losses.carried == 0)
    }

    /// A packet that was overtaken, not lost, and one that comes twice.
    @Test func nothingComesTwice() {
        let path = Path([Self.sound()])
        for number in [1, 2, 4, 3, 3, 5, 7, 8, 6, 9] { _ = path.inject(Self.packet(number, with: 1)) }
        path.run(.milliseconds(100))
        #expect(path.numbers == [1, 2, 3, 4, 5, 6, 7, 8, 9] && path.losses.carried == 2)
        // Nor does the late one count as a source that begins anew.
        #expect(path.events == [.began(track: 0)])
    }

    /// What has come is not asked for any more.
    @Test func noRequestLeavesForWhatWasCarried() {
        let path = Path([Self.sound(.retransmission)])
        for number in [1, 2, 4, 5, 7, 9, 10] {
            _ = path.inject(Self.packet(number, with: 1))
            path.run(.milliseconds(20))
        }
        #expect(path.numbers == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] && path.requests.isEmpty)
        // Two in a row are more than the next one has.
        _ = path.inject(Self.packet(13, with: 1))
        path.run(.milliseconds(1))
        #expect(path.requests.first?.numbers == [11])
    }

    /// Blocks that cannot be the packet before fill nothing, and whatever they say the own block is delivered.
    @Test(
        arguments: [
            [(111, 960 * 2, [66])], [(111, 0, [66])], [(111, 960 * 9, [66])], [(111, 16_383, [66])], [(111, 960, [])],
            [(63, 960, [0x6f, 66])], [(13, 960, [66])], [(0, 960, [66])],
        ] as [[Earlier]])
    func blocksThatDoNotFitFillNothing(blocks: [Earlier]) {
        let path = Path([Self.sound()])
        for number in [1, 2, 3] { _ = path.inject(Self.packet(number, with: 0)) }
        #expect(path.inject(Self.packet(5, Self.payload(blocks, [5]))))
        path.run(.milliseconds(50))
        #expect(path.numbers == [1, 2, 3, 5] && path.losses.carried == 0 && path.losses.abandoned == 1)
    }

    /// A payload that cannot be read, redundancy in redundancy, and comfort noise: the number is there, so nothing waits.
    @Test(arguments: [[0xef, 0xff, 0xff, 0xff, 0x6f], [63, 0x6f, 4], [13, 4], []] as [[UInt8]])
    func aPacketThatCannotBeReadIsNoGap(payload: [UInt8]) {
        let path = Path([Self.sound()])
        for number in [1, 2, 3] { _ = path.inject(Self.packet(number, with: 1)) }
        _ = path.inject(Self.packet(4, payload))
        _ = path.inject(Self.packet(5, with: 0))
        path.run(.milliseconds(1))
        #expect(path.delivered.map(\.payload) == [[1], [2], [3], [], [5]])
        #expect(path.delivered.allSatisfy { $0.arrival.lost == 0 })
    }

    /// Nothing lies before the first packet of a source, however many it carries.
    @Test func theFirstPacketBringsNothingBefore() {
        let path = Path([Self.sound()])
        _ = path.inject(Self.packet(9, with: 3))
        _ = path.inject(Self.packet(10, with: 3))
        path.run(.milliseconds(1))
        #expect(path.numbers == [9, 10] && path.losses.carried == 0)
    }

    // MARK: Towards a receiver

    /// Plain packets while nothing is lost; with the packet before, or two, while the receiver reports losses; plain ones again after.
    @Test(arguments: [(0.0, 0), (0.02, 1), (0.2, 2)]) func packetsCarryOthersWhileSomeAreLost(lossRate: Double, earlier: Int)
        throws
    {
        let path = Path([Self.sound()])
        var number = 0
        var sizes: [Int: Int] = [:]
        func send(seconds: Double) {
            for _ in 0..<Int(seconds * 50) {
                path.send(UInt8(number & 255), ticks: Int64(number) * 1_800)
                if path.newest[1] & 0x7f == 63 { sizes[path.newest.count, default: 0] += 1 }
                number += 1
                path.run(.milliseconds(20))
            }
        }
        send(seconds: 5)
        #expect(path.sentTypes.allSatisfy { $0 == 111 })
        path.lossRate = lossRate
        send(seconds: 30)
        #expect((path.told.carrying > 0) == (earlier > 0) && path.sentTypes.contains(63) == (earlier > 0))
        // A header of 12 bytes, one for each earlier packet, one for the own, and the payloads of one byte.
        #expect(sizes.keys.allSatisfy { $0 == 19 || $0 == 24 } && (sizes[14 + 5 * earlier] != nil) == (earlier > 0))
        let (found, carried) = (path.losses.found, path.losses.carried)
        #expect(carried * 10 >= found * (earlier > 0 ? 8 : 0), "\(carried) of \(found)")
        path.lossRate = 0
        send(seconds: 20)
        #expect(path.sentTypes.suffix(100).allSatisfy { $0 == 111 })
    }

    /// Who has not agreed on it gets none, whatever is lost.
    @Test func nobodyGetsAFormatThatIsNotAgreedOn() {
        var track = Self.sound()
        track.formats[0].redundancy = nil
        let path = Path([track])
        path.lossRate = 0.2
        for number in 0..<1000 {
            path.send(1, ticks: Int64(number) * 1_800)
            path.run(.milliseconds(20))
        }
        #expect(path.told.reports > 5 && path.sentTypes.allSatisfy { $0 == 111 } && path.told.carrying == 0)
    }

    @Test func aLinkWithoutRoomGetsNoMore() {
        var protection = SoundProtection()
        let now = MonotonicTime(nanoseconds: 1)
        #expect(protection.count(rate: nil, at: now) == 0)
        protection.observe(lost: 0.05, at: now)
        #expect(protection.count(rate: nil, at: now) == 1 && protection.count(rate: 2_000_000, at: now) == 1)
        #expect(protection.count(rate: 100_000, at: now) == 0)
        protection.observe(lost: 0.1, at: now)
        #expect(
            protection.count(rate: nil, at: now + .seconds(14)) == 2 && protection.count(rate: nil, at: now + .seconds(15)) == 0
        )
    }

    /// What is too old or too large to be carried is not: silence lies between, or the packets fill a datagram.
    @Test func whatDoesNotFitIsLeftOut() {
        var shelf = CarriedSound()
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        func keep(_ count: Int, _ timestamp: UInt32) {
            [UInt8](repeating: 7, count: count).withUnsafeBytes { shelf.keep($0, none, timestamp: timestamp) }
        }
        #expect(shelf.count(before: 960, most: 2, room: 1000) == 0)
        keep(100, 0)
        keep(100, 960)
        #expect(shelf.count(before: 1920, most: 2, room: 1000) == 2 && shelf.count(before: 1920, most: 1, room: 1000) == 1)
        #expect(shelf.count(before: 1920, most: 9, room: 209) == 2 && shelf.count(before: 1920, most: 2, room: 208) == 1)
        #expect(
            shelf.count(before: 960 + 16_383, most: 2, room: 1000) == 1
                && shelf.count(before: 960 + 16_384, most: 2, room: 1000) == 0)
        #expect(shelf.count(before: 960, most: 2, room: 1000) == 0, "of the same time")
        keep(1024, 1920)
        #expect(shelf.count(before: 2880, most: 2, room: 4000) == 0, "nothing lies between")
        keep(0, 2880)
        #expect(shelf.count(before: 3840, most: 2, room: 4000) == 0)
    }
}
