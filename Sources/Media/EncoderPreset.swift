/// libx264's presets that a live stream may use, fastest first.
public enum EncoderPreset: String, CaseIterable, Sendable {
    case ultrafast, superfast, veryfast, faster, medium, slow
}
