import Glibc

/// How much the property tests try. By default as much as an unoptimised build does in seconds; with
/// `BURNISH_THOROUGH=1` in the environment (an optimised build, please) everything that docs/measurements/scheduler.md claims.
public enum Thoroughness {
    public static let isFull = getenv("BURNISH_THOROUGH") != nil

    /// Random scenarios for each property: 10,000, or as many as the variable says where it is more than 1.
    public static var scenarios: Int {
        guard isFull else { return 60 }
        let asked = unsafe getenv("BURNISH_THOROUGH").flatMap { unsafe Int(String(cString: $0)) } ?? 1
        return asked > 1 ? asked : 10_000
    }
}
