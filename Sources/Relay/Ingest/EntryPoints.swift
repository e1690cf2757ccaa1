import Bitstream
import Container

/// Reads of a unit at which a decoder can begin what kind of entry point it is.
///
/// A value, confined to its owner. Allocates only where a sequence parameter set is new.
struct EntryPoints {
    private var codec = VideoCodec.h264
    private var reader = VideoCodec.h264.makeUnitReader()

    mutating func read(_ unit: StreamUnit) -> PathSwitch.EntryPoint {
        if let codec = unit.codec, codec != self.codec {
            self.codec = codec
            reader = codec.makeUnitReader()
        }
        let summary = unsafe reader.read(unit.bytes)
        return PathSwitch.EntryPoint(isRefresh: summary.isRefresh, recovery: summary.recoveryFrameCount ?? 0)
    }
}
