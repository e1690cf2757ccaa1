/// Why the headers of a coded stream cannot be read. Nothing is allocated for a size before it is found plausible.
public enum BitstreamFault: Error, Hashable, Sendable {
    case notAParameterSet
    /// The header ends before its syntax does, or holds an impossible code.
    case truncated
    /// A field is out of the range that the standard gives it.
    case invalid(field: String)
    /// The picture is empty after cropping, or larger than any level allows.
    case absurdSize(width: Int, height: Int)
}
