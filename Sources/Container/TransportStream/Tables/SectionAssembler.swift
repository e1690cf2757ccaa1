/// Puts the sections of one PID together (ISO/IEC 13818-1, 2.4.4): a section may span packets, a packet may hold
/// several. Only sections with a right CRC-32 come out. It holds at most one section. Those of the program tables have at most
/// 1,024 bytes (2.4.4.4, 2.4.4.9); one that says it is longer is dropped.
struct SectionAssembler {
    private var bytes: [UInt8] = []
    /// The section that came out last: tables repeat several times a second.
    private var last: [UInt8] = []
    private var isOpen = false
    private var lastContinuity = -1
    /// Sections of the packet at hand that were dropped for a wrong checksum or an impossible length.
    private var broken = 0

    private static let limit = 1024

    init() { bytes.reserveCapacity(Self.limit) }

    /// Processes one packet's payload.
    /// - Parameters:
    ///   - skipsRepeats: leave out a section that is the same as the one before it.
    ///   - section: called for every complete section, header and CRC included.
    /// - Returns: how many sections were dropped for a wrong checksum or an impossible length.
    mutating func push(
        _ payload: UnsafeRawBufferPointer, packet: TransportPacket, skipsRepeats: Bool, section: ([UInt8]) -> Void
    ) -> Int {
        broken = 0
        let continuity = Int(packet.continuity)
        if lastContinuity == continuity { return broken }
        if lastContinuity >= 0, (lastContinuity + 1) & 15 != continuity { abandon() }
        lastContinuity = continuity

        var rest = unsafe payload[...]
        if packet.startsUnit {
            guard let pointer = unsafe rest.first, unsafe Int(pointer) < rest.count else {
                abandon()
                return broken
            }
            let rearPart = unsafe rest.dropFirst().prefix(Int(pointer))
            if isOpen { unsafe append(rearPart, skipsRepeats, section) }
            abandon()
            unsafe rest = rest.dropFirst(1 + Int(pointer))
            isOpen = true
        }
        if isOpen { unsafe append(rest, skipsRepeats, section) }
        return broken
    }

    private mutating func abandon() {
        bytes.removeAll(keepingCapacity: true)
        isOpen = false
    }

    private mutating func append(
        _ more: Slice<UnsafeRawBufferPointer>, _ skipsRepeats: Bool, _ section: ([UInt8]) -> Void
    ) {
        // swift-format joins the two words, which does not compile.
        // swift-format-ignore
        for unsafe byte in unsafe more {
            // Stuffing after the last section.
            if bytes.isEmpty, byte == 0xFF { return abandon() }
            bytes.append(byte)
            guard bytes.count >= 3 else { continue }
            let length = 3 + (Int(bytes[1] & 0x0F) << 8 | Int(bytes[2]))
            guard length >= 12, length <= Self.limit else {
                broken += 1
                return abandon()
            }
            guard bytes.count == length else { continue }
            if skipsRepeats, bytes == last {
                // Nothing new.
            } else if CRC32.mpeg(bytes) == 0 {
                section(bytes)
                last = bytes
            } else {
                broken += 1
            }
            bytes.removeAll(keepingCapacity: true)
        }
    }
}
