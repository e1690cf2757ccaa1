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
        guard count <= 1 << 13 else { return nil }
        var symbols: [UInt8] = []
        symbols.reserveCapacity(count)
        while symbols.count < count {
            guard at + 2 <= body.upperBound else { return nil }
            let chunk = Int(bytes.bigEndian(at: at, 2))
            at += 2
            if chunk & 0x8000 == 0 {
                let symbol = UInt8(chunk >> 13 & 3)
                for _ in 0..<min(chunk & 0x1fff, count - symbols.count) { symbols.append(symbol) }
                if chunk & 0x1fff == 0 { return nil }
            } else if chunk & 0x4000 == 0 {
                for bit in (0..<14).reversed() where symbols.count < count { symbols.append(UInt8(chunk >> bit & 1)) }
            } else {
                for place in (0..<7).reversed() where symbols.count < count {
                    symbols.append(UInt8(chunk >> (2 * place) & 3))
                }
            }
        }
        arrivals = []
        arrivals.reserveCapacity(count)
        var time: Int64 = 0
        for symbol in symbols {
            switch symbol {
            case 1:
                guard at + 1 <= body.upperBound else { return nil }
                time += Int64(bytes[at])
                at += 1
                arrivals.append(time)
            case 2:
                guard at + 2 <= body.upperBound else { return nil }
                time += Int64(Int16(bitPattern: UInt16(bytes.bigEndian(at: at, 2))))
                at += 2
                arrivals.append(time)
            default: arrivals.append(nil)
            }
        }
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
