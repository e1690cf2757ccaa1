/// How a photograph is to be turned, by the tag that its camera wrote (Exif 2.32, 4.6.4, tag 0112). libavcodec reads it in JPEG files
/// alone.
///
/// A pure function of a whole file's bytes: any bytes at all.
public enum PhotographOrientation {
    /// The tag of a PNG, WebP or TIFF file.
    /// - Returns: 2…8; nil where the picture is upright or the file does not say.
    public static func tag(in file: UnsafeRawBufferPointer) -> Int? {
        let bytes = unsafe Bytes(file[...])
        if bytes.matches("\u{89}PNG", at: 0) { return png(bytes) }
        if bytes.matches("RIFF", at: 0), bytes.matches("WEBP", at: 8) { return webP(bytes) }
        return directory(bytes)
    }

    /// Chunks (PNG, 3rd edition, 11.3.3.3): length, name, contents and checksum.
    private static func png(_ bytes: Bytes) -> Int? {
        var at = 8
        while let length = bytes.number(4, at: at, isLittle: false) {
            if bytes.matches("eXIf", at: at + 4) { return directory(bytes.part(at + 8, length)) }
            at += 12 + length
        }
        return nil
    }

    /// Chunks (RFC 9649, 2.3): name, length, and contents that are padded to an even length.
    private static func webP(_ bytes: Bytes) -> Int? {
        var at = 12
        while let length = bytes.number(4, at: at + 4, isLittle: true) {
            if bytes.matches("EXIF", at: at) {
                let contents = bytes.part(at + 8, length)
                // Some writers put a JPEG's marker before it.
                return directory(contents) ?? directory(contents.part(6, contents.count - 6))
            }
            at += 8 + length + length % 2
        }
        return nil
    }

    /// The first directory of a TIFF file (TIFF 6.0, section 2).
    private static func directory(_ bytes: Bytes) -> Int? {
        let isLittle = bytes.matches("II*\0", at: 0)
        guard isLittle || bytes.matches("MM\0*", at: 0), let start = bytes.number(4, at: 4, isLittle: isLittle),
            let count = bytes.number(2, at: start, isLittle: isLittle)
        else { return nil }
        for entry in 0..<count {
            let at = start + 2 + 12 * entry
            guard bytes.number(2, at: at, isLittle: isLittle) == 0x0112 else { continue }
            return bytes.number(2, at: at + 8, isLittle: isLittle).flatMap { (2...8).contains($0) ? $0 : nil }
        }
        return nil
    }

    /// Bytes that are read without going past their end.
    @safe private struct Bytes {
        private let bytes: Slice<UnsafeRawBufferPointer>

        init(_ bytes: Slice<UnsafeRawBufferPointer>) { unsafe self.bytes = bytes }

        var count: Int { unsafe bytes.count }

        /// The bytes from an offset on, or as many of them as there are.
        func part(_ offset: Int, _ count: Int) -> Bytes {
            unsafe Bytes(bytes.dropFirst(max(0, offset)).prefix(max(0, count)))
        }

        func number(_ length: Int, at offset: Int, isLittle: Bool) -> Int? {
            guard offset >= 0, offset <= count - length else { return nil }
            var value = 0
            for place in 0..<length {
                let byte = unsafe Int(bytes[bytes.startIndex + offset + place])
                value |= byte << (8 * (isLittle ? place : length - 1 - place))
            }
            return value
        }

        func matches(_ text: String, at offset: Int) -> Bool {
            // Each scalar is a byte.
            var at = offset
            for scalar in text.unicodeScalars {
                guard number(1, at: at, isLittle: true) == Int(scalar.value) else { return false }
                at += 1
            }
            return true
        }
    }
}
