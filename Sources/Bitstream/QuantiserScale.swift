import Glibc

/// Maps each format's measure of coarseness to H.264's luma quantiser, by the step that coefficients of an orthonormal
/// transform are rounded to: in H.264 it is 2^((QP - 4) / 6) (ITU-T H.264, 8.5.9: doubled every 6).
/// HEVC has the same scale (ITU-T H.265, 8.6.3).
public enum QuantiserScale {
    /// H.264's quantiser for a step.
    public static func quantiser(step: Float) -> Float { step > 0 ? min(max(4 + 6 * log2f(step), 0), 51) : 0 }

    /// MPEG-1 and MPEG-2: `quantiser_scale` (not its code), 1…112. A coefficient of weight 16 is rebuilt in steps of
    /// `quantiser_scale` (ITU-T H.262, 7.4.2.3), and the transform is orthonormal.
    public static func mpeg2(scale: Float) -> Float { quantiser(step: scale) }

    /// VP9 and AV1: `base_q_idx`, 0…255. The index chooses the step of AC coefficients (VP9, 8.6.1; AV1, 7.12.2; of 8 bits),
    /// whose transforms are 8 times larger than orthonormal ones.
    public static func vp9(index: Int) -> Float { quantiser(step: vp9Steps[min(max(index, 0), 255)] / 8) }

    /// VP8: `y_ac_qi`, 0…127. The index chooses the step of AC coefficients (RFC 6386, 14.1), whose transform is twice as large as
    /// an orthonormal one (14.4).
    public static func vp8(index: Int) -> Float { quantiser(step: vp8Steps[min(max(index, 0), 127)] / 2) }

    private static let vp9Steps: [Float] = [
        4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36,
        37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66,
        67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96,
        97, 98, 99, 100, 101, 102, 104, 106, 108, 110, 112, 114, 116, 118, 120, 122, 124, 126, 128, 130, 132, 134, 136, 138,
        140, 142, 144, 146, 148, 150, 152, 155, 158, 161, 164, 167, 170, 173, 176, 179, 182, 185, 188, 191, 194, 197, 200, 203,
        207, 211, 215, 219, 223, 227, 231, 235, 239, 243, 247, 251, 255, 260, 265, 270, 275, 280, 285, 290, 295, 300, 305, 311,
        317, 323, 329, 335, 341, 347, 353, 359, 366, 373, 380, 387, 394, 401, 408, 416, 424, 432, 440, 448, 456, 465, 474, 483,
        492, 501, 510, 520, 530, 540, 550, 560, 571, 582, 593, 604, 615, 627, 639, 651, 663, 676, 689, 702, 715, 729, 743, 757,
        771, 786, 801, 816, 832, 848, 864, 881, 898, 915, 933, 951, 969, 988, 1007, 1026, 1046, 1066, 1087, 1108, 1129, 1151,
        1173, 1196, 1219, 1243, 1267, 1292, 1317, 1343, 1369, 1396, 1423, 1451, 1479, 1508, 1537, 1567, 1597, 1628, 1660, 1692,
        1725, 1759, 1793, 1828,
    ]

    private static let vp8Steps: [Float] = [
        4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34,
        35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 60, 62, 64, 66, 68, 70,
        72, 74, 76, 78, 80, 82, 84, 86, 88, 90, 92, 94, 96, 98, 100, 102, 104, 106, 108, 110, 112, 114, 116, 119, 122, 125,
        128, 131, 134, 137, 140, 143, 146, 149, 152, 155, 158, 161, 164, 167, 170, 173, 177, 181, 185, 189, 193, 197, 201, 205,
        209, 213, 217, 221, 225, 229, 234, 239, 245, 249, 254, 259, 264, 269, 274, 279, 284,
    ]
}
