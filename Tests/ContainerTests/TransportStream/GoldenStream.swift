import Foundation
import Media

@testable import Container

/// A transport stream that another program made, and libavformat's view of its main video (tools/make/golden-streams).
struct GoldenStream {
    struct Reference: Equatable {
        var decode: Int64
        var presentation: Int64
        var size: Int
        var checksum: UInt32
        var isKeyframe: Bool
    }

    let bytes: [UInt8]
    let units: [Reference]

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "GoldenStreams")

    init(_ name: String) throws {
        bytes = try Array(Data(contentsOf: Self.folder.appending(path: name + ".ts")))
        let text = (try? String(contentsOf: Self.folder.appending(path: name + ".ref"), encoding: .utf8)) ?? ""
        units = text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return Reference(
                decode: Int64(words[0])!, presentation: Int64(words[1])!, size: Int(words[2])!,
                checksum: UInt32(words[3].dropFirst(2), radix: 16)!, isKeyframe: words.count > 4 && words[4] == "K")
        }
    }

    var packets: [[UInt8]] { stride(from: 0, to: bytes.count, by: 188).map { Array(bytes[$0..<($0 + 188)]) } }

    /// Adler-32 as framecrc writes it: begun at 0.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var (a, b): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            a = (a + UInt32(byte)) % 65521
            b = (b + a) % 65521
        }
        return b << 16 | a
    }
}
