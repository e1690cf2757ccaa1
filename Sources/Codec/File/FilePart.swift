import CFFmpeg
import Media

/// The part of a file that is read. The whole file by default.
public struct FilePart: Hashable, Sendable {
    /// In microseconds from the file's beginning; nil is its end.
    let start: Int64
    let end: Int64?

    private static let second: Int64 = 1_000_000
    /// Streams of a file stand within so much of each other.
    private static let interleaving = 2 * second
    /// A transport stream has no list of its keyframes: begin so much earlier to have one.
    private static let earlier = 10 * second

    public init() { (start, end) = (0, nil) }

    /// - Parameters:
    ///   - start: in seconds.
    ///   - end: in seconds, excluded.
    public init(from start: Double, to end: Double? = nil) {
        func microseconds(_ time: Double) -> Int64 { Int64((min(max(time, 0), 1e9) * 1e6).rounded()) }
        self.start = microseconds(start)
        self.end = end.map(microseconds)
    }

    enum Place { case before, inside, after }

    /// Where a time lies, in a unit of seconds.
    func place(of time: Int64, in unit: Rational) -> Place {
        if start > 0, time < ticks(in: unit) { return .before }
        if let end, time >= Self.ticks(end, in: unit) { return .after }
        return .inside
    }

    /// The beginning, in a unit of seconds.
    func ticks(in unit: Rational) -> Int64 { Self.ticks(start, in: unit) }

    /// The nearest number of units: times that are written in decimals mean the nearest picture.
    private static func ticks(_ time: Int64, in unit: Rational) -> Int64 {
        av_rescale_q(time, AVRational(num: 1, den: 1_000_000), AVRational(unit))
    }

    /// Goes to the last keyframe before the beginning. Files that cannot do that are read from their start.
    @unsafe func seek(
        in format: UnsafeMutablePointer<AVFormatContext>, stream: UnsafeMutablePointer<AVStream>, from origin: Int64
    ) {
        let isTransport = unsafe String(cString: format.pointee.iformat.pointee.name) == "mpegts"
        let target = start - (isTransport ? Self.earlier : 0)
        // At its start a file is already.
        guard target > 0 else { return }
        let base = unsafe stream.pointee.time_base
        let ticks = av_rescale_q(target + origin, AVRational(num: 1, den: 1_000_000), base)
        if unsafe av_seek_frame(format, stream.pointee.index, ticks, AVSEEK_FLAG_BACKWARD) < 0 { _ = LibraryLog.popLastError() }
    }

    /// Moves a packet's stamps so that they count from the beginning.
    /// - Returns: whether it belongs to the part.
    @unsafe func moves(_ packet: UnsafeMutablePointer<AVPacket>, of format: UnsafeMutablePointer<AVFormatContext>) -> Bool {
        let base = unsafe format.pointee.streams[Int(packet.pointee.stream_index)]!.pointee.time_base
        let unit = Rational(Int64(base.num), Int64(max(1, base.den)))
        let stamp = unsafe packet.pointee.pts != burnish_nopts ? packet.pointee.pts : packet.pointee.dts
        guard stamp == burnish_nopts || place(of: stamp, in: unit) == .inside else { return false }
        let first = start > 0 ? ticks(in: unit) : 0
        if unsafe packet.pointee.pts != burnish_nopts { unsafe packet.pointee.pts -= first }
        if unsafe packet.pointee.dts != burnish_nopts { unsafe packet.pointee.dts -= first }
        return true
    }

    /// Whether nothing of the part follows a packet.
    @unsafe func isFarBehind(_ packet: UnsafeMutablePointer<AVPacket>, of format: UnsafeMutablePointer<AVFormatContext>) -> Bool
    {
        let stamp = unsafe packet.pointee.dts != burnish_nopts ? packet.pointee.dts : packet.pointee.pts
        guard let end, stamp != burnish_nopts else { return false }
        let base = unsafe format.pointee.streams[Int(packet.pointee.stream_index)]!.pointee.time_base
        return av_rescale_q(stamp, base, AVRational(num: 1, den: 1_000_000)) > end + Self.interleaving
    }

    /// How many of a file's pictures it has.
    func count(of all: Int, at rate: Rational) -> Int {
        func pictures(_ time: Int64) -> Int { Int((Double(time) / 1e6 * rate.value).rounded()) }
        return max(0, min(end.map(pictures) ?? all, all) - pictures(start))
    }

    func noPicture(at place: String) -> CodecError {
        CodecError(
            .noVideo, operation: "avcodec_receive_frame",
            message: self == FilePart() ? "no picture could be decoded" : "there is no picture in this part of the file",
            place: place, advice: "check that the file is complete" + (self == FilePart() ? "" : " and as long as that"))
    }
}
