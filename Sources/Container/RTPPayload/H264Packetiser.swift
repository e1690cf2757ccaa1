/// Cuts H.264's access units into RTP payloads (RFC 6184, packetization mode 1): NAL units that fit go alone or several in one
/// packet (STAP-A), larger ones in parts (FU-A).
///
/// Not thread-safe: one thread at a time uses it. It allocates only while units have more NAL units than any before.
@safe public struct H264Packetiser: ~Copyable {
    /// A NAL unit's place in the access unit.
    private struct Place { var start, end: Int }

    /// The most bytes of a payload.
    public let largest: Int
    private var places: [Place] = []
    /// An aggregation, or the two bytes before a part of a NAL unit.
    private let scratch: UnsafeMutableRawBufferPointer

    private enum Kind {
        static let delimiter: UInt8 = 9
        static let filler: UInt8 = 12
        static let aggregation: UInt8 = 24
        static let fragment: UInt8 = 28
    }

    /// - Parameter largest: at least 64.
    public init(largest: Int) {
        precondition(largest >= 64, "a payload has room for a header and some bytes")
        self.largest = largest
        unsafe scratch = .allocate(byteCount: largest, alignment: 16)
        places.reserveCapacity(64)
    }

    deinit { unsafe scratch.deallocate() }

    /// Emits a unit's payloads, each in two pieces that belong behind each other.
    /// - Parameters:
    ///   - unit: a byte stream with start codes. Delimiters and filler are left out: RTP needs neither.
    ///   - emit: the pieces are valid until it returns.
    public mutating func packetise(
        _ unit: UnsafeRawBufferPointer,
        emit: (_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ isLast: Bool) -> Void
    ) {
        unsafe findUnits(unit)
        var next = 0
        while next < places.count {
            let first = places[next]
            if first.end - first.start > largest {
                next += 1
                unsafe emitParts(of: unit, first, isLast: next == places.count, emit)
                continue
            }
            // As many as fit into one payload.
            var end = next
            var size = 1
            while end < places.count, size + 2 + places[end].end - places[end].start <= largest {
                size += 2 + places[end].end - places[end].start
                end += 1
            }
            if end - next > 1 {
                unsafe aggregate(unit, next..<end)
                let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
                unsafe emit(
                    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(scratch)[..<size]), none, end == places.count)
                next = end
            } else {
                next += 1
                let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
                unsafe emit(none, UnsafeRawBufferPointer(rebasing: unit[first.start..<first.end]), next == places.count)
            }
        }
    }

    private mutating func findUnits(_ unit: UnsafeRawBufferPointer) {
        places.removeAll(keepingCapacity: true)
        var start = -1
        var at = 0
        let count = unit.count
        while at + 2 < count {
            let third = unsafe unit[at + 2]
            if third > 1 {
                at += 3
            } else if third == 1, unsafe unit[at] == 0 && unit[at + 1] == 0 {
                unsafe keep(unit, start, end: at)
                start = at + 3
                at = start
            } else {
                at += 1
            }
        }
        unsafe keep(unit, start, end: count)
    }

    /// Keeps a NAL unit without the zeros behind it, which belong to no NAL unit.
    private mutating func keep(_ unit: UnsafeRawBufferPointer, _ start: Int, end: Int) {
        guard start >= 0 else { return }
        var end = end
        while end > start, unsafe unit[end - 1] == 0 { end -= 1 }
        guard end > start else { return }
        let kind = unsafe unit[start] & 0x1f
        guard kind != Kind.delimiter, kind != Kind.filler else { return }
        places.append(Place(start: start, end: end))
    }

    private func aggregate(_ unit: UnsafeRawBufferPointer, _ range: Range<Int>) {
        var header: UInt8 = 0
        var at = 1
        for place in places[range] {
            let size = place.end - place.start
            let own = unsafe unit[place.start]
            // The importance of the most important one.
            header = header & 0x80 | own & 0x80 | max(header & 0x60, own & 0x60)
            unsafe scratch[at] = UInt8(size >> 8)
            unsafe scratch[at + 1] = UInt8(size & 0xff)
            unsafe UnsafeMutableRawBufferPointer(rebasing: scratch[(at + 2)...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: unit[place.start..<place.end]))
            at += 2 + size
        }
        unsafe scratch[0] = header | Kind.aggregation
    }

    private func emitParts(
        of unit: UnsafeRawBufferPointer, _ place: Place, isLast: Bool,
        _ emit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, Bool) -> Void
    ) {
        let header = unsafe unit[place.start]
        let room = largest - 2
        let total = place.end - place.start - 1
        // Parts of about the same size, so that none is tiny.
        let count = (total + room - 1) / room
        var at = place.start + 1
        for part in 0..<count {
            let end = place.start + 1 + total * (part + 1) / count
            unsafe scratch[0] = header & 0xe0 | Kind.fragment
            unsafe scratch[1] = header & 0x1f | (part == 0 ? 0x80 : 0) | (part == count - 1 ? 0x40 : 0)
            unsafe emit(
                UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(scratch)[..<2]),
                UnsafeRawBufferPointer(rebasing: unit[at..<end]), isLast && part == count - 1)
            at = end
        }
    }
}
