import Endpoint
import Media
import Testing
@testable import Packets

struct CallPacketTests {
    private static func read(_ bytes: [UInt8]) -> [RTCPPacket] {
        var reader = RTCPReader(bytes.span)
        var packets: [RTCPPacket] = []
        while let packet = reader.next() { packets.append(packet) }
        return packets
    }

    private static func written(_ body: (inout RTCPWriter) -> Void) -> [UInt8] {
        var writer = RTCPWriter()
        body(&writer)
        return writer.bytes
    }

    /// A generic NACK by RFC 4585, 6.2.1: 0x1234 and bits for the 1st, 3rd and 16th behind it.
    @Test func lostPacketsAreNamedAsTheStandardSays() {
        let bytes: [UInt8] = [0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0x12, 0x34, 0x80, 0x05]
        #expect(Self.read(bytes) == [.lost(media: 2, [0x1234, 0x1235, 0x1237, 0x1244])])
        #expect(Self.written { $0.lost([0x1234, 0x1235, 0x1237, 0x1244], from: 1, media: 2) } == bytes)
        // Across the wrap, and further apart than one mask reaches.
        let numbers: [UInt16] = [0xfffe, 0xffff, 0, 40, 57]
        #expect(Self.read(Self.written { $0.lost(numbers, from: 1, media: 2) }) == [.lost(media: 2, numbers)])
    }

    @Test func keyframesAreAskedForAsTheStandardsSay() {
        let loss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]
        #expect(Self.read(loss) == [.pictureLoss(media: 2)])
        #expect(Self.written { $0.pictureLoss(from: 1, media: 2) } == loss)
        let intra: [UInt8] = [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 9, 0, 0, 0]
        #expect(Self.read(intra) == [.intraRequest(media: 2, number: 9)])
        #expect(Self.written { $0.intraRequest(from: 1, media: 2, number: 9) } == intra)
    }

    /// draft-alvestrand-rmcat-remb, 2.2.
    @Test(arguments: [0, 1, 262_143, 262_144, 2_500_000, 40_000_000] as [UInt64]) func bitRatesKeep18Bits(bits: UInt64) {
        let bytes = Self.written { $0.bitRate(bits, from: 1, media: 2) }
        #expect(bytes.count == 24 && Array(bytes[12..<16]) == Array("REMB".utf8) && bytes[16] == 1)
        guard case .bitRate(let read) = Self.read(bytes).first else { return #expect(Bool(false)) }
        #expect(read <= bits && bits - read <= bits >> 17)
    }

    @Test func aCompoundIsReadPacketByPacket() {
        let report = SenderReport(source: 7, wallClock: 1 << 33 | 5, timestamp: 99, packets: 3, bytes: 4)
        let block = RTCPPacket.ReportBlock(
            source: 8, fractionLost: 128, lost: -3, highestSequence: 0x1_0002, jitter: 6, lastReport: 11, delay: 12)
        let bytes = Self.written {
            $0.senderReport(report, [block])
            $0.description(of: 7, name: "abc")
            $0.receiverReport(from: 7, block)
            $0.goodbye([7, 9])
            $0.pictureLoss(from: 7, media: 8)
        }
        #expect(
            Self.read(bytes) == [
                .senderReport(report, [block]), .receiverReport(source: 7, [block]), .goodbye([7, 9]), .pictureLoss(media: 8),
            ])
        // Cut anywhere, what is whole is read.
        for count in 0..<bytes.count { #expect(Self.read(Array(bytes[..<count])).count < 4) }
    }

    @Test func arrivalsComeOutAsTheyWentIn() {
        var arrivals: [Int64?] = [3, 4, nil, nil, 260, 255, 30_000]
        arrivals += [Int64?](repeating: nil, count: 20)
        arrivals += (0..<40).map { 30_001 + $0 }
        var feedback = TransportFeedback()
        (feedback.base, feedback.number, feedback.reference, feedback.arrivals) = (0xfff0, 5, 0x12_3456, arrivals)
        let bytes = Self.written { $0.arrivals(feedback, from: 1, media: 2) }
        #expect(bytes.count % 4 == 0 && Self.arrivals(bytes) == arrivals && Self.read(arrivals: bytes) == arrivals)
        #expect(Array(bytes[12..<20]) == [0xff, 0xf0, 0, 67, 0x12, 0x34, 0x56, 5])
        guard case .arrivals(let summary) = Self.read(bytes).first else { return #expect(Bool(false)) }
        #expect(summary.base == 0xfff0 && summary.number == 5 && summary.packets == 67 && summary.received == 45)
    }

    /// The arrivals in a report, read one by one as the draft says (3.1).
    private static func arrivals(_ bytes: [UInt8]) -> [Int64?] {
        func number(_ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }
        var symbols: [Int] = []
        var at = 20
        while symbols.count < number(14) {
            let chunk = number(at)
            at += 2
            switch chunk >> 14 {
            case 0, 1: symbols += [Int](repeating: chunk >> 13, count: chunk & 0x1fff)
            case 2: symbols += (0..<14).map { chunk >> (13 - $0) & 1 }
            default: symbols += (0..<7).map { chunk >> (12 - 2 * $0) & 3 }
            }
        }
        var time: Int64 = 0
        return symbols.prefix(number(14)).map { symbol in
            guard symbol > 0 else { return nil }
            time += symbol == 1 ? Int64(bytes[at]) : Int64(Int16(truncatingIfNeeded: number(at)))
            at += symbol
            return time
        }
    }

    /// The same by the reader.
    private static func read(arrivals bytes: [UInt8]) -> [Int64?] {
        guard case .arrivals(let summary) = read(bytes).first else { return [] }
        var reader = ArrivalReader(summary, in: bytes.span)
        var arrivals: [Int64?] = []
        var time: Int64 = 0
        while let arrival = reader.next() {
            time += Int64(arrival.step ?? 0)
            arrivals.append(arrival.step == nil ? nil : time)
        }
        return arrivals
    }

    /// The draft's own example of a run and of vectors.
    @Test func chunksAreReadAsTheDraftSays() {
        // Base 153, 9 packets, reference 1, number 2. A run of 2 that came soon, then a vector: came, came late, 5 that did not.
        let bytes: [UInt8] = [
            0x8f, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0, 153, 0, 9, 0, 0, 1, 2, 0x20, 0x02, 0xd8, 0x00, 4, 8, 12, 0xff,
            0xff, 0, 0, 0,
        ]
        var fixed = bytes
        fixed[3] = 7
        guard case .arrivals(let feedback) = Self.read(fixed).first else { return #expect(Bool(false)) }
        #expect(feedback.base == 153 && feedback.number == 2 && feedback.packets == 9 && feedback.received == 4)
        #expect(Self.arrivals(fixed) == [4, 12, 24, 23, nil, nil, nil, nil, nil])
        #expect(Self.read(arrivals: fixed) == Self.arrivals(fixed) && feedback.reference == 1)
        // A bit for each of 14 packets, of which the report is about three.
        let single: [UInt8] = [0x8f, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 3, 0, 0, 1, 2, 0xb0, 0x00, 7, 7]
        guard case .arrivals(let short) = Self.read(single).first else { return #expect(Bool(false)) }
        #expect(short.packets == 3 && short.received == 2 && Self.arrivals(single) == [7, 14, nil])
        #expect(Self.read(arrivals: single) == [7, 14, nil])
    }

    @Test func reportsThatLieAreNotRead() {
        func report(_ count: [UInt8], _ rest: [UInt8]) -> [RTCPPacket] {
            let body: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 153] + count + [0, 0, 1, 2] + rest
            return Self.read([0x8f, 205, 0, UInt8(body.count / 4)] + body)
        }
        // Nobody came of 8,191: true or not, it fits 24 bytes.
        guard case .arrivals(let none) = report([0x1f, 0xff], [0x1f, 0xff, 0, 0]).first else { return #expect(Bool(false)) }
        #expect(none.packets == 8191 && none.received == 0)
        // All came, but the times are missing. More packets than there may be. A run of none. Too few chunks.
        for (count, rest) in [
            ([0x1f, 0xff], [0x3f, 0xff, 0, 0]), ([0xff, 0xff], [0x1f, 0xff, 0x1f, 0xff]), ([0, 9], [0x20, 0, 0, 0]),
            ([0, 200], [0xff, 0xff, 0xff, 0xff]),
        ] as [([UInt8], [UInt8])] { #expect(report(count, rest).isEmpty) }
    }

    private final class Collected {
        private var arrivals = PacketArrivals()
        private let start = MonotonicTime(nanoseconds: 64_000_000 * 1000)
        var hasNews: Bool { arrivals.hasNews }

        func record(_ number: UInt16, _ milliseconds: Double) {
            arrivals.record(number, at: start + .milliseconds(milliseconds))
        }

        /// What is told, if it is as it should be otherwise.
        func claim(base: UInt16, number: UInt8) -> [Int64?]? {
            guard arrivals.claim(), arrivals.report.base == base, arrivals.report.number == number,
                arrivals.report.reference == 1000
            else { return nil }
            return arrivals.report.arrivals
        }
    }

    @Test func arrivalsAreCollectedInOrder() {
        let arrivals = Collected()
        for (number, after) in [(65534, 0.0), (65535, 1), (1, 4), (0, 5)] as [(UInt16, Double)] {
            arrivals.record(number, after)
        }
        #expect(arrivals.claim(base: 65534, number: 0) == [0, 4, 20, 16])
        #expect(arrivals.claim(base: 65534, number: 1) == nil)
        // A packet between the two reports is missing.
        arrivals.record(3, 63)
        #expect(arrivals.claim(base: 2, number: 1) == [nil, 252])
    }

    /// A report from it on names those again that came before it: they are not lost.
    @Test func anOvertakenPacketIsToldWithThoseThatCameBefore() {
        let arrivals = Collected()
        for number in [10, 11, 13, 14] as [UInt16] { arrivals.record(number, Double(number)) }
        #expect(arrivals.claim(base: 10, number: 0) == [40, 44, nil, 52, 56])
        arrivals.record(12, 60)
        arrivals.record(15, 61)
        #expect(arrivals.claim(base: 12, number: 1) == [240, 52, 56, 244])
        // A copy is no news.
        arrivals.record(15, 62)
        #expect(!arrivals.hasNews)
    }

    @Test func aSenderThatCountsAnewIsToldFromThereOn() {
        let arrivals = Collected()
        arrivals.record(30_000, 0)
        #expect(arrivals.claim(base: 30_000, number: 0) == [0])
        arrivals.record(0, 1)
        arrivals.record(1, 2)
        #expect(arrivals.claim(base: 0, number: 1) == [4, 8])
        // More than a report has room for: the newest.
        for number in 2..<900 as Range<UInt16> { arrivals.record(number, 3) }
        #expect(arrivals.claim(base: 500, number: 2)?.count == TransportFeedback.mostPackets)
    }

    /// Also when each packet's time needs two bytes.
    @Test func theLargestReportFitsADatagram() {
        var feedback = TransportFeedback()
        feedback.arrivals = (0..<TransportFeedback.mostPackets).map { (number: Int) -> Int64 in
            number % 2 == 0 ? Int64(number * 300) : -Int64(number * 300)
        }
        let bytes = Self.written {
            $0.receiverReport(from: 1)
            $0.description(of: 1, name: RTPReceiveSession.randomName())
            $0.arrivals(feedback, from: 1, media: 2)
        }
        guard case .arrivals(let summary) = Self.read(bytes).last else { return #expect(Bool(false)) }
        #expect(summary.received == TransportFeedback.mostPackets && bytes.count <= RTCPWriter.mostBytes)
    }

    /// RFC 8285, 4.2 and 4.3.
    @Test(arguments: [false, true]) func headerExtensionsAreReadInBothForms(isLong: Bool) {
        var map = RTPExtensionMap()
        (map.absoluteSendTime, map.transportSequence, map.playoutDelay) = (1, 2, 3)
        (map.absoluteCaptureTime, map.mid) = (4, isLong ? 20 : 5)
        var track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
        track.extensions = map
        track.mid = "video"
        var written = RTPExtensions()
        written.absoluteSendTime = 0xabcdef
        written.transportSequence = 0x1234
        (written.leastPlayoutDelay, written.mostPlayoutDelay) = (0x123, 0xfed)
        written.captureTime = 0x0102_0304_0506_0708
        written.captureClockOffset = -2
        var bytes = [UInt8](repeating: 0xee, count: 100)
        track.mid = "0123456789abcdef"
        let most = bytes.withUnsafeMutableBytes {
            RTPPacketWriter.writeHeader(
                to: $0, payloadType: 96, isMarked: true, sequence: 7, timestamp: 8, source: 9, written, track)
        }
        #expect(most <= RTPPacketWriter.mostBytes && (most == RTPPacketWriter.mostBytes) == isLong)
        track.mid = "video"
        let start = bytes.withUnsafeMutableBytes {
            RTPPacketWriter.writeHeader(
                to: $0, payloadType: 96, isMarked: true, sequence: 7, timestamp: 8, source: 9, written, track)
        }
        bytes = Array(bytes[..<start]) + [1, 2, 3]
        guard let packet = RTPPacket(reading: bytes.span, map: map) else { return #expect(Bool(false)) }
        #expect(packet.isMarked && packet.payloadType == 96 && packet.payload == start..<start + 3 && start % 4 == 0)
        var read = packet.extensions
        let (isItsName, isAnother) = (
            read.mid.isEqual(to: Array("video".utf8), in: bytes.span), read.mid.isEqual(to: Array("vide".utf8), in: bytes.span)
        )
        #expect(isItsName && !isAnother)
        read.mid = .init()
        #expect(read == written)
        // A repeat says anew when it was sent, and nothing else.
        written.transportSequence = 0x1235
        bytes.withUnsafeMutableBytes { RTPPacketWriter.refresh(written, track, in: $0) }
        guard let again = RTPPacket(reading: bytes.span, map: map) else { return #expect(Bool(false)) }
        #expect(again.extensions.transportSequence == 0x1235 && again.extensions.captureTime == written.captureTime)
        for count in 0..<bytes.count {
            let cut = Array(bytes[..<count])
            _ = RTPPacket(reading: cut.span, map: map)
        }
    }

    /// A part of a name may be another track's.
    @Test(arguments: [("0123456789abcdef", 16), ("0123456789abcdefg", 0), ("", 0)]) func aNameIsWrittenWholeOrNotAtAll(
        mid: String, count: UInt8
    ) {
        var track = RTPTrack([RTPFormat(.h264, payloadType: 96)])
        (track.mid, track.extensions.mid) = (mid, 5)
        var bytes = [UInt8](repeating: 0, count: RTPPacketWriter.mostBytes)
        let end = bytes.withUnsafeMutableBytes {
            RTPPacketWriter.writeHeader(
                to: $0, payloadType: 96, isMarked: true, sequence: 7, timestamp: 8, source: 9, .init(), track)
        }
        bytes = Array(bytes[..<end])
        guard let packet = RTPPacket(reading: bytes.span, map: track.extensions) else { return #expect(Bool(false)) }
        #expect(packet.extensions.mid.count == count && packet.payload.isEmpty)
    }

    @Test func tracksAreReadFromSections() throws {
        let session = try SessionDescription(
            parsing: """
                v=0
                m=video 5004 RTP/AVPF 96 97 98 99
                a=rtpmap:96 VP9/90000
                a=rtpmap:97 H264/90000
                a=fmtp:97 packetization-mode=1; sprop-parameter-sets=Z0LACtp5,aM44gA==
                a=rtcp-fb:97 nack
                a=rtcp-fb:97 nack pli
                a=rtpmap:98 rtx/90000
                a=fmtp:98 apt=97
                a=rtpmap:99 h264/90000
                a=fmtp:99 packetization-mode=2
                a=ssrc-group:FID 11 12
                a=ssrc:11 cname:x
                """)
        let track = try #require(RTPTrack(session.media[0]))
        #expect(track.formats.map(\.payloadType) == [97] && track.formats[0].retransmission == 98)
        #expect(track.formats[0].parameterSets == [[0x67, 0x42, 0xc0, 0x0a, 0xda, 0x79], [0x68, 0xce, 0x38, 0x80]])
        #expect(track.feedback == [.retransmission, .pictureLoss] && track.source == 11 && track.retransmissionSource == 12)
        #expect(RTPTrack(session.media[0], namesSender: false)?.source == nil)
    }
}
