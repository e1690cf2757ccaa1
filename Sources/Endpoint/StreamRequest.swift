/// What the stream ID of an SRT caller asks for.
///
/// SRT's guidelines for access control ("Stream ID", in Haivision's documentation of libsrt) define the form
/// `#!::r=name,m=publish,…`. Every other text is the name of a stream, or means nothing to us.
public enum StreamRequest: Hashable, Sendable {
    case plain(String)
    case keyed(Keys)
    /// Begins with `#!:` and goes on in a way that the guidelines do not allow, or with nested blocks, which nobody needs here.
    case malformed

    /// What a caller wants to do.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// To receive the stream; the default.
        case request
        /// To send it.
        case publish
        case bidirectional
    }

    /// The keys of the guidelines. Custom keys, which have longer names, are not kept.
    public struct Keys: Hashable, Sendable {
        /// `r`: the stream's name; empty when it is not given.
        public var resource = ""
        /// `m`; nil when it is not given, which means ``Mode/request``.
        public var mode: Mode?
        /// `u`
        public var user: String?
        /// `h`
        public var host: String?
        /// `s`
        public var session: String?
        /// `t`; nil means `stream`. Only streams are served here.
        public var type: String?

        public init() {}
    }

    /// libsrt's own limit.
    public static let mostBytes = 512

    /// Reads a stream ID as a caller sent it. Any text is allowed.
    public init(parsing text: String) {
        guard text.hasPrefix(Self.marker) else {
            self = .plain(text)
            return
        }
        if let keys = Keys(parsing: text.dropFirst(Self.marker.count)) { self = .keyed(keys) } else { self = .malformed }
    }

    private static let marker = "#!:"
}

extension StreamRequest.Keys {
    /// Reads `:key=value,key=value`. Commas cannot stand in a value, equals signs can.
    fileprivate init?(parsing text: Substring) {
        guard text.first == ":", text.utf8.count <= StreamRequest.mostBytes else { return nil }
        var seen: Set<Substring> = []
        for pair in text.dropFirst().split(separator: ",", omittingEmptySubsequences: false) {
            let (key, value) = pair.splitOnce(at: "=")
            guard let value, !key.isEmpty, !value.isEmpty, seen.insert(key).inserted else { return nil }
            switch key {
            case "r": resource = String(value)
            case "u": user = String(value)
            case "h": host = String(value)
            case "s": session = String(value)
            case "t": type = String(value)
            case "m":
                guard let mode = StreamRequest.Mode(rawValue: String(value)) else { return nil }
                self.mode = mode
            // The guidelines reserve the other single letters.
            default: guard key.utf8.count > 1 else { return nil }
            }
        }
    }
}
