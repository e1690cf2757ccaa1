import Foundation
import Media
import Testing

@testable import Web

/// The interface writes JSON by itself. Foundation reads it.
@Suite struct JSONTests {
    private static func text(_ json: JSON) -> String { String(decoding: json.bytes, as: UTF8.self) }

    @Test func valuesAreWrittenAsReadersExpect() {
        #expect(
            Self.text(["b": [1, 2.5, true, .null], "a": "x/y", "c": [:], "d": []])
                == #"{"a":"x/y","b":[1,2.5,true,null],"c":{},"d":[]}"#)
        #expect(Self.text(.text("\"\\\n\u{0}\u{1F}\u{7F}é🎥\u{2028}")) == "\"\\\"\\\\\\u000a\\u0000\\u001f\u{7F}é🎥\u{2028}\"")
        #expect(Self.text(.object(["a\"": 1])) == #"{"a\"":1}"#)
        for (number, text) in [
            (0, "0"), (20, "20"), (-1.5, "-1.5"), (1e300, "1e+300"), (1e-7, "1e-07"), (.infinity, "null"), (.nan, "null"),
            (-.infinity, "null"), (Double(1 << 53), "9007199254740992"),
        ] as [(Double, String)] {
            #expect(Self.text(.number(number)) == text)
        }
        #expect(Self.text(.integer(.min)) == "-9223372036854775808" && Self.text(.count(UInt64.max)) == "9223372036854775807")
    }

    /// Whatever is written is read again as the same.
    @Test func foundationReadsTheSame() throws {
        var random = SplitMix64(seed: 11)
        let pieces = [
            "", "a", "\"", "\\", "/", "\n", "\r\n", "\t", "\u{0}", "\u{1B}", "é", "e\u{301}", "🎥", "\u{FFFF}", "\u{2029}",
            "</script>",
        ]
        func text() -> String {
            (0..<Int(random.next() % 5)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
        }
        func value(_ depth: Int) -> JSON {
            switch random.next() % (depth > 3 ? 5 : 7) {
            case 0: return .null
            case 1: return .bool(random.next() % 2 == 0)
            case 2: return .integer(Int64(bitPattern: random.next()))
            case 3:
                let number = Double(bitPattern: random.next())
                // A whole number is read as an integer.
                return number.isFinite && number.rounded() != number ? .number(number) : .number(0.5)
            case 4: return .text(text())
            case 5: return .list((0..<Int(random.next() % 4)).map { _ in value(depth + 1) })
            default:
                return .object(
                    Dictionary((0..<Int(random.next() % 4)).map { _ in (text(), value(depth + 1)) }) { first, _ in first })
            }
        }
        for _ in 0..<500 {
            let json = value(0)
            #expect(JSON(json.bytes) == json, "\(Self.text(json))")
        }
    }
}
