import Glibc

/// Maps each format's measure of coarseness to H.264's luma quantiser, by the step that coefficients of an orthonormal
/// transform are rounded to: in H.264 it is 2^((QP - 4) / 6) (ITU-T H.264, table 8-15: `Qstep` 1 at 4, doubled every 6).
/// HEVC has the same scale (ITU-T H.265, 8.6.3).
public enum QuantiserScale {
    /// H.264's quantiser for a step.
    public static func quantiser(step: Float) -> Float { step > 0 ? min(max(4 + 6 * log2f(step), 0), 51) : 0 }

    /// MPEG-1 and MPEG-2: `quantiser_scale` (not its code), 1…112. A coefficient of weight 16 is rebuilt in steps of
    /// `quantiser_scale` (ITU-T H.262, 7.4.2.3), and the transform is orthonormal.
    public static func mpeg2(scale: Float) -> Float { quantiser(step: scale) }
}
