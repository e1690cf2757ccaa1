import Bitstream
import Container

/// Reads of a unit at which a decoder can begin what kind of entry point it is.
///
/// A value, confined to its owner. Allocates only where a sequence parameter set is new.
struct EntryPoints {
    private var detector = FrameNumberGapDetector()

    mutating func read(_ unit: StreamUnit) -> PathSwitch.EntryPoint {
        let summary = unsafe AccessUnitSummary(unit.bytes, &detector)
        return PathSwitch.EntryPoint(isRefresh: summary.isRefresh, recovery: summary.recoveryFrameCount ?? 0)
    }
}
