import CHMAC
import FoundationEssentials

/// A link that lets whoever has it into a room: a JSON Web Token (RFC 7519) in its compact form, signed with HMAC-SHA-256 (HS256; RFC
/// 7518, 3.2). Every library that makes such tokens can make one.
///
/// HS256 is the only algorithm, whatever a token says, so that nobody chooses one for us (`alg: none`; RFC 8725, 3.1).
public struct RoomLink: Hashable, Sendable {
    public var room: String
    /// What the others see of the guest; empty where the link leaves it to them.
    public var name: String
    /// Whether the guest may send pictures and sound. Everybody may watch.
    public var publishes: Bool
    /// Whether the guest may remove others.
    public var isHost: Bool
    /// Until when it lets somebody in, in seconds since 1970.
    public var expires: Double
    /// Tells this link from all others: its signature. Empty for one that is not signed yet.
    public var id = ""

    /// The most bytes of a token.
    public static let longest = 2048
    /// The most bytes of a name.
    public static let longestName = 128
    /// The fewest bytes of a key (RFC 7518, 3.2).
    public static let shortestKey = 32

    public init(room: String, name: String = "", publishes: Bool = true, isHost: Bool = false, expires: Double) {
        self.room = room
        self.name = name
        self.publishes = publishes
        self.isHost = isHost
        self.expires = expires
    }

    /// Why a token lets nobody in: one sentence.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String
    }

    /// Reads a token and checks its signature.
    /// - Parameters:
    ///   - room: the room that somebody wants to enter.
    ///   - now: seconds since 1970.
    public init(token: String, key: String, room: String, now: Double) throws(Fault) {
        guard token.utf8.count <= Self.longest else { throw Fault(description: "the link is too long") }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw Fault(description: "the link is no signed link (JWT): copy all of it") }
        // Nothing of it is read before.
        let signed = parts[0].utf8.count + 1 + parts[1].utf8.count
        guard HMAC.isEqual(HMAC.code(of: Array(token.utf8.prefix(signed)), key: Array(key.utf8)), signature) else {
            throw Fault(description: "the link is not signed with the room's key")
        }
        let decoder = JSONDecoder()
        guard let header = try? decoder.decode(Header.self, from: Data(head)), header.alg == "HS256", header.crit == nil else {
            throw Fault(description: "the link's header asks for something else than HS256")
        }
        guard let claims = try? decoder.decode(Claims.self, from: Data(claims)) else {
            throw Fault(description: "the link has no room and exp, or something of another kind in it")
        }
        guard claims.room == room else { throw Fault(description: "the link is for another room") }
        guard claims.exp > now else { throw Fault(description: "the link has expired: ask for another one") }
        if let from = claims.nbf, from > now { throw Fault(description: "the link holds later only") }
        guard (claims.name ?? "").utf8.count <= Self.longestName else {
            throw Fault(description: "the link's name has more than \(Self.longestName) bytes")
        }
        self.init(
            room: room, name: claims.name ?? "", publishes: claims.publish ?? true, isHost: claims.host ?? false,
            expires: claims.exp)
        id = String(parts[2])
    }

    /// The token for it.
    public func token(key: String) -> String {
        let claims = Claims(
            room: room, exp: expires, nbf: nil, name: name.isEmpty ? nil : name, publish: publishes, host: isHost)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // All of its members are texts, finite numbers and truth values.
        let content = (try? encoder.encode(claims)) ?? Data()
        let signed = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8)) + "." + Base64URL.encode(Array(content))
        return signed + "." + Base64URL.encode(HMAC.code(of: Array(signed.utf8), key: Array(key.utf8)))
    }

    private struct Header: Decodable {
        var alg: String
        /// What a reader must understand: nothing of that kind is known here.
        var crit: [String]?
    }

    private struct Claims: Codable {
        var room: String
        var exp: Double
        var nbf: Double?
        var name: String?
        var publish: Bool?
        var host: Bool?
    }
}

/// HMAC (RFC 2104), by OpenSSL.
enum HMAC {
    /// With SHA-256.
    static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        unsafe code(of: bytes, key: key, EVP_sha256(), length: 32)
    }

    /// With SHA-1, which is what TURN servers know.
    static func shortCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        unsafe code(of: bytes, key: key, EVP_sha1(), length: 20)
    }

    private static func code(of bytes: [UInt8], key: [UInt8], _ digest: OpaquePointer?, length: Int) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: length)
        var written: UInt32 = 0
        let made = unsafe CHMAC.HMAC(digest, key, Int32(key.count), bytes, bytes.count, &code, &written)
        precondition(unsafe made != nil && written == length, "OpenSSL has not the digest")
        return code
    }

    /// Takes the same time wherever the difference lies.
    static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        if one.count != other.count { return false }
        return unsafe CRYPTO_memcmp(one, other, one.count) == 0
    }
}

/// Base64 for URLs, without padding (RFC 4648, 5; RFC 7515, 2).
enum Base64URL {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString().utf8.lazy.filter { $0 != UInt8(ascii: "=") }.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return String(decoding: Array(text), as: UTF8.self)
    }

    /// Nil for any other text than the one that encoding gives, so that no two texts mean the same bytes.
    static func decode(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count) = (UInt32(0), 0)
        for byte in text.utf8 {
            guard let digit = digits.firstIndex(of: byte) else { return nil }
            bits = bits << 6 | UInt32(digit)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
                bits &= (1 << UInt32(count)) - 1
            }
        }
        return text.utf8.count % 4 == 1 || bits != 0 ? nil : bytes
    }
}
