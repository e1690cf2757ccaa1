import Media

/// What one input sample costs a thread, learnt from what was done: quick to rise, slower to fall, since a frame that is
/// late costs more than a tile that is left out.
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

    /// There was time, but not for a single tile by this estimate, so nothing was measured. Without this, one bad
    /// measurement could forbid every later one.
    mutating func doubt() { perSample *= 0.9 }
}
