/// Writes the packets of an RTCP compound one behind the other. What does not fit is left out whole.
///
/// Used for feedback, some times a second.
struct RTCPWriter {
    private(set) var bytes: [UInt8] = []
    /// What fits one datagram, with room for SRTP's trailer.
    static let mostBytes = 1180
    static let bitRateName: UInt32 = 0x5245_4d42  // REMB

    init() { bytes.reserveCapacity(Self.mostBytes) }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    private mutating func put(_ value: UInt64, _ count: Int) {
        for i in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * i))) }
    }

    /// Writes a packet with its header, or nothing where it does not fit.
    private mutating func packet(_ type: UInt8, count: Int, _ body: (inout RTCPWriter) -> Void) {
        let start = bytes.count
        put(UInt64(0x80 | count), 1)
        put(UInt64(type), 1)
        put(0, 2)
        body(&self)
        while bytes.count % 4 != 0 { bytes.append(0) }
        guard bytes.count <= Self.mostBytes else { return bytes.removeLast(bytes.count - start) }
        let words = (bytes.count - start) / 4 - 1
        bytes[start + 2] = UInt8(truncatingIfNeeded: words >> 8)
        bytes[start + 3] = UInt8(truncatingIfNeeded: words)
    }

    mutating func senderReport(_ report: SenderReport, _ blocks: [RTCPPacket.ReportBlock] = []) {
        packet(RTCPReader.Kind.senderReport, count: blocks.count) { writer in
            writer.put(UInt64(report.source), 4)
            writer.put(report.wallClock, 8)
            writer.put(UInt64(report.timestamp), 4)
            writer.put(UInt64(report.packets), 4)
            writer.put(UInt64(report.bytes), 4)
            for block in blocks { writer.put(block) }
        }
    }

    mutating func receiverReport(from source: UInt32, _ block: RTCPPacket.ReportBlock? = nil) {
        packet(RTCPReader.Kind.receiverReport, count: block == nil ? 0 : 1) { writer in
            writer.put(UInt64(source), 4)
            if let block { writer.put(block) }
        }
    }

    private mutating func put(_ block: RTCPPacket.ReportBlock) {
        put(UInt64(block.source), 4)
        put(UInt64(block.fractionLost), 1)
        put(UInt64(UInt32(bitPattern: block.lost) & 0xff_ffff), 3)
        put(UInt64(block.highestSequence), 4)
        put(UInt64(block.jitter), 4)
        put(UInt64(block.lastReport), 4)
        put(UInt64(block.delay), 4)
    }

    /// The name of a source (CNAME), which goes with every report.
    mutating func description(of source: UInt32, name: String) {
        packet(RTCPReader.Kind.description, count: 1) { writer in
            let name = name.utf8.prefix(64)
            writer.put(UInt64(source), 4)
            writer.put(1, 1)
            writer.put(UInt64(name.count), 1)
            writer.bytes.append(contentsOf: name)
            // A zero ends the list.
            writer.put(0, 1)
        }
    }

    mutating func goodbye(_ sources: [UInt32]) {
        packet(RTCPReader.Kind.goodbye, count: min(sources.count, 31)) { writer in
            for source in sources.prefix(31) { writer.put(UInt64(source), 4) }
        }
    }

    /// Asks for lost packets.
    /// - Parameter numbers: in ascending order.
    mutating func lost(_ numbers: [UInt16], from source: UInt32, media: UInt32) {
        packet(RTCPReader.Kind.transport, count: 1) { writer in
            writer.put(UInt64(source), 4)
            writer.put(UInt64(media), 4)
            var index = 0
            while index < numbers.count {
                let first = numbers[index]
                var others: UInt64 = 0
                index += 1
                while index < numbers.count, (1...16).contains(numbers[index] &- first) {
                    others |= 1 << UInt64(numbers[index] &- first - 1)
                    index += 1
                }
                writer.put(UInt64(first), 2)
                writer.put(others, 2)
            }
        }
    }

    mutating func pictureLoss(from source: UInt32, media: UInt32) {
        packet(RTCPReader.Kind.payload, count: 1) { writer in
            writer.put(UInt64(source), 4)
            writer.put(UInt64(media), 4)
        }
    }

    mutating func intraRequest(from source: UInt32, media: UInt32, number: UInt8) {
        packet(RTCPReader.Kind.payload, count: 4) { writer in
            writer.put(UInt64(source), 4)
            writer.put(0, 4)
            writer.put(UInt64(media), 4)
            writer.put(UInt64(number) << 24, 4)
        }
    }

    /// Says how many bits a second may come from a source (draft-alvestrand-rmcat-remb).
    mutating func bitRate(_ bits: UInt64, from source: UInt32, media: UInt32) {
        packet(RTCPReader.Kind.payload, count: 15) { writer in
            writer.put(UInt64(source), 4)
            writer.put(0, 4)
            writer.put(UInt64(Self.bitRateName), 4)
            var (mantissa, exponent) = (bits, UInt64(0))
            while mantissa > 0x3ffff {
                mantissa >>= 1
                exponent += 1
            }
            writer.put(1, 1)
            writer.put(exponent << 18 | mantissa, 3)
            writer.put(UInt64(media), 4)
        }
    }

    /// Says when packets came.
    mutating func arrivals(_ feedback: TransportFeedback, from source: UInt32, media: UInt32) {
        packet(RTCPReader.Kind.transport, count: 15) { writer in
            writer.put(UInt64(source), 4)
            writer.put(UInt64(media), 4)
            feedback.write { value, count in writer.put(value, count) }
        }
    }
}
