import FoundationEssentials

/// What is to be made later of a file of coded units: words of the service that stand behind what the worker wrote there.
public struct DeferredJob: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable { case still, clip }

    public var kind: Kind
    public var stream: String
    /// Of the still or clip.
    public var number: Int
    /// The stream's settings when it was asked for, as text with units, as far as they are not the defaults.
    public var settings: [String: String]
    /// When it was asked for, in seconds since 1970.
    public var time: Double
    /// What a clip is written as.
    public var format: String?

    public init(_ kind: Kind, stream: String, number: Int, settings: [String: String], time: Double) {
        (self.kind, self.stream, self.number) = (kind, stream, number)
        (self.settings, self.time) = (settings, time)
    }

    private static let magic = Array("BRNJOB01".utf8)
    /// The words' length and the magic number come last.
    private static let endCount = 16
    private static let mostWords = 1 << 20

    /// The bytes that belong at the end of the file.
    public var trailer: [UInt8] {
        let words = (try? JSONEncoder().encode(self)) ?? Data()
        let count = UInt64(words.count)
        return Array(words) + (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + Self.magic
    }

    /// Reads the end of a file.
    /// - Returns: the job, and how many bytes stand before it; nil where the file is not whole.
    public static func read(_ file: [UInt8]) -> (job: DeferredJob, contents: Int)? {
        guard file.count >= endCount, file.suffix(8).elementsEqual(magic) else { return nil }
        let start = file.count - endCount
        let count = (0..<8).reduce(UInt64(0)) { $0 | UInt64(file[start + $1]) << UInt64(8 * $1) }
        guard count <= UInt64(min(start, mostWords)) else { return nil }
        let contents = start - Int(count)
        guard let job = try? JSONDecoder().decode(Self.self, from: Data(file[contents..<start])) else { return nil }
        return (job, contents)
    }
}
