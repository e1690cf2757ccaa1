import Media
import Synchronization

/// Channel: how coarsely pictures are coded, before and after the enhancement.
///
/// - Writers: enhance (``input``), encode (``output``).
/// - Reader: the observer.
/// - Read together: nothing; both change slowly.
///
/// Thread-safe; one atomic each.
final class Coarseness: Sendable {
    private let came = Atomic<UInt32>(0)
    private let left = Atomic<UInt32>(0)

    /// The mean quantiser of the last pictures that came, in H.264's scale; nil while it is not known.
    var input: Float? {
        get { Self.value(came.load(ordering: .relaxed)) }
        set { came.store(newValue?.bitPattern ?? 0, ordering: .relaxed) }
    }

    /// That of the last pictures that the present encoder coded; nil until it has coded some.
    var output: Float? {
        get { Self.value(left.load(ordering: .relaxed)) }
        set { left.store(newValue?.bitPattern ?? 0, ordering: .relaxed) }
    }

    private static func value(_ bits: UInt32) -> Float? { bits == 0 ? nil : Float(bitPattern: bits) }
}
