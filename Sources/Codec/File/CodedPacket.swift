import CFFmpeg

/// A coded packet of a stream that is not enhanced, on its way to another file untouched.
///
/// Confined to one thread at a time.
@safe public struct CodedPacket: ~Copyable {
    var packet: UnsafeMutablePointer<AVPacket>?
    /// Which of the reader's ``FileReader/passedStreams`` it belongs to.
    public let stream: Int

    init(moving source: UnsafeMutablePointer<AVPacket>, stream: Int) throws(CodecError) {
        self.stream = stream
        unsafe packet = try check(av_packet_alloc(), "av_packet_alloc", at: "file reader")
        unsafe av_packet_move_ref(packet, source)
    }

    deinit {
        var packet = unsafe self.packet
        unsafe av_packet_free(&packet)
    }
}
