import Bitstream
import Codec
import Container
import Media
import Telemetry

/// Keeps what goes out, for stills and clips of the past: pictures, and the program's other streams beside them.
///
/// Confined to the send stage's lock. Allocates where the program's layout changes.
struct OutputKeeper {
    private let ring: PastRing
    /// Whose layout has been added to the ring last, its number there, and the format of its video.
    private var muxer: TransportStreamMuxer?
    private var layout = 0
    private var codec: VideoCodec?

    init(_ ring: PastRing) { self.ring = ring }

    private mutating func follow(_ muxer: TransportStreamMuxer) {
        guard muxer !== self.muxer else { return }
        self.muxer = muxer
        layout = ring.add(muxer.layout)
        codec = muxer.layout.video?.codec.video
    }

    /// A picture has gone out.
    mutating func keep(
        _ bytes: RawSpan, _ unit: CodedUnit, _ record: FrameRecord, _ muxer: TransportStreamMuxer, sent: MonotonicTime
    ) {
        follow(muxer)
        var kept = PastUnit(presentation: unit.presentation, decode: unit.decode, time: sent)
        kept.frame = record.id
        kept.codec = codec
        kept.isEntry = unit.isKeyframe
        kept.isTimed = unit.isTimed
        kept.maskNumber = record.maskNumber
        kept.layout = layout
        unsafe bytes.withUnsafeBytes { unsafe ring.keep(kept, head: UnsafeRawBufferPointer(start: nil, count: 0), $0) }
    }

    /// A unit of another stream has gone out.
    mutating func keep(_ unit: PassingUnit, _ muxer: TransportStreamMuxer, at presentation: MediaTime?) {
        guard let presentation else { return }
        follow(muxer)
        var kept = PastUnit(presentation: presentation, decode: presentation + -unit.reordering, time: .now())
        kept.stream = Int32(unit.stream)
        kept.layout = layout
        unsafe ring.keep(kept, head: unit.header, unit.bytes)
    }

    /// Silence has gone out in place of sound.
    mutating func keep(
        silence bytes: UnsafeRawBufferPointer, _ stream: Int, _ muxer: TransportStreamMuxer, at presentation: MediaTime
    ) {
        follow(muxer)
        var kept = PastUnit(presentation: presentation, decode: presentation, time: .now())
        kept.stream = Int32(stream)
        kept.layout = layout
        unsafe ring.keep(kept, head: UnsafeRawBufferPointer(start: nil, count: 0), bytes)
    }
}
