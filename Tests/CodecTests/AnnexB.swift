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
