import Glibc
import Media

/// What a sender says of its clocks: this RTP timestamp is that time on its wall clock (RFC 3550, 6.4.1).
struct SenderReport: Hashable, Sendable {
    var source: UInt32
    /// NTP's form: seconds since 1900 above, their fraction below. Zero where the sender has no such clock.
    var wallClock: UInt64
    var timestamp: UInt32
    /// What the source has sent so far; both wrap.
    var packets: UInt32 = 0
    var bytes: UInt32 = 0
}

/// What an RTCP datagram tells a receiver.
struct RTCPDatagram: Hashable, Sendable {
    /// Its last sender report.
    var report: SenderReport?
    /// The first source that says goodbye in it.
    var goodbye: UInt32?

    /// Whether a datagram on the stream's own port is RTCP (RFC 5761, 4): its second byte is a packet type, which no
    /// payload type with or without its marker is.
    static func isPlausible(secondByte: UInt8) -> Bool { (192...223).contains(secondByte) }

    /// Reads all packets of a datagram.
    /// - Returns: nil when it is not RTCP. RFC 3550 (A.2) demands that the packets' lengths add up to the datagram's, and that
    ///   it begins with a report.
    init?(reading bytes: Span<UInt8>) {
        var start = 0
        repeat {
            guard bytes.count - start >= 4, bytes[start] >> 6 == 2 else { return nil }
            let type = bytes[start + 1]
            let end = start + 4 + Int(bytes.bigEndian(at: start + 2, 2)) * 4
            guard end <= bytes.count,
                start > 0 || type == RTCPReader.Kind.senderReport || type == RTCPReader.Kind.receiverReport
            else {
                return nil
            }
            // Padding ends the datagram.
            guard bytes[start] & 0x20 == 0 || end == bytes.count else { return nil }
            start = end
        } while start < bytes.count
        var packets = RTCPReader(bytes)
        while let packet = packets.next() {
            switch packet {
            case .senderReport(let said, _): report = said
            case .goodbye(let sources): goodbye = goodbye ?? sources.first
            default: break
            }
        }
    }

    /// The most bytes that ``write(_:name:isGoodbye:to:)`` writes.
    static let mostBytes = reportByteCount + 8
    private static let reportByteCount = 28 + 8 + 2 + nameByteCount + 2
    /// A random name of 16 hexadecimal digits (RFC 7022). With its item's two bytes and the two zeros that end the list it
    /// fills whole words.
    private static let nameByteCount = 16

    /// Writes a sender report, the name that must go with it, and a goodbye if wanted.
    /// - Parameter bytes: at least ``mostBytes``.
    /// - Returns: how many bytes were written.
    static func write(
        _ report: SenderReport, name: UInt64, isGoodbye: Bool = false, to bytes: UnsafeMutableRawBufferPointer
    ) -> Int {
        unsafe bytes.setBigEndian(header(RTCPReader.Kind.senderReport, count: 0, words: 6), at: 0, 4)
        unsafe bytes.setBigEndian(UInt64(report.source), at: 4, 4)
        unsafe bytes.setBigEndian(report.wallClock, at: 8, 8)
        unsafe bytes.setBigEndian(UInt64(report.timestamp), at: 16, 4)
        unsafe bytes.setBigEndian(UInt64(report.packets), at: 20, 4)
        unsafe bytes.setBigEndian(UInt64(report.bytes), at: 24, 4)
        unsafe bytes.setBigEndian(header(RTCPReader.Kind.description, count: 1, words: 6), at: 28, 4)
        unsafe bytes.setBigEndian(UInt64(report.source), at: 32, 4)
        // The item that is called CNAME.
        unsafe bytes[36] = 1
        unsafe bytes[37] = UInt8(nameByteCount)
        for digit in 0..<nameByteCount {
            let value = UInt8(truncatingIfNeeded: name >> UInt64(4 * (nameByteCount - 1 - digit))) & 0x0f
            unsafe bytes[38 + digit] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
        }
        unsafe bytes.setBigEndian(0, at: 38 + nameByteCount, 2)
        guard isGoodbye else { return reportByteCount }
        unsafe bytes.setBigEndian(header(RTCPReader.Kind.goodbye, count: 1, words: 1), at: reportByteCount, 4)
        unsafe bytes.setBigEndian(UInt64(report.source), at: reportByteCount + 4, 4)
        return mostBytes
    }

    private static func header(_ type: UInt8, count: UInt64, words: UInt64) -> UInt64 {
        2 << 30 | count << 24 | UInt64(type) << 16 | words
    }
}

/// This machine's wall clock as NTP writes it.
func wallClockNow() -> UInt64 {
    var wall = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &wall)
    // From 1900 to 1970; NTP's seconds wrap in 2036.
    let seconds = UInt64(truncatingIfNeeded: wall.tv_sec + 2_208_988_800) & 0xffff_ffff
    return seconds << 32 | (UInt64(wall.tv_nsec) << 32) / 1_000_000_000
}
