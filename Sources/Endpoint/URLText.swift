// The pieces of URL syntax (RFC 3986) that stream URLs need.

extension StringProtocol {
    /// What is before the first `separator`, and what is after it (nil when there is none).
    func splitOnce(at separator: Character) -> (SubSequence, SubSequence?) {
        guard let index = firstIndex(of: separator) else { return (self[...], nil) }
        return (self[..<index], self[self.index(after: index)...])
    }
}

extension String {
    func firstIndex(ofSequence pattern: String) -> Index? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(pattern) { return start }
            start = index(after: start)
        }
        return nil
    }
}

/// Replaces `%41` and the like; nil when an escape is cut short, is not hexadecimal, or the result is not UTF-8.
func percentDecoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        guard let high = rest.popFirst().flatMap(hexadecimalValue), let low = rest.popFirst().flatMap(hexadecimalValue),
            high | low != 0
        else { return nil }
        bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
}

private func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Bits a second as a key has them: `2.5M` or `800k`, from 1 kb/s to 1 Gb/s. They are rounded to whole kilobits.
func bitRate(_ text: Substring) -> Int? {
    let scales: [Character: Double] = ["k": 1, "M": 1000]
    guard let last = text.last, let scale = scales[last], let number = Double(text.dropLast()),
        (1...1e6).contains((number * scale).rounded())
    else { return nil }
    return Int((number * scale).rounded()) * 1000
}

/// Writes bits a second so that ``bitRate(_:)`` gives them again.
func bitRateText(_ rate: Int) -> String { rate % 1_000_000 == 0 ? "\(rate / 1_000_000)M" : "\(rate / 1000)k" }

/// `host:port`, `[v6]:port` or `:port`.
package func hostAndPort(_ authority: Substring, scheme: String) throws(TransportError) -> (host: String, port: UInt16) {
    func fault(_ message: String) -> TransportError { TransportError(.badURL, place: "\(scheme)://", message) }
    let authority = authority.last == "/" ? authority.dropLast() : authority
    guard !authority.contains("@") else { throw fault("user names in the URL are not supported") }
    let host: Substring
    let port: Substring?
    if authority.first == "[" {
        guard let close = authority.firstIndex(of: "]") else { throw fault("the [ before the IPv6 address has no ]") }
        host = authority[authority.index(after: authority.startIndex)..<close]
        let after = authority[authority.index(after: close)...]
        guard after.isEmpty || after.first == ":" else { throw fault("expected :port after ]") }
        port = after.isEmpty ? nil : after.dropFirst()
    } else {
        guard authority.count(where: { $0 == ":" }) < 2 else {
            throw fault("an IPv6 address needs brackets: \(scheme)://[::1]:9000")
        }
        (host, port) = authority.splitOnce(at: ":")
    }
    guard host.utf8.count <= 253, host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) || ".-_:%".contains($0) }) else {
        throw fault("\(quoted(host)) is not a host name or address")
    }
    guard let port, !port.isEmpty else { throw fault("the port is missing: \(scheme)://host:9000") }
    guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port) else {
        throw fault("\(quoted(port)) is not a port; give 1 to 65535")
    }
    return (String(host), number)
}

package func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

/// A piece of a URL for an error message: one line, not endless. Nothing from the first `?`, `&` or `=` on is shown, because a
/// passphrase may stand there in a URL that is not written as it should be.
package func quoted(_ text: some StringProtocol) -> String { quoted(text) { !"?&=".contains($0) } }

/// A key of a URL for an error message. Nothing after its letters is shown, for the same reason.
func quotedKey(_ key: some StringProtocol) -> String { quoted(key) { $0.isASCII && $0.isLetter || "_-".contains($0) } }

private func quoted(_ text: some StringProtocol, while isShown: (Character) -> Bool) -> String {
    let shown = text.prefix(while: isShown).prefix(40)
    return "'\(oneLine(String(shown)))\(shown.endIndex < text.endIndex ? "…" : "")'"
}

/// Text without the characters that would break a line.
package func oneLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory.breaksLines ? "?" : $0 }))
}

extension Unicode.GeneralCategory {
    fileprivate var breaksLines: Bool { [.control, .lineSeparator, .paragraphSeparator].contains(self) }
}
