/// Cuts bytes of any length into 188-byte packets. After garbage it finds the packets' beginning again. A packet that
/// lies whole in the input is not copied.
///
/// Packets may lie 192 bytes apart, each with a time stamp of four bytes before it (Blu-ray, AVCHD, DLNA), or 204, each with 16 bytes
/// of error correction behind it (DVB, ISDB). What lies between packets is left out.
@safe struct PacketAligner: ~Copyable {
    /// Bytes to cut.
    @safe struct Input {
        fileprivate let bytes: UnsafeRawBufferPointer
        fileprivate var position = 0

        init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

        fileprivate var left: Int { unsafe bytes.count - position }
    }

    private static let size = TransportPacket.size
    /// How far apart packets may begin, and how many sync bytes in a row, so far apart, count as alignment.
    private static let spacings: [(stride: Int, proof: Int)] = [(size, 3), (192, 4), (204, 4)]
    private static let capacity = 1024

    /// Bytes that wait for more: of one packet when aligned, of some packets when not.
    private let carry: UnsafeMutablePointer<UInt8>
    private var count = 0
    /// Bytes of `carry` that the last call returned.
    private var used = 0
    private var isAligned = false
    /// How far apart packets begin, and how many of the next bytes lie between two of them.
    private var stride = size
    private var between = 0
    /// Bytes that belong to no packet, since the owner last reported them and set this to 0.
    var skippedBytes = 0

    init() { unsafe carry = .allocate(capacity: Self.capacity) }

    deinit { unsafe carry.deallocate() }

    /// No part of a packet waits.
    var isEmpty: Bool { count == used }

    /// Forgets the part of a packet that waits.
    mutating func reset() {
        if count > used { between = 0 }
        skippedBytes += count - used
        count = 0
        used = 0
    }

    /// The next packet; valid until the next call.
    mutating func next(_ input: inout Input) -> UnsafePointer<UInt8>? {
        while true {
            if used > 0 { drop(used) }
            if isAligned {
                if between > 0 {
                    passBetween(&input)
                    if between > 0 { return nil }
                }
                if count == 0, input.left >= Self.size {
                    let p = unsafe input.bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + input.position
                    if unsafe p[0] == TransportPacket.syncByte {
                        input.position += Self.size
                        between = stride - Self.size
                        return unsafe p
                    }
                } else {
                    fill(&input, upTo: Self.size)
                    if count < Self.size { return nil }
                    if unsafe carry[0] == TransportPacket.syncByte {
                        used = Self.size
                        between = stride - Self.size
                        return unsafe UnsafePointer(carry)
                    }
                }
                isAligned = false
            }
            repeat {
                fill(&input, upTo: Self.capacity)
            } while !align() && input.left > 0
            if !isAligned { return nil }
        }
    }

    private mutating func fill(_ input: inout Input, upTo target: Int) {
        let n = min(input.left, target - count)
        guard n > 0 else { return }
        unsafe UnsafeMutableRawPointer(carry + count).copyMemory(
            from: input.bytes.baseAddress! + input.position, byteCount: n)
        count += n
        input.position += n
    }

    private mutating func drop(_ n: Int) {
        count -= n
        used = 0
        unsafe carry.update(from: carry + n, count: count)
    }

    /// Leaves out what lies between two packets.
    private mutating func passBetween(_ input: inout Input) {
        let carried = min(between, count)
        drop(carried)
        let passed = min(between - carried, input.left)
        input.position += passed
        between -= carried + passed
    }

    /// Searches for enough sync bytes in a row and drops what comes before.
    /// - Returns: whether they were found; false asks for more bytes.
    private mutating func align() -> Bool {
        var start = 0
        while start < count, !isAligned {
            var isOpen = false
            for (stride, proof) in Self.spacings {
                switch syncBytes(from: start, stride, proof) {
                case proof:
                    isAligned = true
                    (self.stride, between) = (stride, 0)
                case nil: isOpen = true
                default: continue
                }
                if isAligned { break }
            }
            // More bytes may prove it.
            if isOpen, !isAligned { break }
            if !isAligned { start += 1 }
        }
        skippedBytes += start
        drop(start)
        return isAligned
    }

    /// How many sync bytes in a row lie so far apart from here on; nil where the bytes end before that is known.
    private func syncBytes(from start: Int, _ stride: Int, _ proof: Int) -> Int? {
        for k in 0..<proof {
            let at = start + k * stride
            guard at < count else { return nil }
            guard unsafe carry[at] == TransportPacket.syncByte else { return k }
        }
        return proof
    }
}
