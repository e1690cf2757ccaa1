import Media
import Testing

@testable import Packets

/// Bytes written as hexadecimal digits; blanks are for the eye.
func bytes(_ text: String) -> [UInt8] {
    let digits = text.filter { $0 != " " && $0 != "\n" }
    return stride(from: 0, to: digits.count, by: 2).map { at in
        let start = digits.index(digits.startIndex, offsetBy: at)
        return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)!
    }
}

/// A datagram as the leg reads it: header and payload's place.
private func parse(_ datagram: [UInt8]) -> (header: RTPHeader, payload: [UInt8])? {
    guard let header = RTPHeader(reading: datagram.span) else { return nil }
    let rest = Array(datagram[RTPHeader.byteCount...])
    return header.body(in: rest.span, from: 0).map { (header, Array(rest[$0.payload])) }
}

private func rtcp(_ datagram: [UInt8]) -> RTCPDatagram? { RTCPDatagram(reading: datagram.span) }

struct RTPHeaderTests {
    /// First packets of FFmpeg 5.1 (`-f rtp_mpegts`) and GStreamer 1.22 (`rtpmp2tpay`), as they were on the wire.
    @Test(arguments: [
        ("80210322 c15a84c1 4d4a9195 47401110", UInt16(0x0322), UInt32(0xc15a_84c1), UInt32(0x4d4a_9195)),
        ("802103b5 b4deab97 fc3dd7c5 47400031", 0x03b5, 0xb4de_ab97, 0xfc3d_d7c5),
    ])
    func realSenders(text: String, sequence: UInt16, timestamp: UInt32, source: UInt32) throws {
        let (header, payload) = try #require(parse(bytes(text)))
        #expect(header == RTPHeader(payloadType: 33, sequence: sequence, timestamp: timestamp, source: source))
        #expect(payload == Array(bytes(text)[12...]))
        var written = [UInt8](repeating: 0xff, count: 12)
        written.withUnsafeMutableBytes { header.write(to: $0) }
        #expect(written == Array(bytes(text)[..<12]))
    }

    /// RFC 3550, 5.1 and 5.3.1: contributing sources, an extension and padding lie around the payload.
    @Test(arguments: [
        ("82a1 0001 00000002 00000003  aaaaaaaa bbbbbbbb  47 01", "47 01"),
        ("90 21 0001 00000002 00000003  beef 0001 cccccccc  47 02", "47 02"),
        ("90 21 0001 00000002 00000003  beef 0000  47 02", "47 02"),
        ("a0 21 0001 00000002 00000003  47 03 00 00 03", "47 03"),
        ("b1 21 0001 00000002 00000003  aaaaaaaa beef 0001 cccccccc  47 04 00 02", "47 04"),
        ("80 21 0001 00000002 00000003", ""), ("a0 21 0001 00000002 00000003  00 00 03", ""),
    ])
    func whatLiesAroundThePayload(text: String, payload: String) throws {
        let parsed = try #require(parse(bytes(text)))
        #expect(parsed.payload == bytes(payload))
        #expect(parsed.header.payloadType == 33 && parsed.header.sequence == 1)
        #expect(parsed.header.timestamp == 2 && parsed.header.source == 3)
    }

    @Test(arguments: [
        "", "80", "80 21 0001 00000002 000000", "40 21 0001 00000002 00000003 47", "c0 21 0001 00000002 00000003 47",
        "81 21 0001 00000002 00000003  aaaaaa", "90 21 0001 00000002 00000003  beef 00",
        "90 21 0001 00000002 00000003  beef 0002 cccccccc", "90 21 0001 00000002 00000003  beef ffff cccccccc",
        "a0 21 0001 00000002 00000003", "a0 21 0001 00000002 00000003 47 00", "a0 21 0001 00000002 00000003 47 03",
        "a1 21 0001 00000002 00000003 aaaaaa01", "b0 21 0001 00000002 00000003  beef 0000",
        "b0 21 0001 00000002 00000003  beef 0000 05",
    ])
    func whatIsCutOrWrongIsNone(text: String) { #expect(parse(bytes(text)) == nil) }

    @Test(arguments: 0..<8) func noBytesCrash(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<10_000 {
            var datagram = (0..<Int(random.next() % 64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            if random.next() % 4 != 0, !datagram.isEmpty { datagram[0] = 0x80 | datagram[0] & 0x3f }
            guard let (_, payload) = parse(datagram) else { continue }
            #expect(payload.count <= datagram.count - 12)
        }
    }
}

struct RTCPTests {
    private static let ffmpeg = "80c80006 bd195741 eeacb4c2 c083126e 00e7c989 0000012c 00060630"
    /// With the sender's names; the host's is made up.
    private static let gstreamer = """
        80c80006 fc3dd7c5 eeacb480 a1c432ca b4e1ceed 0000008b 0002ca8c
        81ca000c fc3dd7c5 011c 75736572303132333435363738394068 6f73742d3031323334353637 0609 4753747265616d6572 000000
        """

    @Test func realSenders() {
        let report = SenderReport(
            source: 0xbd19_5741, wallClock: 0xeeac_b4c2_c083_126e, timestamp: 0x00e7_c989, packets: 300, bytes: 394_800)
        #expect(rtcp(bytes(Self.ffmpeg))?.report == report)
        let other = SenderReport(
            source: 0xfc3d_d7c5, wallClock: 0xeeac_b480_a1c4_32ca, timestamp: 0xb4e1_ceed, packets: 139, bytes: 182_924)
        let datagram = rtcp(bytes(Self.gstreamer))
        #expect(datagram?.report == other && datagram?.goodbye == nil)
    }

    @Test func goodbyesAndOthersAreTold() {
        let empty = "80c90001 00000009"
        #expect(rtcp(bytes(empty)) != nil && rtcp(bytes(empty))?.report == nil)
        #expect(rtcp(bytes(empty + "81cb0001 00000007"))?.goodbye == 7)
        #expect(rtcp(bytes(empty + "82cb0003 00000007 00000008 02676f00"))?.goodbye == 7)
        #expect(rtcp(bytes(empty + "80cb0000"))?.goodbye == nil)
        // Padding ends the datagram, application packets and types unknown are passed over.
        #expect(rtcp(bytes(empty + "a0cc0002 00000007 00000004")) != nil)
        #expect(rtcp(bytes(empty + "80df0000")) != nil)
    }

    @Test(arguments: [
        "", "80c800", "40c80000", "80ca0001 00000009", "80cb0001 00000009", "80c90002 00000009",
        "80c90001 00000009 80cb", "80c90001 00000009 00cb0000", "a0c90001 00000009 81cb0001 00000009",
        "80210006 bd195741 eeacb4c2 c083126e 00e7c989 0000012c 00060630",
    ])
    func whatIsCutOrWrongIsNone(text: String) { #expect(rtcp(bytes(text)) == nil) }

    @Test func shortSenderReportsTellNothing() { #expect(rtcp(bytes("80c80001 00000009"))?.report == nil) }

    @Test(arguments: [false, true]) func ourOwnAreRead(isGoodbye: Bool) {
        let report = SenderReport(source: 0x8000_0001, wallClock: 1 << 63 | 5, timestamp: 0xfedc_ba98, packets: 7, bytes: 9)
        var written = [UInt8](repeating: 0xff, count: RTCPDatagram.mostBytes)
        let count = written.withUnsafeMutableBytes {
            RTCPDatagram.write(report, name: 0x0123_4567_89ab_cdef, isGoodbye: isGoodbye, to: $0)
        }
        let read = rtcp(Array(written[..<count]))
        #expect(read?.report == report && read?.goodbye == (isGoodbye ? 0x8000_0001 : nil))
        #expect(count == (isGoodbye ? 64 : 56))
        #expect(Array(written[28..<38]) == bytes("81ca0006 80000001 0110"))
        #expect(String(decoding: written[38..<54], as: UTF8.self) == "0123456789abcdef")
        #expect(written[54...55].allSatisfy { $0 == 0 })
    }

    /// Bytes of real reports, changed at random.
    @Test(arguments: 0..<8) func noBytesCrash(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let (short, long) = (bytes(Self.ffmpeg), bytes(Self.gstreamer))
        for _ in 0..<10_000 {
            var datagram = random.next() % 2 == 0 ? short : long
            for _ in 0..<random.next() % 4 {
                datagram[Int(random.next() % UInt64(datagram.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            datagram.removeLast(Int(random.next() % 3) * Int(random.next() % UInt64(datagram.count)) / 3)
            _ = rtcp(datagram)
        }
    }

    @Test func theTwoAreToldApart() {
        for second in UInt8.min ... .max {
            // 33 with and without the marker is RTP; reports, descriptions, goodbyes and the like are not.
            if second & 0x7f == 33 { #expect(!RTCPDatagram.isPlausible(secondByte: second)) }
            if (200...207).contains(second) { #expect(RTCPDatagram.isPlausible(secondByte: second)) }
        }
    }

    @Test func theWallClockIsNTPs() {
        // 2020-01-01 and 2036-02-07, when the seconds wrap.
        #expect(wallClockNow() >> 32 > 3_786_825_600 || wallClockNow() >> 32 < 1 << 31)
    }
}

struct RTPOrderTests {
    /// Whatever is lost, doubled and overtaken within bounds, across the wrap: every packet has its own place.
    @Test(arguments: 0..<10) func placesAreKeptAcrossTheWrap(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var order = RTPOrder()
        let first: Int64 = 65_000
        #expect(order.begin(at: UInt16(first), timestamp: stamp(first)) == first)
        var highest = first
        var next = first
        for _ in 0..<50_000 {
            next += 1 + (random.next() % 500 == 0 ? Int64(random.next() % 15_000) : 0)
            let number = max(first, next - Int64(random.next() % 20) * Int64(random.next() % 2))
            guard case .at(let place) = order.judge(UInt16(truncatingIfNeeded: number), timestamp: stamp(number)) else {
                Issue.record("\(number) after \(highest)")
                return
            }
            #expect(place.number == number && place.step == number - highest)
            highest = max(highest, number)
        }
    }

    @Test func twoInARowBeginAnew() {
        var order = RTPOrder()
        func judge(_ number: UInt16) -> RTPOrder.Verdict { order.judge(number, timestamp: 0) }
        _ = order.begin(at: 100, timestamp: 0)
        #expect(judge(40_000) == .unexpected)
        #expect(judge(101) == .at(.init(number: 101, step: 1)))
        // What came between makes the next one a single one again.
        #expect(judge(40_001) == .unexpected && judge(40_003) == .unexpected && judge(40_004) == .startsAnew)
        #expect(order.begin(at: 40_004, timestamp: 0) == 40_004 && judge(40_005) == .at(.init(number: 40_005, step: 1)))
    }

    private func stamp(_ number: Int64) -> UInt32 { UInt32(truncatingIfNeeded: number / 7 * 3_000) }

    /// A source that begins anew near where it was, on either side of the wrap.
    @Test(arguments: [Int64(1), 2, 16, 99, 100, 500, 1_000, 1_023, 1_024, 5_000], [Int64(3_000), 66_000])
    func aRestartALittleBehindIsOne(behind: Int64, highest: Int64) {
        var order = RTPOrder()
        _ = order.begin(at: UInt16(truncatingIfNeeded: highest - 2_000), timestamp: stamp(highest - 2_000))
        for number in highest - 1_999...highest {
            _ = order.judge(UInt16(truncatingIfNeeded: number), timestamp: stamp(number))
        }
        let first = UInt16(truncatingIfNeeded: highest - behind)
        #expect(order.judge(first, timestamp: 77) == .unexpected)
        #expect(order.judge(first &+ 1, timestamp: 77) == .startsAnew)
        #expect(order.begin(at: first &+ 1, timestamp: 77) == Int64(first &+ 1))
        // Nothing is left of what was before.
        let next = order.judge(first &+ 2, timestamp: 77)
        #expect(next == .at(.init(number: Int64(first &+ 1) + 1, step: 1)))
    }

    /// Everything twice by two ways, in bursts of pictures, with losses on both: no copy looks like a new count.
    @Test(arguments: [1, 16, 80, 300], [0, 1, 60, 700]) func copiesAreNoNewCount(burst: Int, delay: Int) {
        var random = SplitMix64(seed: UInt64(burst * 1_000 + delay))
        var order = RTPOrder()
        _ = order.begin(at: 64_000, timestamp: stamp(64_000))
        func send(_ numbers: some Sequence<Int64>) {
            for number in numbers where random.next() % 10 > 0 {
                let verdict = order.judge(UInt16(truncatingIfNeeded: number), timestamp: stamp(number))
                guard case .at(let place) = verdict, place.number == number else {
                    Issue.record("\(number): \(verdict)")
                    return
                }
            }
        }
        for k in 0..<12_000 / burst {
            let start = 64_001 + Int64(k * burst)
            send(start..<start + Int64(burst))
            send(max(64_001, start - Int64(delay))..<start - Int64(delay) + Int64(max(burst, delay)))
        }
    }

    /// A single packet whose stamp was changed on its way is unexpected, and the stream goes on.
    @Test func aSingleContradictionIsAstray() {
        var order = RTPOrder()
        _ = order.begin(at: 0, timestamp: 0)
        for number in 1..<UInt16(5_000) {
            #expect(order.judge(number, timestamp: UInt32(number)) == .at(.init(number: Int64(number), step: 1)))
            if number % 3 == 0 { #expect(order.judge(number - 1, timestamp: 1 << 20) == .unexpected) }
        }
    }
}

struct StampOrderTests {
    private final class Stamps {
        var order = StampOrder()
        func insert(_ stamp: Int64) -> Int64 {
            _ = order.insert(stamp)
            return order.inOrder(stamp)
        }
        func isDeeper(_ stamp: Int64) -> Bool { order.insert(stamp) }
    }

    @Test func whatIsInOrderStaysAsItIs() {
        let stamps = Stamps()
        for i in 0..<1_000 { #expect(stamps.insert(Int64(i / 3) * 3_000) == Int64(i / 3) * 3_000) }
        #expect(stamps.order.depth == 0)
    }

    /// FFmpeg 5.1, x264 with three B-frames: its pictures' presentation times in coding order, with the sound's between.
    static let ffmpeg: [Int64] = [
        0, 12_000, 6_000, 3_000, 9_000, 24_000, 18_000, 15_000, 21_000, 36_000, 30_000, 25_074, 27_000, 33_000, 48_000,
        42_000, 39_000, 45_000, 60_000, 54_000, 51_000, 57_000, 54_333, 72_000, 66_000, 63_000, 69_000, 84_000, 78_000,
        75_000, 81_000, 87_000, 83_592, 90_000, 102_000, 96_000, 93_000, 99_000,
    ]

    @Test func presentationTimesGoOnEvenly() {
        let stamps = Stamps()
        var last: Int64 = 0
        for (i, stamp) in Self.ffmpeg.enumerated() {
            let isDeeper = stamps.isDeeper(stamp)
            let even = stamps.order.inOrder(stamp)
            #expect(even <= stamp)
            if i > 3 {
                #expect(!isDeeper && even >= last && even - last <= 4_000, "stamp \(i): \(even) after \(last)")
            }
            last = even
        }
        #expect(stamps.order.depth == 2)
    }

    @Test func deepReorderingHasAnEnd() {
        let stamps = Stamps()
        for i in 0..<200 { _ = stamps.insert(Int64(200 - i) * 3_000) }
        #expect(stamps.order.depth == StampOrder.most)
        for i in 201..<400 { #expect(stamps.insert(Int64(i) * 3_000) <= Int64(i) * 3_000) }
        #expect(stamps.insert(1_200_000) == Int64(400 - StampOrder.most) * 3_000)
    }
}
