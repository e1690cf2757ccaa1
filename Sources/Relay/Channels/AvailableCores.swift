import Schedule
import Synchronization

/// Channel: the cores that other programs leave to this stream.
///
/// - Writer: the observer (the thread that calls ``Relay/run(observe:)``), every ``CoreShare/samplePeriod``.
/// - Reader: enhance, for a plan.
/// - Read together: both figures of ``Cores``; they share one word.
///
/// Thread-safe; one atomic.
final class AvailableCores: Sendable {
    private let bits: Atomic<UInt64>

    init(_ cores: Cores) { bits = Atomic(Self.bits(cores)) }

    var cores: Cores {
        get {
            let bits = bits.load(ordering: .relaxed)
            func half(_ bits: UInt64) -> Double { Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) }
            return Cores(dealt: half(bits), spare: half(bits >> 32))
        }
        set { bits.store(Self.bits(newValue), ordering: .relaxed) }
    }

    private static func bits(_ cores: Cores) -> UInt64 {
        UInt64(Float(cores.dealt).bitPattern) | UInt64(Float(cores.spare).bitPattern) << 32
    }
}
