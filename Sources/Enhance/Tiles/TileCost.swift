import Media

/// An estimate of what one input sample costs a thread, learnt from measurements. It rises quickly and falls slowly,
/// because a late frame costs more than a tile that is left out.
struct TileCost: Sendable, BitwiseCopyable {
    /// Nanoseconds a sample.
    private(set) var perSample: Double

    /// - Parameter guess: nanoseconds a sample, until the first measurement.
    init(guess: Double) { perSample = guess }

    func time(samples: Int) -> Nanoseconds { Nanoseconds(Int64(perSample * Double(samples))) }

    mutating func learn(_ time: Nanoseconds, samples: Int) {
        guard samples > 0 else { return }
        let measured = Double(time.count) / Double(samples)
        perSample += (measured - perSample) * (measured > perSample ? 0.5 : 0.2)
    }

    /// Lowers the estimate. Call it when there was time, but by this estimate not for a single tile, so that nothing
    /// was measured. Otherwise one bad measurement could prevent all later ones.
    mutating func doubt() { perSample *= 0.9 }
}
