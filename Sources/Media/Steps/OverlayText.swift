/// A line of text with times and figures in it.
///
/// `%H` and the like show the machine's clock as `strftime` does. Fields in braces show what is known of the picture: its stream's
/// name, how long ago it arrived, its number, and its time code. `%%`, `{{` and `}}` show one character.
public struct OverlayText: Hashable, Sendable {
    public enum Part: Hashable, Sendable {
        case literal(String)
        /// A letter of `strftime`.
        case clock(Character)
        case field(Field)
    }

    public enum Field: String, CaseIterable, Sendable {
        /// The stream's name, or that of a file.
        case stream
        /// Milliseconds since the picture's last byte arrived; nothing for files.
        case latency
        /// The number of the picture in frame records, or in a file, from 0. A synthesised one has that of the picture behind it.
        case frame
        /// The picture's time stamp in hours, minutes, seconds and milliseconds.
        case timecode
        /// Milliseconds of the machine's clock, three digits.
        case ms
    }

    public let text: String
    public let parts: [Part]

    /// No more characters fit.
    public static let longest = 200
    /// Letters of `strftime` that show something in one line.
    private static let clocks = Set("aAbBdeFHIjlmMpSTuyYzZ")

    /// What is wrong with a text, as the end of a sentence.
    public struct Fault: Error, Hashable, Sendable {
        public var text: String
    }

    /// - Throws: the first fault.
    public init(_ text: String) throws(Fault) {
        let scalars = text.unicodeScalars
        guard !text.isEmpty, scalars.count <= Self.longest else {
            throw Fault(text: "takes text of 1 to \(Self.longest) characters")
        }
        guard !scalars.contains(where: \.properties.generalCategory.breaksText) else {
            throw Fault(text: "takes text in one line, without control characters")
        }
        self.text = text
        parts = try Self.read(text[...])
    }

    private static func read(_ text: Substring) throws(Fault) -> [Part] {
        var parts: [Part] = []
        var literal = ""
        var rest = text
        func add(_ part: Part) {
            if !literal.isEmpty { parts.append(.literal(literal)) }
            literal = ""
            parts.append(part)
        }
        while let character = rest.popFirst() {
            switch character {
            case "%":
                guard let letter = rest.popFirst() else { throw Fault(text: "takes %% for a percent sign") }
                if letter == "%" {
                    literal.append("%")
                } else if clocks.contains(letter) {
                    add(.clock(letter))
                } else {
                    throw Fault(
                        text: "knows no %\(letter): it takes strftime's %H, %M, %S, %d, %m, %Y …, and %% for a percent sign")
                }
            case "{" where rest.first == "{", "}" where rest.first == "}": literal.append(rest.removeFirst())
            case "{":
                let name = rest.prefix { $0 != "}" }
                guard let field = Field(rawValue: String(name)), rest.count > name.count else {
                    let known = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
                    throw Fault(text: "knows \(known), not {\(name.prefix(20))")
                }
                rest = rest.dropFirst(name.count + 1)
                add(.field(field))
            case "}": throw Fault(text: "takes }} for a closing brace")
            default: literal.append(character)
            }
        }
        if !literal.isEmpty { parts.append(.literal(literal)) }
        return parts
    }

    public static func == (a: OverlayText, b: OverlayText) -> Bool { a.text == b.text }
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
