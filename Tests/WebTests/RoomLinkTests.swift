import Foundation
import Testing

@testable import RoomLinks

/// Signed links of rooms. The golden one was made by PyJWT: `jwt.encode({...}, key, "HS256")`.
@Suite struct RoomLinkTests {
    private static let key = "0123456789abcdef0123456789abcdef"
    private static let golden =
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb29tIjoidGVhbSIsImV4cCI6MjAwMDAwMDAwMCwibmFtZSI6IkFubiIsImhvc3QiOnRydWV9.Gq9-NZfPWu90Up6nzoxOJkAGMwhknMrY75v-XY-YTko"

    private func fault(_ token: String, room: String = "team", now: Double = 1_900_000_000) -> String? {
        do throws(RoomLink.Fault) {
            _ = try RoomLink(token: token, key: Self.key, room: room, now: now)
            return nil
        } catch {
            return error.description
        }
    }

    private func signed(_ header: String, _ claims: String, key: String = key) -> String {
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        return text + "." + Base64URL.encode(HMAC.code(of: Array(text.utf8), key: Array(key.utf8)))
    }

    @Test func anotherLibrarysTokenIsRead() throws {
        let link = try RoomLink(token: Self.golden, key: Self.key, room: "team", now: 1_900_000_000)
        #expect(link.name == "Ann" && link.isHost && link.publishes && link.expires == 2_000_000_000 && link.room == "team")
        #expect(Self.golden.hasSuffix("." + link.id))
    }

    /// RFC 4231, test case 2.
    @Test func theCodeIsThatOfTheStandard() {
        let code = HMAC.code(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        let digits = code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(digits == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    /// By Python's hmac and hashlib.
    @Test func aTurnServersLoginIsThatOfAnotherLibrary() {
        let login = TurnLogin(secret: "a-secret-of-the-server", now: 1_000_000_000.7)
        #expect(login.user == "1000086400:burnish" && login.password == "o0z8EYn82LD67jDWsjFxhgeW3ZE=")
    }

    @Test func whatIsMadeIsRead() throws {
        for link in [
            RoomLink(room: "team", expires: 2_000_000_000.5),
            RoomLink(room: "a.b", name: "<script> \"é\" 😀", publishes: false, isHost: true, expires: 1_900_000_001),
        ] {
            var read = try RoomLink(token: link.token(key: Self.key), key: Self.key, room: link.room, now: 1_900_000_000)
            #expect(!read.id.isEmpty)
            read.id = ""
            #expect(read == link)
        }
    }

    @Test func whoMayNotIsToldWhy() {
        #expect(fault(Self.golden) == nil)
        #expect(fault(Self.golden, room: "other")?.contains("another room") == true)
        #expect(fault(Self.golden, now: 2_000_000_000)?.contains("expired") == true)
        let claims = #"{"room":"team","exp":2000000000}"#
        let plain = #"{"alg":"HS256"}"#
        #expect(fault(signed(plain, claims)) == nil)
        #expect(fault(signed(plain, claims, key: Self.key + "x"))?.contains("not signed") == true)
        for header in [#"{"alg":"none"}"#, #"{"alg":"HS512"}"#, #"{"alg":"HS256","crit":["b64"]}"#, #"{}"#, "[]", ""] {
            #expect(fault(signed(header, claims))?.contains("HS256") == true, "\(header)")
        }
        // Without a signature, or with somebody else's.
        let unsigned = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8)) + "."
        #expect(fault(unsigned)?.contains("not signed") == true)
        for claims in [
            #"{"room":"team"}"#, #"{"exp":2000000000}"#, #"{"room":"team","exp":"2000000000"}"#,
            #"{"room":["team"],"exp":2000000000}"#,
            #"{"room":"team","exp":2000000000,"host":1}"#, "null", #"{"room":"team","exp":1e999}"#,
        ] {
            #expect(fault(signed(plain, claims)) != nil, "\(claims)")
        }
        #expect(fault(signed(plain, #"{"room":"team","exp":2000000000,"nbf":1950000000}"#))?.contains("later") == true)
        let long = String(repeating: "x", count: RoomLink.longestName + 1)
        #expect(fault(signed(plain, #"{"room":"team","exp":2000000000,"name":"\#(long)"}"#))?.contains("name") == true)
        #expect(fault(String(repeating: "a", count: RoomLink.longest + 1))?.contains("too long") == true)
        for text in ["", ".", "..", "a.b", "a.b.c.d", "!.!.!", Self.golden + "=", Self.golden + "\n", " " + Self.golden] {
            #expect(fault(text) != nil, "\(text)")
        }
    }

    /// Any bit of a token that is another lets nobody in.
    @Test func noBitMayChange() {
        let bytes = Array(Self.golden.utf8)
        for place in bytes.indices {
            for bit in 0..<7 {
                var changed = bytes
                changed[place] ^= 1 << bit
                #expect(fault(String(decoding: changed, as: UTF8.self)) != nil, "byte \(place), bit \(bit)")
            }
        }
    }

    @Test func base64HasOneTextForBytes() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64URL.decode(Substring(Base64URL.encode(bytes))) == bytes)
        }
        for text in ["A", "AB", "AA=", "A+", "A/", "AAB"] { #expect(Base64URL.decode(Substring(text)) == nil, "\(text)") }
    }
}
