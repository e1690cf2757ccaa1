/// A user name fragment and a password (RFC 8445, 5.3), as they stand in offers and answers.
public struct ICECredentials: Hashable, Sendable {
    public let userFragment: String
    public let password: String

    /// The lengths that RFC 8839 (5.4) allows; SDP that says otherwise is refused.
    public static let fragmentLengths = 4...256
    public static let passwordLengths = 22...256

    /// - Returns: nil for texts that are too short, too long, or have other than `ice-char`s.
    public init?(userFragment: some StringProtocol, password: some StringProtocol) {
        func isWritten(_ text: some StringProtocol, in lengths: ClosedRange<Int>) -> Bool {
            lengths.contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2b, 0x2f: true
                    default: false
                    }
                }
        }
        guard isWritten(userFragment, in: Self.fragmentLengths), isWritten(password, in: Self.passwordLengths) else {
            return nil
        }
        (self.userFragment, self.password) = (String(userFragment), String(password))
    }

    /// Our own fragments have this many characters, so that one is told from another by a number of eight bytes.
    static let fragmentLength = 8

    /// New ones: 48 random bits in the fragment, 144 in the password.
    public static func random(using generator: inout some RandomNumberGenerator) -> ICECredentials {
        func text(_ count: Int) -> String {
            String(decoding: (0..<count).map { _ in alphabet[Int(generator.next() & 63)] }, as: UTF8.self)
        }
        return ICECredentials(userFragment: text(fragmentLength), password: text(24))!
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

/// One of our user name fragments as a number, to find its peer without making a string.
struct FragmentKey: Hashable, Sendable {
    private var bytes: UInt64 = 0

    init(_ credentials: ICECredentials) {
        for byte in credentials.userFragment.utf8.prefix(ICECredentials.fragmentLength) { bytes = bytes << 8 | UInt64(byte) }
    }

    /// Reads the part before the colon of a request's user name, which is ours. nil when it cannot be one of ours.
    init?(username: Range<Int>, in message: Span<UInt8>) {
        let end = username.lowerBound + ICECredentials.fragmentLength
        guard end < username.upperBound, message[end] == UInt8(ascii: ":") else { return nil }
        for index in username.lowerBound..<end { bytes = bytes << 8 | UInt64(message[index]) }
    }
}
