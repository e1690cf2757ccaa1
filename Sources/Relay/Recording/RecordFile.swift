import Media
import Settings

/// A file of a recording that somebody has opened.
@safe public struct RecordFile: Sendable {
    /// Writes bytes at a place of the file.
    /// - Returns: why that cannot be done; nil when it was.
    public typealias Writing = @Sendable (UnsafeRawBufferPointer, _ place: Int64) -> String?

    public let path: String
    let write: Writing

    public init(path: String, write: @escaping Writing) {
        self.path = path
        unsafe self.write = unsafe write
    }
}

/// Why a file of a recording cannot be had, as one line.
public struct RecordFault: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Opens the next file of a recording. It may take seconds.
public typealias RecordOpening = @Sendable (RecordSettings) -> Result<RecordFile, RecordFault>
