/// Cuts bytes of any length into 188-byte packets. After garbage it finds the packets' beginning again. A packet that
/// lies whole in the input is not copied.
@safe struct PacketAligner: ~Copyable {
    /// Bytes to cut.
    @safe struct Input {
        fileprivate let bytes: UnsafeRawBufferPointer
        fileprivate var position = 0

        init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

        fileprivate var left: Int { unsafe bytes.count - position }
    }

    private static let size = TransportPacket.size
    /// So many sync bytes in a row, a packet apart, count as alignment.
    private static let proof = 3
    private static let capacity = 1024

    /// Bytes that wait for more: of one packet when aligned, of up to `proof` packets when not.
    private let carry: UnsafeMutablePointer<UInt8>
    private var count = 0
    /// Bytes of `carry` that the last call returned.
    private var used = 0
    private var isAligned = false
    /// Bytes that belong to no packet, since the owner last reported them and set this to 0.
    var skippedBytes = 0

    init() { unsafe carry = .allocate(capacity: Self.capacity) }

    deinit { unsafe carry.deallocate() }

    /// No part of a packet waits.
    var isEmpty: Bool { count == used }

    /// Forgets the part of a packet that waits.
    mutating func reset() {
        skippedBytes += count - used
        count = 0
        used = 0
    }

    /// The next packet; valid until the next call.
    mutating func next(_ input: inout Input) -> UnsafePointer<UInt8>? {
        while true {
            if used > 0 { drop(used) }
            if isAligned {
                if count == 0, input.left >= Self.size {
                    let p = unsafe input.bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + input.position
                    if unsafe p[0] == TransportPacket.syncByte {
                        input.position += Self.size
                        return unsafe p
                    }
                } else {
                    fill(&input, upTo: Self.size)
                    if count < Self.size { return nil }
                    if unsafe carry[0] == TransportPacket.syncByte {
                        used = Self.size
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

    /// Searches for `proof` sync bytes in a row and drops what comes before.
    /// - Returns: whether they were found; false asks for more bytes.
    private mutating func align() -> Bool {
        var start = 0
        search: while start + (Self.proof - 1) * Self.size < count {
            for k in 0..<Self.proof where unsafe carry[start + k * Self.size] != TransportPacket.syncByte {
                start += 1
                continue search
            }
            isAligned = true
            break
        }
        skippedBytes += start
        drop(start)
        return isAligned
    }
}
