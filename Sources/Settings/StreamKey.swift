import Media

/// One setting of a stream: its name, what it means, and how it is read from text and written as text.
///
/// In ``help`` and in faults, the name of another key stands between backticks. The command line shows it as an option.
public struct StreamKey: Sendable {
    /// Whether a setting may change while the stream runs.
    public enum Change: String, Sendable, CaseIterable {
        /// Between two frames.
        case live
        /// By a restart of the stream.
        case restart
    }

    /// What kind of value it is, for controls and schemas.
    public enum Kind: Hashable, Sendable {
        case choice([String])
        case integer(ClosedRange<Int>)
        case number(ClosedRange<Double>)
        case time
        case bitRate
        case factor
        case frameRate
        case size
        /// Anything else, with an example that is not the default.
        case text(example: String)
    }

    /// The name in configuration files and in the API. The command line's option is the same with `--`.
    public let name: String
    /// One line.
    public let help: String
    public let kind: Kind
    /// Which values are allowed: "1 or 2".
    public let allowed: String
    /// The text for "no value of its own", where there is such: `auto`.
    public let absent: String?
    public let change: Change
    /// The text that `burnish relay` begins with, where that is not the default.
    public let onCommandLine: String?
    private let parse: @Sendable (String, inout StreamValues) -> Bool
    private let isAllowed: @Sendable (StreamValues) -> Bool
    private let show: @Sendable (StreamValues) -> String
    /// What is wrong with a text that cannot be read, where more can be said than what is allowed.
    var complaint: @Sendable (String) -> String? = { _ in nil }

    /// The default as text.
    public var defaultText: String { write(StreamValues()) }
    /// Which texts are allowed: "2.5M, 800k …, or auto".
    public var allowedTexts: String { allowed + (absent.map { ", or \($0)" } ?? "") }

    /// Reads text into `values`.
    public func read(_ text: String, _ values: inout StreamValues) throws(SettingFault) {
        var new = values
        guard parse(text, &new), isAllowed(new) else {
            throw SettingFault(name, complaint(text) ?? "is \(allowedTexts), not \(text.excerpt)")
        }
        values = new
    }

    /// Writes the value as text that ``read(_:_:)`` accepts.
    public func write(_ values: StreamValues) -> String { show(values) }

    /// Returns the value to its default.
    public func reset(_ values: inout StreamValues) {
        let isRead = parse(defaultText, &values)
        assert(isRead, "the default of \(name) cannot be read")
    }

    /// A fault if the value is outside of its limits.
    public func fault(in values: StreamValues) -> SettingFault? {
        isAllowed(values) ? nil : SettingFault(name, "is \(allowed), not \(write(values))")
    }
}

extension StreamKey {
    typealias Path<Value> = any WritableKeyPath<StreamValues, Value> & Sendable

    /// A value that always has one.
    init<Value>(
        _ name: String, _ path: Path<Value>, _ change: Change, _ kind: Kind, _ allowed: String, onCommandLine: String? = nil,
        help: String, read: @escaping @Sendable (String) -> Value?, write: @escaping @Sendable (Value) -> String,
        isAllowed: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) {
        self.init(
            name: name, help: help, kind: kind, allowed: allowed, absent: nil, change: change, onCommandLine: onCommandLine,
            parse: { text, values in
                guard let value = read(text) else { return false }
                values[keyPath: path] = value
                return true
            },
            isAllowed: { isAllowed($0[keyPath: path]) }, show: { write($0[keyPath: path]) })
    }

    /// A value that may be left to Burnish.
    init<Value>(
        _ name: String, _ path: Path<Value?>, or absent: String, _ change: Change, _ kind: Kind, _ allowed: String,
        help: String, read: @escaping @Sendable (String) -> Value?, write: @escaping @Sendable (Value) -> String,
        isAllowed: @escaping @Sendable (Value) -> Bool = { _ in true },
        complaint: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        self.init(
            name: name, help: help, kind: kind, allowed: allowed, absent: absent, change: change, onCommandLine: nil,
            parse: { text, values in
                let value = text == absent ? nil : read(text)
                guard value != nil || text == absent else { return false }
                values[keyPath: path] = value
                return true
            },
            isAllowed: { $0[keyPath: path].map(isAllowed) ?? true },
            show: { $0[keyPath: path].map(write) ?? absent })
        self.complaint = complaint
    }

    static func integer(
        _ name: String, _ path: Path<Int>, _ range: ClosedRange<Int>, _ change: Change, help: String
    ) -> StreamKey {
        StreamKey(
            name, path, change, .integer(range),
            range.count == 2 ? "\(range.lowerBound) or \(range.upperBound)" : "\(range.lowerBound) to \(range.upperBound)",
            help: help, read: { Int($0) }, write: { "\($0)" }, isAllowed: { range.contains($0) })
    }

    static func number(
        _ name: String, _ path: Path<Double>, _ range: ClosedRange<Double>, _ change: Change, help: String
    ) -> StreamKey {
        @Sendable func text(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }
        return StreamKey(
            name, path, change, .number(range), "\(text(range.lowerBound)) to \(text(range.upperBound))", help: help,
            read: { Double($0) }, write: text, isAllowed: { range.contains($0) })
    }

    static func choice<Value: Equatable & Sendable>(
        _ name: String, _ path: Path<Value>, _ choices: [(String, Value)], _ change: Change, onCommandLine: String? = nil,
        help: String
    ) -> StreamKey {
        let names = choices.map(\.0)
        return StreamKey(
            name, path, change, .choice(names), names.dropLast().joined(separator: ", ") + " or " + names.last!,
            onCommandLine: onCommandLine, help: help,
            read: { text in choices.first { $0.0 == text }?.1 },
            // The last name of a value is its own. Those before it are other names, such as `auto`.
            write: { value in choices.last { $0.1 == value }!.0 })
    }
}

extension String {
    /// At most 40 characters of what somebody wrote, in one line.
    package var excerpt: String {
        guard !isEmpty else { return "nothing" }
        let line = String(
            map { $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 })
        return line.count > 40 ? line.prefix(40) + "…" : line
    }
}
