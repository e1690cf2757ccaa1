import Media

/// What a stream's output is made like: how much larger its pictures leave, and with which preset they are encoded; or that
/// they leave as they came.
public struct OutputChoice: Hashable, Sendable, BitwiseCopyable {
    public var size: OutputSize
    public var preset: EncoderPreset
    /// Pictures go out as they came.
    public var isBypass = false

    public init(size: OutputSize, preset: EncoderPreset, isBypass: Bool = false) {
        self.size = size
        self.preset = preset
        self.isBypass = isBypass
    }
}
