import Media
import Synchronization

/// Channel: how many bits a second the video may have, by what the input has and by what the outputs' links carry.
///
/// - Writers: encode (``ceiling``), the observer (``carried``), ingest (``input``).
/// - Readers: the observer, encode.
/// - Read together: nothing.
///
/// Thread-safe; one atomic each.
final class OutputRate: Sendable {
    private let most = Atomic<Int>(0)
    private let links = Atomic<Int>(.max)
    private let calls = Atomic<Int>(.max)
    private let came = Atomic<Int>(0)

    /// What the input's video has; 0 while it is not known.
    var input: Int {
        get { came.load(ordering: .relaxed) }
        set { came.store(newValue, ordering: .relaxed) }
    }

    /// What the operator allows, or what follows from size and rate; 0 before the first encoder.
    var ceiling: Int {
        get { most.load(ordering: .relaxed) }
        set { most.store(newValue, ordering: .relaxed) }
    }

    /// What the links carry; the largest number where the rate does not follow them. With what calls can take.
    var carried: Int {
        get { min(links.load(ordering: .relaxed), calls.load(ordering: .relaxed)) }
        set { links.store(newValue, ordering: .relaxed) }
    }

    /// What the receivers of calls can take; the largest number where the rate does not follow them.
    var carriedByCalls: Int {
        get { calls.load(ordering: .relaxed) }
        set { calls.store(newValue, ordering: .relaxed) }
    }
}
