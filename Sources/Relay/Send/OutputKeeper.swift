import Bitstream
import Codec
import Container
import Media
import Telemetry

/// Where coded units of the output are kept.
protocol KeptUnits: Sendable {
    /// Learns the layout of the units that come next, and gives it a number for ``PastUnit/layout``.
    func add(_ layout: TransportStreamLayout) -> Int
    /// - Returns: whether the unit was kept.
    func take(_ unit: PastUnit, head: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) -> Bool
}

extension PastRing: KeptUnits {
    func take(_ unit: PastUnit, head: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe keep(unit, head: head, bytes)
        return true
    }
}

/// Keeps what goes out, for the past and for recordings: pictures, and the program's other streams beside them.
///
/// Confined to the send stage's lock. Allocates where the program's layout changes.
struct OutputKeeper<Units: KeptUnits> {
    let units: Units
    /// Whose layout has been added to the ring last, its number there, and the format of its video.
    private var muxer: TransportStreamMuxer?
    private var layout = 0
    private var codec: VideoCodec?

    init(_ units: Units) { self.units = units }

    private mutating func follow(_ muxer: TransportStreamMuxer) {
        guard muxer !== self.muxer else { return }
        self.muxer = muxer
        layout = units.add(muxer.layout)
        codec = muxer.layout.video?.codec.video
    }

    /// A picture has gone out.
    /// - Returns: whether it was kept.
    @discardableResult mutating func keep(
        _ bytes: RawSpan, _ unit: CodedUnit, _ record: FrameRecord, _ muxer: TransportStreamMuxer, sent: MonotonicTime
    ) -> Bool {
        follow(muxer)
        var kept = PastUnit(presentation: unit.presentation, decode: unit.decode, time: sent)
        kept.frame = record.id
        kept.codec = codec
        kept.isEntry = unit.isKeyframe
        kept.isTimed = unit.isTimed
        kept.maskNumber = record.maskNumber
        kept.layout = layout
        return unsafe bytes.withUnsafeBytes { unsafe units.take(kept, head: UnsafeRawBufferPointer(start: nil, count: 0), $0) }
    }

    /// A unit of another stream has gone out.
    /// - Returns: whether it was kept.
    @discardableResult mutating func keep(_ unit: PassingUnit, _ muxer: TransportStreamMuxer, at presentation: MediaTime?)
        -> Bool
    {
        guard let presentation else { return false }
        follow(muxer)
        var kept = PastUnit(presentation: presentation, decode: presentation + -unit.reordering, time: .now())
        kept.stream = Int32(unit.stream)
        kept.layout = layout
        return unsafe units.take(kept, head: unit.header, unit.bytes)
    }

    /// Silence has gone out in place of sound.
    mutating func keep(
        silence bytes: UnsafeRawBufferPointer, _ stream: Int, _ muxer: TransportStreamMuxer, at presentation: MediaTime
    ) {
        follow(muxer)
        var kept = PastUnit(presentation: presentation, decode: presentation, time: .now())
        kept.stream = Int32(stream)
        kept.layout = layout
        _ = unsafe units.take(kept, head: UnsafeRawBufferPointer(start: nil, count: 0), bytes)
    }
}
