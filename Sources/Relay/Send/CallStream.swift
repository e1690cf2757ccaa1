import Codec
import Container

/// The stream of a program's sound that calls get. Calls take Opus, and one stream of sound.
struct CallStream: Hashable, Sendable {
    /// How a stream of sound becomes what calls take.
    enum Form: Hashable, Sendable {
        /// It is Opus, and goes out as it came.
        case opus
        /// It is transcoded from this format.
        case transcoded(SoundCodec)

        /// - Returns: nil for what is no sound.
        fileprivate init?(_ codec: StreamCodec) {
            switch codec {
            case .opus: self = .opus
            case .aacADTS: self = .transcoded(.aacADTS)
            case .aacLATM: self = .transcoded(.aacLATM)
            case .mpegAudio: self = .transcoded(.mpegAudio)
            case .ac3: self = .transcoded(.ac3)
            case .eac3: self = .transcoded(.eac3)
            case .dts: self = .transcoded(.dts)
            default: return nil
            }
        }
    }

    /// Its place among the passing streams.
    let index: Int
    let form: Form

    /// Chooses Opus where the program has it, else the first stream of sound.
    /// - Returns: nil where the program has no sound.
    init?(of layout: TransportStreamLayout) {
        let forms = layout.passedStreams.map { Form($0.codec) }
        guard let index = forms.firstIndex(of: .opus) ?? forms.firstIndex(where: { $0 != nil }), let form = forms[index] else {
            return nil
        }
        self.index = index
        self.form = form
    }

    /// - Returns: nil for what is no sound.
    init?(_ stream: TransportStreamLayout.PassedStream, index: Int) {
        guard let form = Form(stream.codec) else { return nil }
        self.index = index
        self.form = form
    }
}
