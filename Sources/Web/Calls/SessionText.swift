import Endpoint
import WorkerProtocol

/// What the interface checks of a session description before a worker sees it. Whether it can be answered is the worker's
/// decision.
enum SessionText {
    /// Media sections and lines of one offer. Browsers send a hundred lines for each section.
    static let mostLines = 2000

    /// Why this is no offer, or its ICE user name fragment.
    static func userFragment(of text: String) -> Result<String, Problem> {
        guard text.utf8.count <= Calls.largestDescription else {
            return .failure(Problem(.tooLarge, "an offer has at most \(Calls.largestDescription) bytes"))
        }
        let lines: [Substring]
        do throws(Problem) { lines = try self.lines(of: text) } catch { return .failure(error) }
        guard lines.first == "v=0" else {
            return .failure(Problem(.badRequest, "the body is not a session description (SDP): it begins with v=0"))
        }
        guard lines.contains(where: { $0.hasPrefix("m=") }) else {
            return .failure(Problem(.badRequest, "the offer has no media section (m=)"))
        }
        guard let fragment = lines.lazy.compactMap({ value(of: "a=ice-ufrag:", in: $0) }).first(where: isUserFragment) else {
            return .failure(Problem(.badRequest, "the offer has no a=ice-ufrag: it is not one of WebRTC"))
        }
        return .success(String(fragment))
    }

    /// The lines of a description or a fragment, with either kind of line end.
    static func lines(of text: String) throws(Problem) -> [Substring] {
        // A tab may stand in a line, and nothing else that controls.
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x0D || $0 == 0x0A || $0 == 0x09 }
        guard isPlain else { throw Problem(.badRequest, "the body has control characters in a line: it is no text (SDP)") }
        // Some senders write spaces at the ends of lines.
        let lines = text.split { $0 == "\r\n" || $0 == "\n" || $0 == "\r" }
            .compactMap { (line: Substring) -> Substring? in
                line.lastIndex { $0 != " " && $0 != "\t" }.map { line[...$0] }
            }
        guard lines.count <= mostLines else {
            throw Problem(.badRequest, "the body has \(lines.count) lines; \(mostLines) at most")
        }
        let longest = SessionDescription.Limit.lineBytes
        guard lines.allSatisfy({ $0.utf8.count <= longest }) else {
            throw Problem(.badRequest, "a line of the body is longer than \(longest) bytes")
        }
        return lines
    }

    static func value(of name: String, in line: Substring) -> Substring? {
        line.hasPrefix(name) ? line.dropFirst(name.count) : nil
    }

    /// 4 to 256 characters of ICE (RFC 8839, section 5.4).
    static func isUserFragment(_ text: Substring) -> Bool { isOfICE(text, 4...256) }
    /// 22 to 256 of them.
    static func isPassword(_ text: Substring) -> Bool { isOfICE(text, 22...256) }

    private static func isOfICE(_ text: Substring, _ lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }
}

/// A fragment of a session description, with which a peer tells its candidates or restarts its ICE session (RFC 8840,
/// `application/trickle-ice-sdpfrag`).
///
/// The candidates themselves are of no use here: a worker's endpoint is ICE-lite and answers where the peer's checks come from.
struct TrickleFragment: Hashable, Sendable {
    static let mostCandidates = 200

    /// Nil where the fragment has none.
    var userFragment: String?
    var password: String?
    var candidates = 0
    var isEnd = false

    init(_ text: String) throws(Problem) {
        for line in try SessionText.lines(of: text) {
            // Every line is of the form type=value; unknown ones are skipped.
            guard line.utf8.count > 2, line.dropFirst().first == "=", line.first?.isASCII == true else {
                throw Problem(.badRequest, "a line of the fragment is not of the form type=value")
            }
            if let value = SessionText.value(of: "a=ice-ufrag:", in: line) {
                try Self.take(value, "a=ice-ufrag", SessionText.isUserFragment, into: &userFragment)
            } else if let value = SessionText.value(of: "a=ice-pwd:", in: line) {
                try Self.take(value, "a=ice-pwd", SessionText.isPassword, into: &password)
            } else if line.hasPrefix("a=candidate:") {
                candidates += 1
            } else if line == "a=end-of-candidates" {
                isEnd = true
            }
        }
        guard candidates <= Self.mostCandidates else {
            throw Problem(.badRequest, "the fragment has more than \(Self.mostCandidates) candidates")
        }
        guard candidates > 0 || isEnd || userFragment != nil else {
            throw Problem(.badRequest, "the fragment has neither a candidate nor an end of them")
        }
    }

    /// Sections that share a transport say the same.
    private static func take(
        _ value: Substring, _ name: String, _ isOfICE: (Substring) -> Bool, into known: inout String?
    ) throws(Problem) {
        guard isOfICE(value) else { throw Problem(.badRequest, "\(name) has no value of ICE") }
        guard known == nil || known == String(value) else {
            throw Problem(.badRequest, "the fragment has two different values of \(name)")
        }
        known = String(value)
    }
}
