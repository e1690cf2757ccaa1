/// A packet of an RTCP compound, as far as it is understood here.
enum RTCPPacket: Hashable, Sendable {
    /// What one side says of what it receives from another (RFC 3550, 6.4.1).
    struct ReportBlock: Hashable, Sendable {
        var source: UInt32
        /// Since the report before, in 256ths.
        var fractionLost: UInt8
        /// 24 bits with a sign.
        var lost: Int32
        var highestSequence: UInt32
        /// In ticks of the time stamps.
        var jitter: UInt32
        /// The middle 32 bits of the newest sender report's wall clock; 0 before any.
        var lastReport: UInt32
        /// Since that came, in 65536ths of a second.
        var delay: UInt32
    }

    case senderReport(SenderReport, [ReportBlock])
    case receiverReport(source: UInt32, [ReportBlock])
    case goodbye([UInt32])
    /// Lost packets' numbers (RFC 4585, 6.2.1).
    case lost(media: UInt32, [UInt16])
    case pictureLoss(media: UInt32)
    /// RFC 5104, 4.3.1. A request that is repeated keeps its number.
    case intraRequest(media: UInt32, number: UInt8)
    /// The most bits a second that the receiver can take.
    case bitRate(UInt64)
    case arrivals(ArrivalSummary)
}

/// Reads the packets of an RTCP datagram one by one. Any bytes may come.
struct RTCPReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var position = 0
    /// The most lost packets that one datagram may name.
    static let mostLost = 2048

    enum Kind {
        static let senderReport: UInt8 = 200
        static let receiverReport: UInt8 = 201
        static let description: UInt8 = 202
        static let goodbye: UInt8 = 203
        static let transport: UInt8 = 205
        static let payload: UInt8 = 206
    }

    @_lifetime(copy bytes) init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// The next packet that is understood; nil at the end, or where the rest cannot be read.
    @_lifetime(self: copy self) mutating func next() -> RTCPPacket? {
        while bytes.count - position >= 4, bytes[position] >> 6 == 2 {
            let start = position
            var end = start + 4 + Int(bytes.bigEndian(at: start + 2, 2)) * 4
            guard end <= bytes.count else { return nil }
            position = end
            if bytes[start] & 0x20 != 0 {
                let padding = Int(bytes[end - 1])
                guard padding > 0, end - padding >= start + 4 else { return nil }
                end -= padding
            }
            if let packet = read(bytes[start + 1], Int(bytes[start] & 31), start + 4..<end) { return packet }
        }
        return nil
    }

    private func word(_ at: Int) -> UInt32 { UInt32(bytes.bigEndian(at: at, 4)) }

    private func read(_ type: UInt8, _ count: Int, _ body: Range<Int>) -> RTCPPacket? {
        let at = body.lowerBound
        switch type {
        case Kind.senderReport:
            guard body.count >= 24 else { return nil }
            let report = SenderReport(
                source: word(at), wallClock: bytes.bigEndian(at: at + 4, 8), timestamp: word(at + 12), packets: word(at + 16),
                bytes: word(at + 20))
            return .senderReport(report, blocks(count, at + 24..<body.upperBound))
        case Kind.receiverReport:
            guard body.count >= 4 else { return nil }
            return .receiverReport(source: word(at), blocks(count, at + 4..<body.upperBound))
        case Kind.goodbye:
            return .goodbye((0..<min(count, body.count / 4)).map { word(at + 4 * $0) })
        case Kind.transport:
            guard body.count >= 8 else { return nil }
            if count == 1 { return .lost(media: word(at + 4), lostNumbers(at + 8..<body.upperBound)) }
            if count == 15 { return ArrivalSummary(reading: bytes, body).map { .arrivals($0) } }
            return nil
        case Kind.payload:
            guard body.count >= 8 else { return nil }
            switch count {
            case 1: return .pictureLoss(media: word(at + 4))
            case 4:
                guard body.count >= 16 else { return nil }
                return .intraRequest(media: word(at + 8), number: bytes[at + 12])
            case 15:
                guard body.count >= 16, word(at + 8) == RTCPWriter.bitRateName else { return nil }
                let exponent = UInt64(bytes[at + 13] >> 2)
                let mantissa = UInt64(bytes.bigEndian(at: at + 13, 3) & 0x3ffff)
                return .bitRate(exponent > 45 ? .max : mantissa << exponent)
            default: return nil
            }
        default: return nil
        }
    }

    private func blocks(_ count: Int, _ range: Range<Int>) -> [RTCPPacket.ReportBlock] {
        (0..<min(count, max(0, range.count) / 24)).map { index in
            let at = range.lowerBound + 24 * index
            return RTCPPacket.ReportBlock(
                source: word(at), fractionLost: bytes[at + 4],
                lost: Int32(bitPattern: UInt32(bytes.bigEndian(at: at + 5, 3)) << 8) >> 8, highestSequence: word(at + 8),
                jitter: word(at + 12), lastReport: word(at + 16), delay: word(at + 20))
        }
    }

    private func lostNumbers(_ range: Range<Int>) -> [UInt16] {
        var numbers: [UInt16] = []
        var at = range.lowerBound
        while at + 4 <= range.upperBound, numbers.count < Self.mostLost {
            let first = UInt16(bytes.bigEndian(at: at, 2))
            let others = bytes.bigEndian(at: at + 2, 2)
            numbers.append(first)
            for bit in 0..<16 where others >> UInt64(bit) & 1 != 0 { numbers.append(first &+ UInt16(bit + 1)) }
            at += 4
        }
        return numbers
    }
}
