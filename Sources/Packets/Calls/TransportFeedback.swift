/// When the packets of a session came, counted over all of its tracks, as it is told to the sender
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
struct TransportFeedback: Hashable, Sendable {
    /// The number of the first packet.
    var base: UInt16 = 0
    /// Counts the reports.
    var number: UInt8 = 0
    /// In steps of 64 ms; 24 bits.
    var reference: UInt32 = 0
    /// For each packet from the first on: when it came, in steps of 250 µs from ``reference``; nil where it has not come.
    var arrivals: [Int64?] = []

    /// One report names at most so many packets: it fits a datagram, also when all times need two bytes.
    static let mostPackets = 400
    static let step: Int64 = 250_000  // ns
    static let referenceStep: Int64 = 64_000_000  // ns

    init() { arrivals.reserveCapacity(Self.mostPackets) }

    /// Goes through the packets' symbols: 0 for one that has not come, else how many bytes its time has.
    private struct Cursor {
        let arrivals: [Int64?]
        var index = 0
        var time: Int64 = 0

        mutating func next() -> (symbol: UInt64, step: Int64)? {
            guard index < arrivals.count else { return nil }
            defer { index += 1 }
            guard let arrival = arrivals[index] else { return (0, 0) }
            let step = min(max(arrival - time, -32768), 32767)
            time += step
            return ((0...255).contains(step) ? 1 : 2, step)
        }
    }

    /// Writes the part of a packet behind its header and its two sources.
    /// - Parameter put: writes a number of so many bytes.
    func write(_ put: (UInt64, Int) -> Void) {
        put(UInt64(base), 2)
        put(UInt64(arrivals.count), 2)
        put(UInt64(reference), 3)
        put(UInt64(number), 1)
        var cursor = Cursor(arrivals: arrivals)
        while cursor.index < arrivals.count {
            let start = cursor
            // A run of at least 7 takes no more than a list of 7.
            var before = cursor
            let first = cursor.next()?.symbol ?? 0
            var count: UInt64 = 1
            while true {
                before = cursor
                guard let next = cursor.next(), next.symbol == first else { break }
                count += 1
            }
            if count >= 7 {
                put(first << 13 | count, 2)
                cursor = before
                continue
            }
            cursor = start
            var chunk: UInt64 = 0xc000
            for place in 0..<7 as Range<UInt64> { chunk |= (cursor.next()?.symbol ?? 0) << (2 * (6 - place)) }
            put(chunk, 2)
        }
        cursor = Cursor(arrivals: arrivals)
        while let (symbol, step) = cursor.next() {
            if symbol > 0 { put(UInt64(truncatingIfNeeded: step) & (1 << (8 * symbol) - 1), Int(symbol)) }
        }
    }
}

/// What a receiver tells of its packets' arrivals, without the times: it costs little to read, whatever the packet says.
/// ``ArrivalReader`` reads the times.
struct ArrivalSummary: Hashable, Sendable {
    /// The number of the first packet.
    var base: UInt16
    /// Counts the reports.
    var number: UInt8
    /// From when on times count, in steps of 64 ms; 24 bits.
    private(set) var reference: UInt32
    /// So many packets the report is about, and so many of them came.
    private(set) var packets = 0
    private(set) var received = 0
    /// Where the symbols and the times begin in the datagram.
    fileprivate let symbols: Int
    fileprivate private(set) var times: Int

    /// The most packets that one report may be about.
    private static let most = 1 << 13

    /// Reads the part of a packet behind its header.
    /// - Returns: nil when it is cut off or contradicts itself.
    init?(reading bytes: Span<UInt8>, _ body: Range<Int>) {
        guard body.count >= 16 else { return nil }
        var at = body.lowerBound + 8
        base = UInt16(bytes.bigEndian(at: at, 2))
        let count = Int(bytes.bigEndian(at: at + 2, 2))
        reference = UInt32(bytes.bigEndian(at: at + 4, 3))
        number = bytes[at + 7]
        at += 8
        (symbols, times) = (at, at)
        guard count <= Self.most else { return nil }
        var timeBytes = 0
        while packets < count {
            guard at + 2 <= body.upperBound else { return nil }
            let chunk = Int(bytes.bigEndian(at: at, 2))
            at += 2
            let left = count - packets
            if chunk & 0x8000 == 0 {
                let run = min(chunk & 0x1fff, left)
                guard run > 0 else { return nil }
                timeBytes += add(chunk >> 13 & 3, run)
            } else {
                let bits = chunk & 0x4000 == 0 ? 1 : 2
                for place in 1...min(14 / bits, left) {
                    timeBytes += add(chunk >> (14 - bits * place) & (bits == 1 ? 1 : 3), 1)
                }
            }
        }
        times = at
        guard at + timeBytes <= body.upperBound else { return nil }
    }

    /// - Parameter symbol: 0 for packets that have not come; else how many bytes each one's time has.
    /// - Returns: how many bytes their times have.
    private mutating func add(_ symbol: Int, _ count: Int) -> Int {
        packets += count
        guard symbol == 1 || symbol == 2 else { return 0 }
        received += count
        return symbol * count
    }
}

/// Goes through the packets that a report is about, in the order of their numbers.
struct ArrivalReader: ~Escapable {
    struct Arrival: Hashable {
        /// From the packet that came before it, or else the report's time, in steps of 250 µs; nil where it has not come.
        var step: Int16?
    }

    private let bytes: Span<UInt8>
    private var left: Int
    private var symbol: Int
    private var time: Int
    /// What is left of the present chunk: so many symbols, each of so many bits; no bits for a run.
    private var chunk = (value: 0, left: 0, bits: 0)

    /// - Parameter bytes: the datagram that the summary was read from.
    @_lifetime(copy bytes) init(_ summary: ArrivalSummary, in bytes: Span<UInt8>) {
        self.bytes = bytes
        (left, symbol, time) = (summary.packets, summary.symbols, summary.times)
    }

    @_lifetime(self: copy self) mutating func next() -> Arrival? {
        guard left > 0 else { return nil }
        left -= 1
        if chunk.left == 0 {
            let value = Int(bytes.bigEndian(at: symbol, 2))
            symbol += 2
            chunk =
                value & 0x8000 == 0
                ? (value >> 13 & 3, value & 0x1fff, 0)
                : value & 0x4000 == 0 ? (value & 0x3fff, 14, 1) : (value & 0x3fff, 7, 2)
        }
        chunk.left -= 1
        let size = chunk.bits == 0 ? chunk.value : chunk.value >> (chunk.left * chunk.bits) & (chunk.bits == 1 ? 1 : 3)
        guard size == 1 || size == 2 else { return Arrival(step: nil) }
        defer { time += size }
        let value = UInt16(bytes.bigEndian(at: time, size))
        return Arrival(step: Int16(bitPattern: value))
    }
}
