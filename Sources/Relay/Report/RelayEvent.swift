import Codec
import Media
import Transport

/// Something that happened to a stream, for people to read: one line each.
public enum RelayEvent: Sendable {
    case input(LegEvent)
    case output(LegEvent)
    case picture(input: PictureSize, output: PictureSize)
    case message(String)
}

extension RelayEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .input(let event): "input: \(event)"
        case .output(let event): "output: \(event)"
        case .picture(let input, let output): "picture: \(input) → \(output)"
        case .message(let text): text
        }
    }
}
