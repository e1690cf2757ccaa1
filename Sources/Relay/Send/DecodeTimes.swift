import Media
import Telemetry

/// Keeps the decode times of an output strictly increasing where it changes between the encoder's units and the source's own.
///
/// The encoder's pictures are decoded when they are shown. A source with reordering wants its pictures decoded some intervals
/// before. So the first units of a bypass come with decode times that are gone already. They move to just behind the newest one,
/// which leaves each no later than the time at which it is shown.
///
/// A pure value.
struct DecodeTimes {
    private var last: MediaTime?

    mutating func settle(_ unit: inout CodedUnit) {
        if unit.fate == .bypassed {
            if let last, unit.decode <= last { unit.decode = last + 1 }
            // Only where the pictures before it were shown later than the source said.
            unit.presentation = max(unit.presentation, unit.decode)
        }
        last = last.map { max($0, unit.decode) } ?? unit.decode
    }
}
