import CFFmpeg
import Glibc

/// What is finished of a coded file, in a file beside it: its coded pictures in the order of decoding. After an interruption the whole
/// groups of pictures are read again.
///
/// A record is a length, a checksum and as many bytes. The first two say what the pictures were made from and how they are coded. A
/// record that is not whole, and what follows it, does not count.
///
/// Confined to one thread at a time.
final class ResumeFile {
    /// A coded picture.
    struct Unit {
        /// In the encoder's time unit.
        var presentation: Int64
        var decode: Int64
        var duration: Int64
        /// Which of the input's pictures it was made from.
        var number: Int64
        var isKeyframe: Bool
        /// Where its bytes are in the file.
        fileprivate var place = 0
        fileprivate var count = 0

        fileprivate static let byteCount = 4 * 8 + 1

        init(presentation: Int64, decode: Int64, duration: Int64, number: Int64, isKeyframe: Bool) {
            (self.presentation, self.decode, self.duration) = (presentation, decode, duration)
            (self.number, self.isKeyframe) = (number, isKeyframe)
        }
    }

    private enum Kind: UInt8 { case source, coding, unit, end }

    private static let mark = Array("burnish resume 1\n".utf8)

    private let path: String
    private let source: String
    private let file: Int32
    /// Those that were finished before, without the last group, and how many of them were taken.
    private var units: [Unit] = []
    private var taken = 0
    /// The first picture that is not there; nil where none is.
    private(set) var next: Unit?
    /// Where the next record goes.
    private var end = 0

    /// Opens the file, or makes it.
    /// - Parameters:
    ///   - source: what pictures are made from, and how.
    ///   - coding: the parameter sets.
    /// - Throws: `cannotOpen`; `invalidData` where it is of something else; `writeFailed`.
    init(path: String, source: String, coding: UnsafeRawBufferPointer) throws(CodecError) {
        self.path = path
        self.source = source
        file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard file >= 0 else {
            throw unsafe CodecError(
                .cannotOpen, operation: "open", message: String(cString: strerror(errno)), place: path,
                advice: "check the path and its permissions")
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            throw CodecError(
                .cannotOpen, operation: "flock", message: "another program writes it", place: path,
                advice: "wait for that, or name another output")
        }
        let records = try Self.scan(file, path)
        func content(_ kind: Kind) -> [UInt8]? {
            records.first { $0.kind == kind }.flatMap { Self.read(file, $0.place, $0.count) }
        }
        if let before = content(.source), let parameters = content(.coding) {
            guard before == Array(source.utf8), unsafe parameters.elementsEqual(coding) else {
                throw CodecError(
                    .invalidData, operation: "ResumeFile.init",
                    message: "it was begun from another input or with other options",
                    place: path, advice: "give those again, or delete it to begin anew")
            }
            resume(records.filter { $0.kind == .unit })
            if next != nil { return }
        }
        try begin(source)
        unsafe try append(.coding, Array(coding))
    }

    private func begin(_ source: String) throws(CodecError) {
        guard ftruncate(file, 0) == 0 else { throw failure("ftruncate") }
        end = 0
        try write(Self.mark)
        try append(.source, Array(source.utf8))
    }

    deinit { close(file) }

    /// Whether a file beside an output says that it was finished, of the same source.
    static func isFinished(_ path: String, source: String) -> Bool {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard let records = try? scan(file, path), records.contains(where: { $0.kind == .end }),
            let first = records.first(where: { $0.kind == .source })
        else { return false }
        return read(file, first.place, first.count) == Array(source.utf8)
    }

    /// The next picture that was finished before, where it is decoded no later than a time; nil where there is none.
    func takeUnit(until time: Int64) -> (unit: Unit, bytes: [UInt8])? {
        guard taken < units.count, units[taken].decode <= time,
            let bytes = Self.read(file, units[taken].place, units[taken].count)
        else { return nil }
        taken += 1
        return (units[taken - 1], bytes)
    }

    /// Adds a picture.
    @unsafe func append(_ unit: Unit, _ bytes: UnsafeRawBufferPointer) throws(CodecError) {
        var content: [UInt8] = []
        content.reserveCapacity(Unit.byteCount + bytes.count)
        for value in [unit.presentation, unit.decode, unit.duration, unit.number] {
            unsafe withUnsafeBytes(of: value.littleEndian) { unsafe content.append(contentsOf: $0) }
        }
        content.append(unit.isKeyframe ? 1 : 0)
        unsafe content.append(contentsOf: bytes)
        try append(.unit, content)
    }

    /// The output is complete: leaves a mark of that alone, for ``isFinished(_:source:)``.
    func finish() throws(CodecError) {
        try begin(source)
        try append(.end, [])
    }

    private struct Record {
        var kind: Kind
        /// Of what follows the kind.
        var place: Int
        var count: Int
    }

    /// The records that are whole.
    private static func scan(_ file: Int32, _ path: String) throws(CodecError) -> [Record] {
        let length = lseek(file, 0, SEEK_END)
        // It was interrupted at its first bytes.
        guard length > mark.count || read(file, 0, length) != Array(mark.prefix(length)) else { return [] }
        guard read(file, 0, mark.count) == mark else {
            throw CodecError(
                .invalidData, operation: "ResumeFile.init", message: "it is no file of burnish's to resume from", place: path,
                advice: "move it away: the output's name and .resume is where burnish enhance keeps what is finished")
        }
        var records: [Record] = []
        var place = mark.count
        while let head = read(file, place, 8) {
            let count = Int(number(head[0..<4]))
            guard count > 0, count <= length - place - 8, let content = read(file, place + 8, count),
                checksum(content) == UInt32(number(head[4..<8])), let kind = Kind(rawValue: content[0])
            else { break }
            records.append(Record(kind: kind, place: place + 9, count: count - 1))
            place += 8 + count
        }
        return records
    }

    /// Finds out where the last whole group of pictures ends.
    private func resume(_ records: [Record]) {
        for record in records where record.count >= Unit.byteCount {
            guard let head = Self.read(file, record.place, Unit.byteCount) else { break }
            func value(_ index: Int) -> Int64 { Int64(bitPattern: Self.number(head[8 * index..<8 * index + 8])) }
            var unit = Unit(
                presentation: value(0), decode: value(1), duration: value(2), number: value(3), isKeyframe: head[32] != 0)
            unit.place = record.place + Unit.byteCount
            unit.count = record.count - Unit.byteCount
            units.append(unit)
        }
        guard let last = units.lastIndex(where: \.isKeyframe), last > 0 else {
            units = []
            return
        }
        next = units[last]
        end = units[last].place - Unit.byteCount - 9
        units.removeSubrange(last...)
    }

    private func append(_ kind: Kind, _ content: [UInt8]) throws(CodecError) {
        let content = [kind.rawValue] + content
        var record: [UInt8] = []
        record.reserveCapacity(8 + content.count)
        for value in [UInt32(content.count), Self.checksum(content)] {
            unsafe withUnsafeBytes(of: value.littleEndian) { unsafe record.append(contentsOf: $0) }
        }
        record.append(contentsOf: content)
        // What is there beyond is of the group that is made again.
        if lseek(file, 0, SEEK_END) > end, ftruncate(file, end) != 0 { throw failure("ftruncate") }
        try write(record)
    }

    private func write(_ bytes: [UInt8]) throws(CodecError) {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress! + done, bytes.count - done, end) }
            guard count > 0 else { throw failure("pwrite") }
            done += count
            end += count
        }
    }

    private func failure(_ operation: String) -> CodecError {
        unsafe CodecError(
            .writeFailed, operation: operation, code: -errno, message: String(cString: strerror(errno)), place: path,
            advice: DiskSpace.advice)
    }

    /// So many bytes; nil where there are fewer.
    private static func read(_ file: Int32, _ place: Int, _ count: Int) -> [UInt8]? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = unsafe pread(file, buffer.baseAddress! + filled, count - filled, place + filled)
                if got <= 0 { break }
                filled += got
            }
        }
        return bytes.count == count ? bytes : nil
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBufferPointer {
            unsafe av_crc(av_crc_get_table(AV_CRC_32_IEEE_LE), .max, $0.baseAddress, $0.count)
        }
    }
}
