import Media
import Synchronization

/// Channel: since when the encoder has been at work on a picture.
///
/// - Writer: encode.
/// - Reader: enhance, for a plan.
///
/// Thread-safe; one atomic.
final class EncoderActivity: Sendable {
    private let since = Atomic<Int64>(0)

    /// Nil while the encoder is idle.
    var busySince: MonotonicTime? {
        get {
            let since = since.load(ordering: .relaxed)
            return since == 0 ? nil : MonotonicTime(nanoseconds: since)
        }
        set { since.store(newValue?.nanoseconds ?? 0, ordering: .relaxed) }
    }
}
