import Media

/// What a viewer gains by an enhanced picture over their own scaler's, by how coarsely the picture was coded before and is coded
/// after the enhancement.
///
/// The networks bring some points, and the second encode takes some: the more, the coarser it is beside the first one, and a step that is
/// coarse already takes more than a fine one. A fit of clips at several rates, presets and limits tells both (docs/measurements/bits.md).
public enum ViewerGain {
    /// - Parameters:
    ///   - input: the mean quantiser of the pictures that come, in H.264's scale.
    ///   - output: that of those that leave, coded by libx264.
    ///   - preset: with which they are coded.
    ///   - tier: of the networks that refine them.
    ///   - size: at which they leave. Smaller ones than doubled keep less of what networks bring.
    /// - Returns: points of VMAF NEG. Less than zero: pictures that pass untouched look better at the receiver. Nil without networks,
    ///   where nobody counts on a gain.
    public static func expected(input: Float, output: Float, preset: EncoderPreset, tier: Tier, size: OutputSize = .double)
        -> Float?
    {
        let brought: Float
        switch tier {
        case .base: return nil
        case .neuralS: brought = 9.9
        case .neuralM: brought = 11.2
        case .quality: brought = 12.1
        }
        // Where coefficients are chosen, and more where no block is skipped by a guess, the same quantiser codes better.
        let chosen: Float = preset == .careful ? 4 : preset > .ultrafast ? 1.7 : 0
        let lost = max(0, 0.055 * input - 0.34) * (output - input)
        return brought + chosen - (size == .oneAndHalf ? 0.27 : 0.18) * input - lost
    }
}
