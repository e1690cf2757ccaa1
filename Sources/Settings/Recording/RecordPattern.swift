import Glibc

/// The path of a recording's files: `/srv/media/{stream}/%Y-%m-%d/%H%M%S.ts`.
///
/// `{stream}` is the stream's name; `%Y %m %d %H %M %S %j` are parts of the local time at which a file begins, as strftime writes them,
/// and `%s` is the Unix time. Where the name is taken, `-2`, `-3` … stands before the ending.
public struct RecordPattern: Hashable, Sendable {
    public enum Container: String, Sendable, CaseIterable { case ts, mp4 }

    /// Why a text is no pattern, as what follows the key.
    public struct Fault: Error, Hashable, Sendable {
        public var text: String
    }

    /// As somebody wrote it.
    public let text: String
    public let container: Container
    private let parts: [[Piece]]

    /// What stands in one part of the path.
    private enum Piece: Hashable, Sendable {
        case text(String)
        case stream
        case time(Character)
    }

    /// How many digits a part of the time has.
    private static let digits: [Character: ClosedRange<Int>] = [
        "Y": 4...4, "m": 2...2, "d": 2...2, "H": 2...2, "M": 2...2, "S": 2...2, "j": 3...3, "s": 1...12,
    ]
    private static let longest = 1024
    /// How many files may have the same time in their names.
    static let mostSame = 99

    public init(_ text: String) throws(Fault) {
        guard text.hasPrefix("/"), text.utf8.count <= Self.longest else {
            throw Fault(text: "is an absolute path, as /srv/media/{stream}/%Y-%m-%d/%H%M%S.ts, not \(text.excerpt)")
        }
        guard let container = Container.allCases.first(where: { text.hasSuffix("." + $0.rawValue) }) else {
            throw Fault(text: "ends in .ts or .mp4 (fragmented), which says what is written")
        }
        // A slash and an accent are one character here, and a slash for the system.
        guard text.utf8.count(where: { $0 == UInt8(ascii: "/") }) == text.count(where: { $0 == "/" }) else {
            throw Fault(text: "is written out plainly, without accents behind /")
        }
        var parts: [[Piece]] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard !part.isEmpty, part != ".", part != ".." else {
                throw Fault(text: "is written out plainly, without empty parts, . and ..")
            }
            parts.append(try Self.pieces(of: part))
        }
        guard parts.contains(where: { $0.contains { if case .time = $0 { true } else { false } } }) else {
            throw Fault(text: "needs the time in it, as %Y-%m-%d/%H%M%S, since each file begins another")
        }
        // So that no name can be read in many ways.
        guard parts.joined().count(where: { $0 == .time("s") }) <= 1 else { throw Fault(text: "has %s at most once") }
        guard parts.last?.first != .text("." + container.rawValue) else {
            throw Fault(text: "has no name before .\(container.rawValue)")
        }
        (self.text, self.container, self.parts) = (text, container, parts)
    }

    private static func pieces(of part: Substring) throws(Fault) -> [Piece] {
        var pieces: [Piece] = []
        var plain = ""
        var rest = part
        func flush() {
            if !plain.isEmpty { pieces.append(.text(plain)) }
            plain = ""
        }
        while let next = rest.popFirst() {
            if next == "%" {
                guard let letter = rest.popFirst(), digits[letter] != nil || letter == "%" else {
                    throw Fault(text: "knows %Y %m %d %H %M %S %j %s and %%, and no other %")
                }
                if letter == "%" {
                    plain.append("%")
                } else {
                    flush()
                    pieces.append(.time(letter))
                }
            } else if next == "{" {
                guard rest.hasPrefix("stream}") else { throw Fault(text: "knows {stream}, and no other { }") }
                rest = rest.dropFirst("stream}".count)
                flush()
                pieces.append(.stream)
            } else if next == "}" || next.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                throw Fault(text: "has a } or a control character too many")
            } else {
                plain.append(next)
            }
        }
        flush()
        return pieces
    }

    // MARK: Names

    /// The path of a file that begins then.
    /// - Parameters:
    ///   - time: seconds since 1970.
    ///   - copy: from 1; higher where the name is taken.
    public func path(stream: String, time: Int64, copy: Int = 1) -> String {
        let values = Self.local(time)
        let path = parts.map { part in
            "/"
                + part.map { piece in
                    switch piece {
                    case .text(let text): return text
                    case .stream: return stream
                    case .time(let letter):
                        let digits = "\(values[letter] ?? time)"
                        let least = Self.digits[letter]?.lowerBound ?? 1
                        return String(repeating: "0", count: max(0, least - digits.count)) + digits
                    }
                }.joined()
        }.joined()
        guard copy > 1 else { return path }
        let ending = "." + container.rawValue
        return path.dropLast(ending.count) + "-\(copy)" + ending
    }

    /// The parts of the local time.
    private static func local(_ time: Int64) -> [Character: Int64] {
        var clock = time_t(time)
        var broken = unsafe tm()
        _ = unsafe localtime_r(&clock, &broken)
        return unsafe [
            "Y": Int64(broken.tm_year) + 1900, "m": Int64(broken.tm_mon) + 1, "d": Int64(broken.tm_mday),
            "H": Int64(broken.tm_hour), "M": Int64(broken.tm_min), "S": Int64(broken.tm_sec), "j": Int64(broken.tm_yday) + 1,
        ]
    }

    /// The folder above everything whose name follows the time.
    public func root(stream: String) -> String {
        "/"
            + parts.dropLast().prefix { !Self.followsTime($0) }.map { part in
                part.map { piece in
                    switch piece {
                    case .text(let text): text
                    case .stream: stream
                    case .time: ""
                    }
                }.joined()
            }.joined(separator: "/")
    }

    /// How many folders lie between the ``root(stream:)`` and the files.
    public var depth: Int { parts.dropLast().count - parts.dropLast().prefix { !Self.followsTime($0) }.count }

    private static func followsTime(_ part: [Piece]) -> Bool {
        part.contains { if case .time = $0 { true } else { false } }
    }

    /// Whether a name below the ``root(stream:)`` may be one that the pattern gave.
    /// - Parameter level: 0 lies in the root; ``depth`` is a file.
    public func matches(_ name: String, level: Int, stream: String) -> Bool {
        let isFile = level == depth
        guard (0...depth).contains(level), let part = parts.dropLast(depth - level).last else { return false }
        let name = Array(name.utf8)
        if Self.matches(name[...], part[...], stream) { return true }
        guard isFile else { return false }
        // With the number of a copy before the ending.
        let ending = container.rawValue.utf8.count + 1
        guard name.count > ending, let hyphen = name.dropLast(ending).lastIndex(of: UInt8(ascii: "-")) else { return false }
        let digits = name[(hyphen + 1)..<(name.count - ending)]
        guard let copy = Int(String(decoding: digits, as: UTF8.self)), (2...Self.mostSame).contains(copy), digits.count <= 2
        else { return false }
        return Self.matches((name[..<hyphen] + name.suffix(ending))[...], part[...], stream)
    }

    private static func matches(_ name: ArraySlice<UInt8>, _ part: ArraySlice<Piece>, _ stream: String) -> Bool {
        guard let piece = part.first else { return name.isEmpty }
        let rest = part.dropFirst()
        switch piece {
        case .text(let text): return name.starts(with: text.utf8) && matches(name.dropFirst(text.utf8.count), rest, stream)
        case .stream: return name.starts(with: stream.utf8) && matches(name.dropFirst(stream.utf8.count), rest, stream)
        case .time(let letter):
            let counts = digits[letter] ?? 1...1
            let found = name.prefix { (0x30...0x39).contains($0) }.count
            guard found >= counts.lowerBound else { return false }
            for count in counts where count <= found {
                if matches(name.dropFirst(count), rest, stream) { return true }
            }
            return false
        }
    }
}
