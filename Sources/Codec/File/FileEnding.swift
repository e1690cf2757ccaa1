import CFFmpeg

/// Finds out whether a file has come to its end or was cut off: a copy that broke off, a disk that was full.
///
/// Not every cut shows: a transport stream that ends between two packets looks whole.
struct FileEnding {
    private(set) var hasBegun = false
    /// Streams of which the last packet was not whole.
    private var broken: Set<Int32> = []
    /// When the last packet of all ends, in libavformat's unit and on the file's own clock.
    private var end: Int64?
    /// How far a file was read whose packets follow each other without anything between.
    private var position: Int64 = 0
    /// Where the last packet of all begins in the file.
    private var lastStart: Int64 = 0

    /// Files state their length by a clock of their own, and streams may end apart.
    private static let leastMissing = Int64(AV_TIME_BASE)
    /// Plain, with a time stamp before each packet, and with error correction behind it.
    private static let transportPacketSizes: [Int64] = [188, 192, 204]

    @unsafe mutating func record(_ packet: UnsafeMutablePointer<AVPacket>, of format: UnsafeMutablePointer<AVFormatContext>) {
        hasBegun = true
        let index = unsafe packet.pointee.stream_index
        if unsafe packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 { broken.insert(index) } else { broken.remove(index) }
        let stamp = unsafe packet.pointee.pts != burnish_nopts ? packet.pointee.pts : packet.pointee.dts
        if stamp != burnish_nopts {
            let base = unsafe format.pointee.streams[Int(index)]!.pointee.time_base
            let unit = AVRational(num: 1, den: AV_TIME_BASE)
            end = max(end ?? .min, unsafe av_rescale_q(stamp + max(packet.pointee.duration, 0), base, unit))
        }
        if let input = unsafe format.pointee.pb { position = unsafe avio_seek(input, 0, SEEK_CUR) }
        lastStart = max(lastStart, unsafe packet.pointee.pos)
    }

    /// Whether the file has ended too soon.
    @unsafe func isCutOff(_ format: UnsafeMutablePointer<AVFormatContext>) -> Bool {
        if !broken.isEmpty { return true }
        let read = unsafe format.pointee.pb.map { unsafe avio_seek($0, 0, SEEK_CUR) } ?? 0
        switch unsafe String(cString: format.pointee.iformat.pointee.name) {
        // An uncompressed picture that is not whole is no packet.
        case "yuv4mpegpipe": return read > position
        // Packets of a transport stream have one size, which libavformat does not tell.
        case "mpegts": return Self.transportPacketSizes.allSatisfy { (read - lastStart) % $0 != 0 }
        default: break
        }
        // Other methods estimate the length from what is there.
        guard unsafe format.pointee.duration_estimation_method == AVFMT_DURATION_FROM_STREAM, let end else { return false }
        // Some files count their length from zero, others from their first packet.
        let start = unsafe format.pointee.start_time != burnish_nopts ? min(format.pointee.start_time, 0) : 0
        let length = unsafe format.pointee.duration
        return length > 0 && length - (end - start) > max(Self.leastMissing, length / 100)
    }
}
