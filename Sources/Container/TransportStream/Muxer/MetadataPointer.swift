/// The metadata pointer descriptor (ISO/IEC 13818-1, 2.6.58): a program's, which names the program that has its metadata.
enum MetadataPointer {
    private static let tag: UInt8 = 0x25

    /// A loop of descriptors in which those that point to a program of the same stream point to this one. Any bytes at all.
    static func pointing(_ descriptors: [UInt8], to program: UInt16) -> [UInt8] {
        var bytes = descriptors
        var at = 0
        while at + 2 <= bytes.count {
            let end = at + 2 + Int(bytes[at + 1])
            guard end <= bytes.count else { break }
            if bytes[at] == tag, let place = placeOfProgram(bytes[(at + 2)..<end]) {
                bytes[place] = UInt8(program >> 8)
                bytes[place + 1] = UInt8(program & 0xff)
            }
            at = end
        }
        return bytes
    }

    /// Where a descriptor's body names the program; nil where it names none, or one of another stream.
    private static func placeOfProgram(_ body: ArraySlice<UInt8>) -> Int? {
        var at = body.startIndex
        // The application's format and the metadata's, each with an identifier where a number does not say it; the service.
        guard at + 2 <= body.endIndex else { return nil }
        at += body[at] == 0xff && body[at + 1] == 0xff ? 6 : 2
        guard at < body.endIndex else { return nil }
        at += body[at] == 0xff ? 5 : 1
        at += 1
        guard at < body.endIndex else { return nil }
        let flags = body[at]
        at += 1
        if flags & 0x80 != 0 {
            guard at < body.endIndex else { return nil }
            at += 1 + Int(body[at])
        }
        return flags & 0x60 == 0 && at + 2 <= body.endIndex ? at : nil
    }
}
