import Bitstream
import Media
import Testing

@Suite struct PhotographOrientationTests {
    /// A directory with two tags, of which the second says how the picture is to be turned.
    private func directory(_ tag: UInt8, isLittle: Bool) -> [UInt8] {
        func number(_ value: Int, _ length: Int) -> [UInt8] {
            let bytes = (0..<length).map { UInt8(value >> (8 * $0) & 255) }
            return isLittle ? bytes : bytes.reversed()
        }
        var bytes = Array(isLittle ? "II*\0".utf8 : "MM\0*".utf8)
        for (value, length) in [(8, 4), (2, 2), (0x010F, 2), (2, 2), (4, 4)] { bytes += number(value, length) }
        bytes += Array("abc\0".utf8)
        for (value, length) in [(0x0112, 2), (3, 2), (1, 4), (Int(tag), 2), (0, 2), (0, 4)] { bytes += number(value, length) }
        return bytes
    }

    private func chunk(_ name: String, _ contents: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, UInt8(contents.count)]
        bytes += Array(name.utf8)
        bytes += contents
        return bytes + [1, 2, 3, 4]
    }

    private func part(_ name: String, _ contents: [UInt8]) -> [UInt8] {
        var bytes = Array(name.utf8)
        bytes += [UInt8(contents.count), 0, 0, 0]
        bytes += contents
        return bytes + [UInt8](repeating: 0, count: contents.count % 2)
    }

    private func files(_ tag: UInt8, isLittle: Bool) -> [[UInt8]] {
        let directory = directory(tag, isLittle: isLittle)
        var png: [UInt8] = [0x89]
        png += Array("PNG\r\n\u{1A}\n".utf8)
        png += chunk("IHDR", [UInt8](repeating: 9, count: 13))
        var webP = Array("RIFF\0\0\0\0WEBP".utf8)
        webP += part("VP8X", [1, 2, 3])
        return [
            directory, png + chunk("eXIf", directory), webP + part("EXIF", directory),
            webP + part("EXIF", Array("Exif\0\0".utf8) + directory),
        ]
    }

    @Test(arguments: [2, 6, 8] as [UInt8], [true, false]) func theTagIsFound(tag: UInt8, isLittle: Bool) {
        for file in files(tag, isLittle: isLittle) {
            #expect(file.withUnsafeBytes { PhotographOrientation.tag(in: $0) } == Int(tag))
        }
    }

    @Test func whatIsUprightOrBrokenSaysNothing() {
        for tag in [0, 1, 9] as [UInt8] {
            for file in files(tag, isLittle: true) {
                #expect(file.withUnsafeBytes { PhotographOrientation.tag(in: $0) } == nil)
            }
        }
        // Cut off anywhere, and with any byte at its greatest.
        for file in files(6, isLittle: false) {
            for length in file.indices {
                file[..<length].withUnsafeBytes { _ = PhotographOrientation.tag(in: $0) }
                var broken = file
                broken[length] = 255
                broken.withUnsafeBytes { _ = PhotographOrientation.tag(in: $0) }
            }
            #expect(file.dropLast(12).withUnsafeBytes { PhotographOrientation.tag(in: $0) } == nil)
        }
    }
}
