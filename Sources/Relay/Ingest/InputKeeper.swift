import Bitstream
import Codec
import Container
import Media
import Telemetry

/// Keeps the coded pictures that come in, for stills of the past.
///
/// Confined to the ingest thread. Allocates where parameter sets need more room than before.
final class InputKeeper {
    private let ring: PastRing
    private var sets: [UInt8] = []
    /// What the input's RTP time stamps have more than presentation times; nil where pictures have none.
    var stampBase: UInt32?

    init(_ ring: PastRing) { self.ring = ring }

    /// - Parameters:
    ///   - decode: when it is to be decoded, on the output's time line.
    ///   - flags: what the decoder gets.
    func keep(_ unit: StreamUnit, _ record: FrameRecord, decode: MediaTime, arrival: MonotonicTime, _ flags: UnitFlags) {
        guard let codec = unit.codec else { return }
        var kept = PastUnit(presentation: record.presentation, decode: decode, time: arrival)
        kept.frame = record.id
        kept.codec = codec
        kept.flags = flags
        kept.isEntry = unit.isStart && !unit.isDamaged
        // The mask comes later: the ring is closed while there is one.
        kept.maskNumber = .max
        if let stampBase, let presentation = unit.presentation {
            kept.rtp = stampBase &+ UInt32(truncatingIfNeeded: presentation.ticks)
        }
        sets.removeAll(keepingCapacity: true)
        // Those that came elsewhere than in the entry point, too.
        if kept.isEntry { unit.parameterSets?.copy(to: &sets) }
        unsafe sets.withUnsafeBytes { unsafe ring.keep(kept, head: $0, unit.bytes) }
    }
}
