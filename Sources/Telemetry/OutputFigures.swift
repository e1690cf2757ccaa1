import Media

/// What one output of a stream has done, and what it does.
public struct OutputFigures: Sendable {
    public enum State: UInt8, Sendable, CaseIterable {
        /// Nobody receives it now.
        case waiting
        case connected
        /// A file or pipe that cannot be written any more.
        case broken

        public var name: String { "\(self)" }
    }

    public var state = State.waiting
    /// How many receive it now.
    public var receivers: Int64 = 0
    public var books = OutputBooks()
    public var leg = LegFigures()

    public init() {}
}
