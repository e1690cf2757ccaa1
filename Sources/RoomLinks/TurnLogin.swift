import FoundationEssentials

/// What a peer shows a TURN server that shares a secret with this service: a name with a time in it, and its code by HMAC-SHA-1
/// (draft-uberti-behave-turn-rest, 2.2; coturn's `use-auth-secret`).
public struct TurnLogin: Hashable, Sendable {
    public var user: String
    public var password: String

    /// The server lets the peer in for so long.
    public static let seconds = 86_400.0

    /// - Parameter now: seconds since 1970.
    public init(secret: String, now: Double) {
        user = "\(Int64(now + Self.seconds)):burnish"
        password = Data(HMAC.shortCode(of: Array(user.utf8), key: Array(secret.utf8))).base64EncodedString()
    }
}
