import CFFmpeg

/// Reusable memory for an input packet: the bytes of one unit and the zeros after them that libavcodec's bit readers
/// need.
///
/// The memory is wrapped in a buffer reference, because libavcodec copies every packet that is not reference-counted,
/// which allocates. The decoder is done with the memory when the send call returns.
@safe struct PaddedInput: ~Copyable {
    private var buffer: UnsafeMutablePointer<AVBufferRef>?

    deinit {
        var buffer = unsafe self.buffer
        unsafe av_buffer_unref(&buffer)
    }

    /// Makes `packet` a reference to a copy of the unit. Allocates only when the unit is larger than any before.
    mutating func fill(
        _ packet: UnsafeMutablePointer<AVPacket>, with unit: UnsafeRawBufferPointer, at place: String
    ) throws(CodecError) {
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        let needed = unit.count + padding
        if unsafe (buffer?.pointee.size ?? 0) < needed || av_buffer_is_writable(buffer) == 0 {
            unsafe av_buffer_unref(&buffer)
            unsafe buffer = try check(av_buffer_alloc(max(2 * needed, 1 << 16)), "av_buffer_alloc", at: place)
        }
        let bytes = unsafe UnsafeMutableRawPointer(buffer!.pointee.data!)
        if let source = unit.baseAddress { unsafe bytes.copyMemory(from: source, byteCount: unit.count) }
        unsafe (bytes + unit.count).initializeMemory(as: UInt8.self, repeating: 0, count: padding)
        unsafe packet.pointee.buf = try check(av_buffer_ref(buffer), "av_buffer_ref", at: place)
        unsafe packet.pointee.data = buffer!.pointee.data
        unsafe packet.pointee.size = Int32(unit.count)
    }
}
