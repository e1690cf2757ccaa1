import Glibc

/// How much the property tests try. By default as much as an unoptimised build does in seconds; with
/// `BURNISH_THOROUGH=1` in the environment (an optimised build, please) everything that docs/scheduler.md claims.
enum Thoroughness {
    static let isFull = getenv("BURNISH_THOROUGH") != nil

    /// Random scenarios for each property.
    static var scenarios: Int { isFull ? 10_000 : 60 }
}
