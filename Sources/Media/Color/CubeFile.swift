/// A `.cube` file that somebody names, with its table once that has been read.
public struct CubeFile: Hashable, Sendable {
    public let path: String
    /// Nil before the file has been read. Then it changes nothing.
    public var table: CubeTable?

    /// - Returns: nil where the path is none of a `.cube` file.
    public init?(path: String) {
        guard path.utf8.count <= 4096, path.lowercased().hasSuffix(".cube"),
            !path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        self.path = path
    }

    /// Two are the same where one reading of the file has given both.
    public static func == (a: CubeFile, b: CubeFile) -> Bool { a.path == b.path && a.table === b.table }
    public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
