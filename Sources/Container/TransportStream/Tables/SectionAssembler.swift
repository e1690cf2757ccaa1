/// Puts the sections of one PID together (ISO/IEC 13818-1, 2.4.4): a section may span packets, a packet may hold
/// several. Sections with a right CRC-32 come out. One with a wrong CRC-32 comes out where it came again and again, byte for byte:
/// what damages a section damages it in another way each time, so this sender cannot compute the sum.
///
/// It holds few sections. Those of the program tables have at most 1,024 bytes (2.4.4.4, 2.4.4.9); one that says it is longer is
/// dropped. Continuity counters only tell doubled packets: the sum shows what is missing.
struct SectionAssembler {
    /// A section whose checksum is wrong, and how often it came.
    private struct Claim {
        var bytes: [UInt8]
        var count = 1
    }
    private var claims: [Claim] = []
    private var hasBeenRight = false
    /// A section whose checksum is wrong has come out.
    private(set) var believesWrongChecksums = false
    /// So often a section has to come; where the PID has had right sums, the second.
    private static let (timesNeeded, timesNeededAfterRight) = (3, 12)
    /// Sections of one table that come in turn, at most.
    private static let mostClaims = 8
    /// The newest packet's payload began with what has come before, under the same counter.
    private var wasDoubled = false
    private var lastPayload: [UInt8] = []
    /// Bytes of the section at hand may be missing.
    private var isSuspect = false

    private var bytes: [UInt8] = []
    /// The section that came out last: tables repeat several times a second.
    private var last: [UInt8] = []
    private var isOpen = false
    private var lastContinuity = -1
    /// Sections of the packet at hand that were dropped for a wrong checksum or an impossible length.
    private var broken = 0

    private static let limit = 1024

    init() {
        bytes.reserveCapacity(Self.limit)
        lastPayload.reserveCapacity(TransportPacket.size)
    }

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
        // A packet may come twice (2.4.3.3). Where it comes more often, the counter stands still.
        let isDouble = unsafe lastContinuity == continuity && !wasDoubled && lastPayload.elementsEqual(payload)
        wasDoubled = isDouble
        if isDouble { return broken }
        if lastContinuity >= 0, (lastContinuity + 1) & 15 != continuity { isSuspect = true }
        lastContinuity = continuity
        lastPayload.removeAll(keepingCapacity: true)
        unsafe lastPayload.append(contentsOf: payload)

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
        isSuspect = false
    }

    /// Whether a section with a wrong checksum has come so often, byte for byte, that it counts.
    private mutating func isBelieved(_ section: [UInt8]) -> Bool {
        guard !isSuspect else { return false }
        guard let i = claims.firstIndex(where: { $0.bytes == section }) else {
            if claims.count == Self.mostClaims { claims.removeFirst() }
            claims.append(Claim(bytes: section))
            return false
        }
        claims[i].count += 1
        guard claims[i].count >= (hasBeenRight ? Self.timesNeededAfterRight : Self.timesNeeded) else { return false }
        believesWrongChecksums = true
        return true
    }

    /// A section with a right checksum refutes claims of the same table.
    private mutating func refuteClaims(by section: [UInt8]) {
        hasBeenRight = true
        claims.removeAll { $0.bytes[0] == section[0] && $0.bytes[3...4] == section[3...4] }
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
                refuteClaims(by: bytes)
                section(bytes)
                last = bytes
            } else if isBelieved(bytes) {
                section(bytes)
                last = bytes
            } else if !isSuspect {
                broken += 1
            }
            isSuspect = false
            bytes.removeAll(keepingCapacity: true)
        }
    }
}
