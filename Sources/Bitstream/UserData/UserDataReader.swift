import Media

/// Finds what a coded picture carries for viewers beside its samples: in messages of H.264 and HEVC (registered user data, H.264,
/// D.1.6), user data of MPEG-2 (H.262, 6.2.2.2.2), and metadata of AV1 (5.8.2). Reads up to the picture's first slice.
public enum UserDataReader {
    /// - Parameter unit: a whole coded picture with start codes, where its format has them. Any bytes at all.
    /// - Returns: nil where it carries nothing.
    public static func read(_ unit: UnsafeRawBufferPointer, of codec: VideoCodec) -> PictureUserData? {
        var data = PictureUserData()
        switch codec {
        case .h264, .hevc, .mpeg2Video: unsafe readUnits(unit, codec, &data)
        case .av1:
            if unsafe AV1StartCodes.isUsed(in: unit) {
                unsafe readUnits(unit, codec, &data)
            } else {
                unsafe readPlainAV1(unit, &data)
            }
        case .vp8, .vp9: return nil
        }
        return data.isEmpty ? nil : data
    }

    private static func readUnits(_ unit: UnsafeRawBufferPointer, _ codec: VideoCodec, _ data: inout PictureUserData) {
        var next = unsafe NALScanner.nextUnit(in: unit, from: 0)
        while let at = next {
            let header = unsafe unit[at]
            if isSlice(header, codec) { return }
            next = unsafe NALScanner.nextUnit(in: unit, from: at)
            guard holdsUserData(header, codec) else { continue }
            let part = unsafe UnsafeRawBufferPointer(rebasing: unit[at..<(next.map { $0 - 3 } ?? unit.count)])
            switch codec {
            case .mpeg2Video:
                var reader = unsafe RBSPReader(part, hasPrevention: false)
                readRegistered(&reader, part.count - 1, &data)
            case .av1:
                var reader = unsafe RBSPReader(part, headerBytes: header & 4 != 0 ? 2 : 1)
                if header & 2 != 0 { while reader.alignedByte() & 0x80 != 0, !reader.isExhausted {} }
                readMetadata(&reader, part.count, &data)
            default:
                unsafe SupplementalInformation.forEachRegistered(in: part, headerBytes: codec == .hevc ? 2 : 1) {
                    var reader = $0
                    readCountry(&reader, $1, &data)
                }
            }
        }
    }

    private static func isSlice(_ header: UInt8, _ codec: VideoCodec) -> Bool {
        switch codec {
        case .h264: (1...5).contains(header & 31)
        case .hevc: header >> 1 & 63 < 32
        case .mpeg2Video: (0x01...0xAF).contains(header)
        default: [3, 4, 6].contains(header >> 3 & 15)
        }
    }

    private static func holdsUserData(_ header: UInt8, _ codec: VideoCodec) -> Bool {
        switch codec {
        case .h264: header & 31 == 6
        case .hevc: header >> 1 & 63 == 39
        case .mpeg2Video: header == 0xB2
        default: header >> 3 & 15 == 5
        }
    }

    private static func readPlainAV1(_ unit: UnsafeRawBufferPointer, _ data: inout PictureUserData) {
        var at = 0
        while at < unit.count, let part = unsafe AV1Unit(UnsafeRawBufferPointer(rebasing: unit[at...])) {
            at += part.byteCount
            switch part.kind {
            case .frame, .frameHeader: return
            case .metadata:
                var reader = unsafe RBSPReader(part.payload, headerBytes: 0, hasPrevention: false)
                unsafe readMetadata(&reader, part.payload.count, &data)
            default: break
            }
        }
    }

    /// - Parameter size: at most so many bytes follow.
    private static func readMetadata(_ reader: inout RBSPReader, _ size: Int, _ data: inout PictureUserData) {
        let registered: UInt8 = 4
        if reader.alignedByte() == registered { readCountry(&reader, size - 1, &data) }
    }

    /// Recommendation ITU-T T.35: a country, and who says what follows there.
    private static func readCountry(_ reader: inout RBSPReader, _ size: Int, _ data: inout PictureUserData) {
        guard size > 3, reader.alignedByte() == 0xB5, reader.alignedByte() == 0, reader.alignedByte() == 0x31 else { return }
        readRegistered(&reader, size - 3, &data)
    }

    /// What ATSC and DVB have registered (A/53 part 4, 6.2.3; ETSI TS 101 154, B.3).
    private static func readRegistered(_ reader: inout RBSPReader, _ size: Int, _ data: inout PictureUserData) {
        guard size > 4 else { return }
        var name: UInt32 = 0
        for _ in 0..<4 { name = name << 8 | UInt32(reader.alignedByte()) }
        switch name {
        case 0x4741_3934:  // GA94
            switch reader.alignedByte() {
            case 3: readCaptions(&reader, size - 5, &data)
            case 6: readBars(&reader, &data)
            default: break
            }
        case 0x4454_4731:  // DTG1
            guard reader.alignedByte() & 0x40 != 0 else { return }
            let format = reader.alignedByte() & 15
            if !reader.isExhausted { data.activeFormat = format }
        default: break
        }
    }

    /// `cc_data` (CTA-708, 4.3).
    private static func readCaptions(_ reader: inout RBSPReader, _ size: Int, _ data: inout PictureUserData) {
        let marks = reader.alignedByte()
        _ = reader.alignedByte()
        let count = Int(marks & 31)
        guard marks & 0x40 != 0, size >= 2 + count * PictureUserData.pieceBytes else { return }
        for _ in 0..<count {
            let (first, second, third) = (reader.alignedByte(), reader.alignedByte(), reader.alignedByte())
            if !reader.isExhausted { data.append(first, second, third) }
        }
    }

    private static func readBars(_ reader: inout RBSPReader, _ data: inout PictureUserData) {
        let flags = reader.alignedByte()
        func place(_ flag: UInt8) -> UInt16? {
            if flags & flag == 0 { return nil }
            let (high, low) = (UInt16(reader.alignedByte()), UInt16(reader.alignedByte()))
            return (high << 8 | low) & 0x3FFF
        }
        var bars = PictureBars()
        bars.endOfTop = place(0x80)
        bars.startOfBottom = place(0x40)
        bars.endOfLeft = place(0x20)
        bars.startOfRight = place(0x10)
        if !reader.isExhausted { data.bars = bars }
    }
}
