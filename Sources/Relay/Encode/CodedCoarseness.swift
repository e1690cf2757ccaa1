/// The mean quantiser of the last pictures of an encoder.
///
/// A pure value; allocates nothing.
struct CodedCoarseness {
    /// Quantisers differ between pictures, so many count together.
    private static let memory: Float = 32
    private var mean: Float = 0
    private var pictures: Float = 0

    init() {}

    /// - Returns: the mean, once enough pictures have been coded.
    mutating func observe(_ quantiser: Float) -> Float? {
        pictures = min(pictures + 1, Self.memory)
        mean += (quantiser - mean) / pictures
        return pictures < Self.memory ? nil : mean
    }
}
