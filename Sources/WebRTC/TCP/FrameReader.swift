import Media

/// Cuts a stream of bytes into the packets that it carries, each with its length in two bytes before it (RFC 4571).
///
/// Any bytes. Memory is fixed: a packet that is longer than ``largest`` ends the stream, because nobody who means well sends one.
struct FrameReader: ~Copyable {
    /// No packet of a call is longer than an Ethernet frame.
    static let largest = 2048

    private let memory = AlignedMemory(byteCount: largest)
    /// Bytes of the present packet's length and of the packet that have come.
    private var lengthBytes = 0
    private var length = 0
    private var count = 0

    /// Reads the next bytes.
    /// - Parameter packet: gets each packet that is complete. The bytes are valid, and may be changed, during the call. Empty ones are
    ///   left out: they keep paths open.
    /// - Returns: false when the stream is to be closed.
    mutating func read(_ bytes: UnsafeRawBufferPointer, _ packet: (UnsafeMutableRawBufferPointer) -> Void) -> Bool {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            if lengthBytes < 2 {
                length = unsafe length << 8 | Int(rest.removeFirst())
                lengthBytes += 1
                if lengthBytes == 2, length > Self.largest { return false }
            } else {
                let part = unsafe UnsafeRawBufferPointer(rebasing: rest.prefix(length - count))
                unsafe UnsafeMutableRawBufferPointer(start: memory.pointer() + count, count: part.count).copyMemory(from: part)
                count += part.count
                unsafe rest = rest.dropFirst(part.count)
            }
            guard lengthBytes == 2, count == length else { continue }
            if count > 0 { unsafe packet(UnsafeMutableRawBufferPointer(start: memory.pointer(), count: count)) }
            (lengthBytes, length, count) = (0, 0, 0)
        }
        return true
    }
}
