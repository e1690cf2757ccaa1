import Testing

/// Reads transport packets strictly and slowly, for tests: checks every counter and returns PES packets as complete as
/// they are when the bytes end.
struct PacketReader {
    struct Unit {
        var pid: Int
        var payload: [UInt8] = []
        var presentationTime: Int64?
        var decodeTime: Int64?
        var hasLength = false
        var endsWithStuffing = false
        /// The program clock when the unit began.
        var clockBefore: Int64?
    }

    /// All clock references so far, in 90 kHz ticks.
    private(set) var clocks: [Int64] = []
    /// How many program association tables there were.
    private(set) var tables = 0
    private var counters: [Int: Int] = [:]

    mutating func read(_ bytes: ArraySlice<UInt8>) throws -> [Unit] {
        var open: [Int: Int] = [:]
        var units: [Unit] = []
        var missing: [Int] = []
        try #require(bytes.count % 188 == 0)
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 188) {
            let packet = Array(bytes[start..<(start + 188)])
            try #require(packet[0] == 0x47)
            let pid = Int(packet[1] & 0x1f) << 8 | Int(packet[2])
            let hasPayload = packet[3] & 0x10 != 0
            let count = Int(packet[3] & 15)
            if let last = counters[pid] { #expect(count == (hasPayload ? (last + 1) & 15 : last), "pid \(pid)") }
            counters[pid] = count
            var at = 4
            var isStuffed = false
            if packet[3] & 0x20 != 0 {
                let length = Int(packet[4])
                isStuffed = length == 0 || packet[5] == 0
                if length > 0, packet[5] & 0x10 != 0 {
                    clocks.append(
                        Int64(packet[6]) << 25 | Int64(packet[7]) << 17 | Int64(packet[8]) << 9
                            | Int64(packet[9]) << 1 | Int64(packet[10] >> 7))
                }
                at += 1 + length
                try #require(at <= 188)
            }
            if pid == 0 { tables += 1 }
            guard hasPayload, pid != 0, pid != 0x1000 else { continue }
            if packet[1] & 0x40 != 0 {
                try #require(packet[at] == 0 && packet[at + 1] == 0 && packet[at + 2] == 1)
                let length = Int(packet[at + 4]) << 8 | Int(packet[at + 5])
                var unit = Unit(pid: pid, hasLength: length > 0, clockBefore: clocks.last)
                if packet[at + 7] & 0x80 != 0 { unit.presentationTime = time(packet, at + 9) }
                if packet[at + 7] & 0x40 != 0 { unit.decodeTime = time(packet, at + 14) }
                let header = 9 + Int(packet[at + 8])
                missing.append(length > 0 ? length + 6 - header : .max)
                at += header
                units.append(unit)
                open[pid] = units.count - 1
            }
            let index = try #require(open[pid])
            units[index].payload += packet[at...]
            if missing[index] != .max { missing[index] -= 188 - at }
            units[index].endsWithStuffing = isStuffed
        }
        #expect(missing.allSatisfy { $0 == 0 || $0 == .max }, "a PES packet's length is wrong")
        return units
    }

    private func time(_ p: [UInt8], _ at: Int) -> Int64 {
        Int64(p[at] >> 1 & 7) << 30 | Int64(p[at + 1]) << 22 | Int64(p[at + 2] >> 1) << 15
            | Int64(p[at + 3]) << 7 | Int64(p[at + 4] >> 1)
    }
}
