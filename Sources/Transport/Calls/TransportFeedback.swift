/// When the packets of a session came, counted over all of its tracks (draft-holmer-rmcat-transport-wide-cc-extensions-01).
struct TransportFeedback: Hashable, Sendable {
    /// The number of the first packet.
    var base: UInt16
    /// Counts the reports.
    var number: UInt8
    /// For each packet from the first on: when it came, in steps of 250 µs from ``reference``; nil where it has not come.
    var arrivals: [Int64?]
    /// In steps of 64 ms; 24 bits.
    var reference: UInt32

    /// One report names at most so many packets.
    static let mostPackets = 500
    static let step: Int64 = 250_000  // ns
    static let referenceStep: Int64 = 64_000_000  // ns

    init(base: UInt16, number: UInt8, reference: UInt32, arrivals: [Int64?]) {
        self.base = base
        self.number = number
        self.reference = reference
        self.arrivals = arrivals
    }

    /// Writes the part of a packet behind its header and its two sources.
    func write(_ put: (UInt64, Int) -> Void) {
        put(UInt64(base), 2)
        put(UInt64(arrivals.count), 2)
        put(UInt64(reference), 3)
        put(UInt64(number), 1)
        var symbols: [UInt64] = []
        var deltas: [(UInt64, Int)] = []
        var time: Int64 = 0
        for arrival in arrivals {
            guard let arrival else {
                symbols.append(0)
                continue
            }
            let delta = arrival - time
            if (0...255).contains(delta) {
                symbols.append(1)
                deltas.append((UInt64(delta), 1))
                time = arrival
            } else {
                let clamped = min(max(delta, -32768), 32767)
                symbols.append(2)
                deltas.append((UInt64(UInt16(bitPattern: Int16(clamped))), 2))
                time += clamped
            }
        }
        var at = 0
        while at < symbols.count {
            var run = 1
            while at + run < symbols.count, symbols[at + run] == symbols[at], run < 0x1fff { run += 1 }
            if run >= 7 {
                put(symbols[at] << 13 | UInt64(run), 2)
                at += run
            } else {
                var chunk: UInt64 = 0xc000
                for place in 0..<7 where at + place < symbols.count { chunk |= symbols[at + place] << UInt64(2 * (6 - place)) }
                put(chunk, 2)
                at += 7
            }
        }
        for (value, count) in deltas { put(value, count) }
    }
}

/// What a receiver tells of its packets' arrivals, without the times: it costs little to read, whatever the packet says.
struct ArrivalSummary: Hashable, Sendable {
    /// The number of the first packet.
    var base: UInt16
    /// Counts the reports.
    var number: UInt8
    /// So many packets the report is about, and so many of them came.
    private(set) var packets = 0
    private(set) var received = 0

    /// The most packets that one report may be about.
    private static let most = 1 << 13

    /// Reads the part of a packet behind its header.
    /// - Returns: nil when it is cut off or contradicts itself.
    init?(reading bytes: Span<UInt8>, _ body: Range<Int>) {
        guard body.count >= 16 else { return nil }
        var at = body.lowerBound + 8
        base = UInt16(bytes.bigEndian(at: at, 2))
        let count = Int(bytes.bigEndian(at: at + 2, 2))
        number = bytes[at + 7]
        at += 8
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
