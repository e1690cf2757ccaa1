/// What a container cannot hold, and what to do about it.
public struct ContainerError: Error, Hashable, Sendable, CustomStringConvertible {
    public let message: String
    /// The part of this module that refused.
    public let place: String
    /// What the reader can do.
    public let advice: String

    init(_ message: String, place: String, advice: String) {
        self.message = message
        self.place = place
        self.advice = advice
    }

    public var description: String { "\(place): \(message); \(advice)" }
}
