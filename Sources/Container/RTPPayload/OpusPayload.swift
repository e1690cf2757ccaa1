import Bitstream

/// Opus packets in RTP (RFC 7587) and in transport streams, where each has a control header before it.
public enum OpusPayload {
    /// RFC 7587, 4.1: time stamps count samples at this rate, whatever the sound's own is.
    public static let clockRate = 48_000

    /// Writes a packet with its control header.
    static func append(_ packet: Span<UInt8>, to storage: UnitStorage, limit: Int) -> Bool {
        guard storage.append([0x7f, 0xe0].span, limit: limit) else { return false }
        var rest = packet.count
        while rest >= 255 {
            guard storage.append([255].span, limit: limit) else { return false }
            rest -= 255
        }
        return storage.append([UInt8(rest)].span, limit: limit) && storage.append(packet, limit: limit)
    }

    /// Emits the packets of a unit that has control headers.
    /// - Parameters:
    ///   - unit: what one PES packet of a transport stream held. What cannot be read ends it.
    ///   - emit: a packet, and how many samples of 48 kHz lie between the unit's beginning and the packet's.
    /// - Returns: whether all of the unit could be read.
    @discardableResult public static func forEachPacket(
        in unit: UnsafeRawBufferPointer, emit: (_ packet: UnsafeRawBufferPointer, _ samples: Int) -> Void
    ) -> Bool {
        var (at, samples) = (0, 0)
        while at < unit.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: unit[at...])
            let bytes = unsafe Span<UInt8>(_unsafeElements: rest.assumingMemoryBound(to: UInt8.self))
            guard let frame = SoundFrame(bytes, .opus), frame.byteCount <= rest.count, let size = size(of: bytes) else {
                return false
            }
            unsafe emit(UnsafeRawBufferPointer(rebasing: rest[(frame.byteCount - size)..<frame.byteCount]), samples)
            samples += frame.samples
            at += frame.byteCount
        }
        return true
    }

    /// The size that a control header states. ``SoundFrame`` has checked that it is whole.
    private static func size(of bytes: Span<UInt8>) -> Int? {
        var (at, size) = (2, 0)
        while at < bytes.count {
            size += Int(bytes[at])
            if bytes[at] != 255 { return size }
            at += 1
        }
        return nil
    }
}
