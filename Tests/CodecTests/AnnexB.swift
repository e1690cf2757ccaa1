/// Cuts an H.264 byte stream into access units at its delimiters, which must all be there.
func splitAtDelimiters(_ stream: [UInt8]) -> [[UInt8]] {
    var starts: [Int] = []
    var i = 0
    while i + 4 < stream.count {
        if stream[i] == 0, stream[i + 1] == 0, stream[i + 2] == 1, stream[i + 3] & 0x1f == 9 {
            starts.append(i > 0 && stream[i - 1] == 0 ? i - 1 : i)
            i += 3
        } else {
            i += 1
        }
    }
    return zip(starts, starts.dropFirst() + [stream.count]).map { Array(stream[$0..<$1]) }
}

/// The access unit with the usability information cut out of its sequence parameter set (7.3.2.1.1): such a stream does
/// not say how many pictures are to be held back. Knows what x264 writes: no scaling lists, 4:2:0, order type 0 or 2.
func withoutVUI(_ unit: [UInt8]) -> [UInt8] {
    guard
        let start = unit.indices.first(where: { i in
            i + 3 < unit.count && unit[i] == 0 && unit[i + 1] == 0 && unit[i + 2] == 1 && unit[i + 3] & 0x1f == 7
        })
    else { return unit }
    let first = start + 3
    var end = first
    while end + 2 < unit.count, !(unit[end] == 0 && unit[end + 1] == 0 && unit[end + 2] <= 1) { end += 1 }
    var bits: [UInt8] = []
    var zeros = 0
    for byte in unit[first..<end] {
        if zeros >= 2, byte == 3 { zeros = 0; continue }
        zeros = byte == 0 ? zeros + 1 : 0
        for shift in (0..<8).reversed() { bits.append(byte >> shift & 1) }
    }
    var at = 8 + 24
    func number() -> Int {
        var count = 0
        while bits[at + count] == 0 { count += 1 }
        let value = bits[(at + count)...(at + 2 * count)].reduce(0) { $0 << 1 | Int($1) }
        at += 2 * count + 1
        return value - 1
    }
    let profile = bits[8..<16].reduce(0) { $0 << 1 | Int($1) }
    _ = number()
    if profile >= 100 {
        _ = (number(), number(), number())
        at += 2
    }
    _ = number()
    if number() == 0 { _ = number() }
    _ = number()
    at += 1
    _ = (number(), number())
    let isFrame = bits[at] == 1
    at += isFrame ? 2 : 3
    at += 1
    if bits[at - 1] == 1 { _ = (number(), number(), number(), number()) }
    var kept = Array(bits[..<at]) + [0, 1]
    while kept.count % 8 != 0 { kept.append(0) }
    var bytes: [UInt8] = []
    zeros = 0
    for i in stride(from: 0, to: kept.count, by: 8) {
        let byte = kept[i..<(i + 8)].reduce(UInt8(0)) { $0 << 1 | $1 }
        if zeros >= 2, byte <= 3 { bytes.append(3); zeros = 0 }
        bytes.append(byte)
        zeros = byte == 0 ? zeros + 1 : 0
    }
    return Array(unit[..<first]) + bytes + unit[end...]
}
