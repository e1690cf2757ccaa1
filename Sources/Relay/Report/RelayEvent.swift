import Codec
import Media
import Packets

/// An event of a stream for the log. Its description is one line.
public enum RelayEvent: Sendable {
    case input(LegEvent)
    /// - Parameter number: the output's, from 1; nil where there is only one.
    case output(LegEvent, number: Int? = nil)
    /// The size of the pictures is known or has changed.
    case picture(input: PictureSize, output: PictureSize)
    /// A source is there, and nothing of it can be relayed.
    case unusableInput(String)
    /// Something of the source is missing, or nothing more is.
    case loss(String)
    /// A recording begins a file, or goes on.
    case recording(String)
    /// A recording lacks something.
    case recordingFailed(String)
    /// Any other event.
    case message(String)
}

extension RelayEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .input(let event): "input: \(event)"
        case .output(let event, let number): "output\(number.map { " \($0)" } ?? ""): \(event)"
        case .picture(let input, let output): "picture: \(input) → \(output)"
        case .unusableInput(let reason): "input: \(reason)"
        case .loss(let text): "input: \(text)"
        case .recording(let text), .recordingFailed(let text): "recording: \(text)"
        case .message(let text): text
        }
    }
}
