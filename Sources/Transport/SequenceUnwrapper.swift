/// Turns SRT's 31-bit packet numbers, which wrap, into a count that does not. Numbers may come out of order by less
/// than a quarter of the circle.
struct SequenceUnwrapper: Sendable {
    private var last: Int64?

    mutating func unwrap(_ number: Int32) -> Int64 {
        let number = Int64(number) & 0x7fff_ffff
        guard let last else {
            self.last = number
            return number
        }
        // The signed 31-bit distance from the last one.
        var step = (number - last) & 0x7fff_ffff
        if step >= 0x4000_0000 { step -= 0x8000_0000 }
        let count = last + step
        self.last = max(last, count)
        return count
    }
}
