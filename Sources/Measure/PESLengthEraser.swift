import Media

/// Erases the length of a transport stream's video PES packets (`PES_packet_length` 0, allowed for video by
/// ISO/IEC 13818-1, 2.4.3.7). FFmpeg's muxer writes 0 by default.
@safe struct PESLengthEraser: ~Copyable {
    private static let packetSize = 188
    private let pid: UInt16
    private let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 7 * packetSize, alignment: 16)

    init(pid: UInt16) { self.pid = pid }

    deinit { unsafe copy.deallocate() }

    /// - Parameter message: whole packets, at most seven.
    func erase(in message: UnsafeRawBufferPointer, then emit: (UnsafeRawBufferPointer) -> Void) {
        unsafe copy.copyMemory(from: message)
        for start in stride(from: 0, to: message.count, by: Self.packetSize) {
            let packet = unsafe UnsafeMutableRawBufferPointer(rebasing: copy[start..<start + Self.packetSize])
            guard unsafe packet[1] & 0x40 != 0,
                unsafe UInt16(packet[1] & 0x1F) << 8 | UInt16(packet[2]) == pid
            else { continue }
            let payload = unsafe packet[3] & 0x20 == 0 ? 4 : 5 + Int(packet[4])
            guard payload + 6 <= Self.packetSize else { continue }
            unsafe packet[payload + 4] = 0
            unsafe packet[payload + 5] = 0
        }
        unsafe emit(UnsafeRawBufferPointer(rebasing: copy[..<message.count]))
    }
}
